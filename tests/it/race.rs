//! A race: one question by two routes at the same time, by the agent itself.

use std::collections::BTreeMap;

use kb_agent::domain::{Complexity, NodeName};
use kb_agent::engine::Conversation;
use kb_agent::protocol::{Command, Event, EventBody, QuestionPlace, RunId, Update};

use crate::engine::engine;
use crate::workplace::Workplace;

const QUESTION: &str = "How long do the gates stay open?";

/// The events of each run, until so many runs have ended.
async fn runs(
    updates: &mut tokio::sync::mpsc::Receiver<Update>,
    count: usize,
) -> BTreeMap<RunId, Vec<Event>> {
    let mut runs: BTreeMap<RunId, Vec<Event>> = BTreeMap::new();
    let mut ended = 0;
    while ended < count {
        if let Update::Event(event) = updates.recv().await.unwrap() {
            ended += usize::from(matches!(event.body, EventBody::RunFinished { .. }));
            runs.entry(event.run.clone()).or_default().push(event);
        }
    }
    runs
}

fn path(events: &[Event]) -> Vec<NodeName> {
    match &events.last().unwrap().body {
        EventBody::RunFinished { path, outcome, .. } => {
            assert!(outcome.is_complete(), "{outcome:?}");
            path.clone()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_race_answers_by_the_short_way_and_by_the_full_pipeline() {
    let place = Workplace::holding([(
        "kb/gate.md",
        "# Gates\n\nThe gates stay open for seven hours.\n",
    )]);
    let engine = engine(&place, "").await.unwrap();
    let (conversation, commands, mut updates) = Conversation::begin(engine).unwrap();
    let query = QUESTION.to_owned();
    commands
        .send(Command::Race {
            query,
            place: QuestionPlace::default(),
        })
        .await
        .unwrap();
    // While both are at work no other question is taken.
    let runs = runs(&mut updates, 2).await;
    let [(first, short), (_, whole)] = &runs.iter().collect::<Vec<_>>()[..] else {
        panic!("{} runs", runs.len());
    };
    for (events, route, repeats) in [
        (short, Complexity::Simple, None),
        (whole, Complexity::Complex, Some(*first)),
    ] {
        let EventBody::RunStarted {
            forced_route,
            place,
            query,
            ..
        } = &events[0].body
        else {
            panic!("no start");
        };
        assert_eq!(
            (*forced_route, place.retry_of.as_ref()),
            (Some(route), repeats)
        );
        assert_eq!(query, QUESTION);
        // Numbered without gaps, each for itself.
        let seq = events.iter().map(|event| event.seq);
        assert!(seq.eq(0..events.len() as u64));
    }
    assert!(!path(short).contains(&NodeName::GradeEvidence));
    assert!(path(whole).contains(&NodeName::GradeEvidence));
    drop((commands, updates));
    conversation.end().await;
    // The log holds both.
    let list = place.run(&["runs", "--json"]);
    assert_eq!(crate::workplace::json_lines(&list.stdout).len(), 2);
}
