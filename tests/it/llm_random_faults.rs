//! Streams that break in two hundred ways: what was shown stays, and what is called complete is.

use std::time::Duration;

use fastrand::Rng;
use futures_util::{StreamExt, stream};
use kb_agent::domain::Complexity;
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings};

use crate::fault_server::{Act, FaultServer, ending, piece, stream_head};
use crate::llm_jobs::{answer, given, settings};

const FAULTS: u64 = 200;
const WORDS: usize = 40;
const GARBAGE: [&str; 8] = [
    "data: {\"choices\": [{\"del\n\n",
    "data: <b>502 Bad Gateway</b>\n\n",
    "data: {\"choices\": []}}}\n\n",
    "\u{0}\u{1}\u{fffd}\n",
    "<html>\n\n",
    "{\"choices\"\n",
    "event: ping\ndata: x\n\n",
    "data: nonsense\n",
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Cut,
    Stall,
    Garbage,
    Duplicate,
    Reorder,
}

impl Fault {
    const ALL: [Self; 5] = [
        Self::Cut,
        Self::Stall,
        Self::Garbage,
        Self::Duplicate,
        Self::Reorder,
    ];
}

fn word(number: usize) -> String {
    format!("word{number} ")
}

/// Breaks a stream of words once, and says which words came whole all the same.
fn broken(fault: Fault, rng: &mut Rng) -> (Act, Vec<usize>) {
    let words = (0..WORDS).map(|number| piece(&word(number)));
    let ends = ending();
    let ends = ends.split_inclusive("\n\n").map(str::to_owned);
    let mut events: Vec<String> = words.chain(ends).collect();
    let at = rng.usize(1..events.len() - 1);
    let mut came: Vec<usize> = (0..WORDS).collect();
    match fault {
        Fault::Cut | Fault::Stall => {
            let within = rng.usize(..events[at].len());
            // An event without the empty line after it may be whole, too.
            came.truncate(at);
            events.truncate(at + 1);
            events[at].truncate(within);
        }
        Fault::Garbage => events.insert(at, (*rng.choice(&GARBAGE).unwrap()).to_owned()),
        Fault::Duplicate => events.insert(at, events[at].clone()),
        Fault::Reorder => events.swap(at, at + 1),
    }
    let bytes = [stream_head(), events.concat().into_bytes()].concat();
    let act = match fault {
        Fault::Stall => Act::Hang(bytes),
        _ => Act::Send(vec![bytes]),
    };
    (act, came)
}

async fn check(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let fault = Fault::ALL[rng.usize(..Fault::ALL.len())];
    let (act, came) = broken(fault, &mut rng);
    let what = format!("seed {seed}: {fault:?}");
    let server = FaultServer::start(&[("synthesize", vec![act])]);
    // Only silence is waited for.
    let patience = if fault == Fault::Stall { 2 } else { 20 };
    let reasoner = EndpointReasoner::new(EndpointSettings {
        timeout: Duration::from_secs(patience),
        ..settings(format!("http://{}/v1", server.address()))
    });
    let given = given("hi");
    let job = given.synthesize(Complexity::Chitchat);
    let (pieces, result) = answer(&reasoner.unwrap(), job).await;
    let shown = pieces.concat();
    let is_shown = |number: &usize| shown.contains(&word(*number));
    assert!(came.iter().all(is_shown), "{what}: {shown}");
    match result {
        Ok(synthesis) => {
            assert_eq!(synthesis.replacement, None, "{what}");
            let is_complete = synthesis.warnings.is_empty();
            let is_all = (0..WORDS).all(|number| is_shown(&number));
            assert!(!is_complete || is_all, "{what}: {shown}");
        }
        Err(error) => assert!(
            error.to_string().contains("what came is kept"),
            "{what}: {error}"
        ),
    }
}

#[tokio::test]
async fn r23_a_stream_that_breaks_loses_nothing_shown_and_is_not_called_complete() {
    stream::iter(0..FAULTS).for_each_concurrent(40, check).await;
}
