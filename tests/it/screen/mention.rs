//! Documents and folders named after an `@`.

use crossterm::event::KeyCode;
use kb_agent::protocol::{EventBody, KnowledgeContents, Update};
use kb_agent::tui::{Msg, Screen};

use super::{ask, pictures, play, runs, screen, strike, tap, write};
use crate::support::Said;

fn over(names: &[&str]) -> Screen {
    let mut screen = screen();
    screen.handle(Msg::Update(Update::Contents(KnowledgeContents {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..KnowledgeContents::default()
    })));
    screen
}

const NAMES: [&str; 6] = [
    "garden/",
    "house/",
    "README",
    "house/my notes/",
    "house/lease.md",
    "house/my notes/keys.md",
];

#[test]
fn ui_an_at_offers_documents_and_folders() {
    let mut screen = over(&NAMES);
    write(&mut screen, "the rent @");
    pictures("mention", &mut screen);
    write(&mut screen, "hole");
    let text = screen.text(100, 30);
    text.must_hold("▸ house/lease.md");
    text.must_lack("garden/");
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    assert!(!screen.text(100, 30).contains("▸ house"));
    assert_eq!(
        tap(&mut screen, KeyCode::Enter),
        ask("the rent @house/lease.md", None)
    );
}

#[test]
fn ui_the_last_line_says_what_enter_does_to_the_list() {
    let mut screen = over(&NAMES);
    let says = |screen: &mut Screen, word: &str| {
        for (width, height) in [(160, 45), (60, 20)] {
            let text = screen.text(width, height);
            let line = text.lines().last().unwrap_or_default();
            assert!(line.contains(&format!(" ⏎ {word}  ")), "{word}: {line}");
        }
    };
    write(&mut screen, "@ho");
    says(&mut screen, "take");
    write(&mut screen, "use/");
    says(&mut screen, "send");
    assert_eq!(tap(&mut screen, KeyCode::Enter), ask("@house/", None));
    let mut screen = over(&NAMES);
    write(&mut screen, "/rou");
    says(&mut screen, "take");
    tap(&mut screen, KeyCode::Enter);
    says(&mut screen, "run");
}

#[test]
fn ui_a_folder_is_gone_into_by_tab_and_taken_by_enter() {
    let mut screen = over(&NAMES);
    strike(&mut screen, "@my<Tab>");
    assert!(screen.text(100, 30).contains("> @\"house/my notes/"));
    strike(&mut screen, "<Down><Tab>");
    assert!(
        screen
            .text(100, 30)
            .contains("> @\"house/my notes/keys.md\"")
    );
    assert_eq!(
        strike(&mut screen, "which?<Enter>"),
        ask("@\"house/my notes/keys.md\" which?", None)
    );
    // What is complete already is sent.
    let mut screen = over(&NAMES);
    assert_eq!(
        strike(&mut screen, "the rent @house/<Enter>"),
        ask("the rent @house/", None)
    );
    // A name without a path's looks is put in quotes.
    let mut screen = over(&NAMES);
    strike(&mut screen, "@READ<Tab>");
    assert!(screen.text(100, 30).contains("> @\"README\""));
    // In an address nothing is offered, and Esc closes the list.
    let mut screen = over(&NAMES);
    write(&mut screen, "bob@h");
    assert!(!screen.text(100, 30).contains("▸ house"));
    write(&mut screen, " @h");
    assert!(screen.text(100, 30).contains("▸ house"));
    tap(&mut screen, KeyCode::Esc);
    assert!(!screen.text(100, 30).contains("▸ house"));
}

#[test]
fn ui_a_question_that_names_nothing_comes_back_and_the_next_is_sent() {
    let mut screen = screen();
    strike(&mut screen, "rent @hose/<Enter>and what is a chunk?<Enter>");
    let effects = screen.handle(Msg::Update(Update::NotAsked {
        query: "rent @hose/".to_owned(),
        reason: "@hose/ names nothing\u{1b}[2J here".to_owned(),
    }));
    assert_eq!(effects, ask("and what is a chunk?", None));
    let text = screen.text(100, 30);
    assert!(text.contains("@hose/ names nothing here"), "{text}");
    assert!(text.contains("> rent @hose/"), "{text}");
}

#[test]
fn ui_what_a_question_is_kept_within_stands_below_it() {
    let mut screen = screen();
    let mut events = runs::simple();
    if let EventBody::RunStarted { within, .. } = &mut events[0].body {
        *within = vec!["house/\u{1b}[2J".to_owned(), "lease.md".to_owned()];
    }
    play(&mut screen, events);
    for (width, height) in [(160, 45), (60, 20)] {
        let text = screen.text(width, height);
        assert!(text.contains("within house/, lease.md"), "{text}");
    }
}
