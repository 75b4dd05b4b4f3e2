//! A recorded conversation on the screen.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyModifiers};
use kb_agent::domain::Outcome;
use kb_agent::protocol::{
    Command, Event, EventBody, RecordedSession, RunId, SessionUpdate, Update,
};
use kb_agent::tui::{Effect, Msg, Screen};

use super::{SIZES, play, played, press, runs, screen, strike};
use crate::support::Said;

/// As the log holds them: no pieces of the answer, no prompts, and written and read again.
fn recorded(events: &[Event]) -> Vec<Event> {
    events
        .iter()
        .filter(|event| !matches!(event.body, EventBody::AnswerDelta { .. }))
        .map(|event| {
            let mut event = event.clone();
            event.drop_prompts();
            serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap()
        })
        .collect()
}

fn session(events: &[Event]) -> RecordedSession {
    RecordedSession {
        id: "s1".to_owned(),
        name: None,
        events: recorded(events),
        left_out: 0,
        shown: None,
        labels: BTreeMap::new(),
    }
}

fn resumed(recorded: RecordedSession) -> Screen {
    let mut screen = screen();
    screen.handle(Msg::Update(Update::Session(SessionUpdate::Resumed(
        recorded,
    ))));
    screen
}

#[test]
fn a_resumed_conversation_is_drawn_as_it_was_live() {
    for events in [
        runs::chitchat(),
        runs::simple(),
        runs::complex(),
        runs::rule_hit(),
        runs::not_found(),
        runs::failed(),
    ] {
        let mut live = played(events.clone());
        let mut again = resumed(session(&events));
        assert!(!again.is_animated());
        // The line that says so goes with the next key.
        assert!(again.text(160, 45).contains("Resumed: 1 run since 2026-03"));
        for (width, height) in SIZES {
            for pane in ['1', '2', '3', '4'] {
                for screen in [&mut live, &mut again] {
                    press(screen, KeyCode::Char(pane), KeyModifiers::ALT);
                }
                assert_eq!(again.text(width, height), live.text(width, height));
            }
        }
    }
}

#[test]
fn what_the_log_does_not_hold_of_an_answer_is_not_made_up() {
    let mut cancelled = runs::simple();
    let written = cancelled
        .iter()
        .position(|event| event.body.name() == "answer_finished")
        .unwrap();
    cancelled.truncate(written);
    let mut tape = runs::Tape::new("unused");
    tape.end(Outcome::Cancelled, 2, 0, None);
    let mut end = tape.events.remove(0);
    end.run = cancelled[0].run.clone();
    cancelled.push(end);
    let text = resumed(session(&cancelled)).text(160, 45);
    text.must_hold("what came of the answer is not in the log");
    assert!(!text.contains("before an answer came"), "{text}");

    let mut open = runs::complex();
    open.truncate(10);
    let mut screen = resumed(session(&open));
    let text = screen.text(160, 45);
    assert!(text.contains("failed: no end is recorded"), "{text}");
    assert!(!screen.is_animated());
}

#[test]
fn a_resumed_conversation_goes_on() {
    let first = runs::simple();
    let mut second = runs::complex();
    let (one, two) = (
        first[0].run.clone(),
        RunId(format!("{}f", first[0].run).into()),
    );
    for event in &mut second {
        event.run = two.clone();
    }
    let events = [first, second].concat();
    let mut screen = resumed(RecordedSession {
        left_out: 3,
        shown: Some(one.clone()),
        name: Some("gates\u{1b}[2J".to_owned()),
        ..session(&events)
    });
    let text = screen.text(160, 45);
    assert!(text.contains("Resumed 'gates': 2 runs"), "{text}");
    assert!(text.contains("3 earlier ones"), "{text}");
    // The panes show the run that was asked for.
    press(&mut screen, KeyCode::Down, KeyModifiers::ALT);
    assert!(screen.text(160, 45).contains("run 2 of 2"));
    // Its questions are recalled.
    let effects = strike(&mut screen, "<Up><Enter>");
    let [Effect::Send(Command::Ask { query, .. })] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(query, "compare the index pipeline with the query engine");
    let mut next = runs::chitchat();
    for event in &mut next {
        event.run = RunId("next".into());
    }
    play(&mut screen, next);
    assert!(screen.text(160, 45).contains("saved 3"));
}
