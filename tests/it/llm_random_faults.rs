//! Streams that break in two hundred ways: what was shown stays, and what is called complete is.

use fastrand::Rng;
use kb_agent::agent::ports::{ReasonerError, Synthesis};
use kb_agent::domain::Complexity;
use kb_agent::reasoner::llm::EndpointReasoner;
use tokio::{task, time};

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

/// A stream of words that breaks once.
struct BrokenStream {
    fault: Fault,
    act: Act,
    /// The words that came whole all the same.
    came: Vec<usize>,
    what: String,
}

impl BrokenStream {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let fault = Fault::ALL[rng.usize(..Fault::ALL.len())];
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
        Self {
            fault,
            act,
            came,
            what: format!("seed {seed}: {fault:?}"),
        }
    }

    fn check(&self, pieces: &[String], result: Result<Synthesis, ReasonerError>) {
        let what = &self.what;
        let shown = pieces.concat();
        let is_shown = |number: &usize| shown.contains(&word(*number));
        assert!(self.came.iter().all(is_shown), "{what}: {shown}");
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
}

/// Waits until the server has stalled so often, and lets the time of its silence pass at once.
async fn pass_silence(server: &FaultServer, stalls: usize) {
    while server.hanging() < stalls {
        task::yield_now().await;
    }
    // A stopped clock jumps to the end of a wait once all that came is read.
    time::pause();
}

#[tokio::test]
async fn r23_a_stream_that_breaks_loses_nothing_shown_and_is_not_called_complete() {
    let streams: Vec<BrokenStream> = (0..FAULTS).map(BrokenStream::new).collect();
    let acts = streams.iter().map(|stream| stream.act.clone()).collect();
    let server = FaultServer::start(&[("synthesize", acts)]);
    let base_url = server.base_url();
    let reasoner = EndpointReasoner::new(settings(base_url)).unwrap();
    let given = given("hi");
    let mut stalls = 0;
    for stream in &streams {
        let asked = answer(&reasoner, given.synthesize(Complexity::Chitchat));
        let (pieces, result) = if stream.fault == Fault::Stall {
            stalls += 1;
            let (answered, ()) = tokio::join!(asked, pass_silence(&server, stalls));
            time::resume();
            answered
        } else {
            asked.await
        };
        stream.check(&pieces, result);
    }
}
