//! The demo walks by itself: questions ask themselves, events come one by one, any key ends it.

use crossterm::event::KeyCode;
use kb_agent::protocol::{Command, KnowledgeStatus, Timestamp, Update};
use kb_agent::tui::{Effect, Msg, Screen, Setup, WalkStep};

use super::{ask, play, runs, tap};
use crate::support::Said;

fn walking() -> Screen {
    let step = |question: &str, about: &str| WalkStep {
        question: question.to_owned(),
        about: about.to_owned(),
    };
    let mut screen = Screen::new(Setup {
        walk: vec![
            step("first?", "This one is graded twice."),
            step("second?", "This one is not."),
        ],
        ..Setup::default()
    })
    .unwrap();
    screen.handle(Msg::Update(Update::Knowledge(KnowledgeStatus {
        name: "demo-kb".to_owned(),
        documents: 38,
        chunks: 215,
        ..KnowledgeStatus::default()
    })));
    screen
}

fn at(screen: &mut Screen, ms: u64) -> Vec<Effect> {
    screen.handle(Msg::Tick(Timestamp(ms)))
}

#[test]
fn a_walk_shows_events_one_by_one_and_says_what_they_show() {
    let mut screen = walking();
    assert_eq!(at(&mut screen, 1_000), ask("first?", None));
    play(&mut screen, runs::complex());
    assert!(screen.is_animated());
    let mut seen = Vec::new();
    let mut now = 1_000;
    let next = loop {
        now += 120;
        let effects = at(&mut screen, now);
        if !effects.is_empty() {
            break effects;
        }
        let text = screen.text(160, 45);
        assert!(text.contains("This one is graded twice."), "{text}");
        if seen.last() != Some(&text) {
            seen.push(text);
        }
        assert!(now < 120_000);
    };
    assert_eq!(next, ask("second?", None));
    assert!(seen.len() > 20, "{} pictures", seen.len());
    assert!(now > 15_000, "{now} ms");
}

#[test]
fn any_key_ends_a_walk_and_shows_all_that_was_held_back() {
    let mut screen = walking();
    at(&mut screen, 1_000);
    play(&mut screen, runs::complex());
    assert!(tap(&mut screen, KeyCode::Char('x')).is_empty());
    let text = screen.text(160, 45);
    assert!(text.contains("The demo is left."), "{text}");
    assert!(text.contains("saved"), "{text}");
    assert!(!screen.is_animated());
    assert!(at(&mut screen, 60_000).is_empty());
    tap(&mut screen, KeyCode::Char('y'));
    assert!(screen.text(160, 45).contains("> y"));
}

#[test]
fn a_walk_waits_for_the_first_index() {
    let mut screen = walking();
    let indexing = |documents| {
        Msg::Update(Update::Knowledge(KnowledgeStatus {
            documents,
            indexing: true,
            ..KnowledgeStatus::default()
        }))
    };
    screen.handle(indexing(0));
    assert!(at(&mut screen, 1_000).is_empty());
    assert!(at(&mut screen, 9_000).is_empty());
    screen.handle(indexing(38));
    let sent = at(&mut screen, 9_120);
    assert!(matches!(sent[..], [Effect::Send(Command::Ask { .. })]));
}

#[test]
fn ui_a_walk_shows_the_pane_that_it_explains_where_one_has_room() {
    let mut screen = walking();
    screen.text(60, 20);
    at(&mut screen, 1_000);
    play(&mut screen, runs::complex());
    let mut seen: Vec<&str> = Vec::new();
    let mut now = 1_000;
    while now < 60_000 {
        now += 120;
        at(&mut screen, now);
        let text = screen.text(60, 20);
        assert!(text.contains("any key ends the demo"), "{text}");
        assert!(!text.contains("Esc stop"), "{text}");
        let panes = ["▸Chat", "▸Path", "▸Evidence", "▸Audit"];
        let shown = panes.into_iter().find(|tab| text.contains(tab)).unwrap();
        if seen.last() != Some(&shown) {
            seen.push(shown);
        }
    }
    // Its two rounds: each searches, grades and decides; then the answer is written.
    let round = ["▸Evidence", "▸Path"];
    assert_eq!(seen[0], "▸Path", "{seen:?}");
    let found = seen.windows(2).filter(|pair| *pair == round).count();
    assert!(found >= 2, "{seen:?}");
    assert_eq!(seen.last(), Some(&"▸Chat"), "{seen:?}");
    tap(&mut screen, KeyCode::Char('x'));
    let text = screen.text(60, 20);
    text.must_hold("▸Chat");
    text.must_hold("The demo is left.");
    assert!(!text.contains("any key ends"), "{text}");
}
