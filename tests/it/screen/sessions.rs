//! The list of recorded conversations: keys in, cells out.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyModifiers};
use kb_agent::domain::Outcome;
use kb_agent::protocol::{
    Command, NoticeLevel, RecordedSession, SessionCommand, SessionSummary, SessionUpdate,
    Timestamp, Update,
};
use kb_agent::tui::{Effect, Msg, Screen};

use super::{ctrl, notify, pictures, played, runs, screen, strike, struck, tap, write};
use crate::support::Said;

fn summary(id: &str, question: &str, at: u64) -> SessionSummary {
    SessionSummary {
        id: id.to_owned(),
        name: None,
        question: question.to_owned(),
        time: Timestamp(1_772_452_865_000 - at * 3_600_000),
        runs: 1,
        outcome: Some(Outcome::Answered),
        saved: Some(1),
        is_current: false,
        is_single: false,
    }
}

pub fn sessions() -> Vec<SessionSummary> {
    let mut all = vec![
        summary("a", "What is the default chunk size?", 0),
        summary("b", "Compare the index pipeline with the query engine", 5),
        summary(
            "c",
            "gate\u{1b}[2J thresholds\nand why they are what they are",
            30,
        ),
        summary("d", "hello", 99),
    ];
    all[0].is_current = true;
    (all[1].runs, all[1].saved) = (12, Some(17));
    all[2].name = Some("thresholds".to_owned());
    all[3].outcome = None;
    (all[3].saved, all[3].runs) = (None, 2);
    all
}

fn listed(screen: &mut Screen, sessions: Vec<SessionSummary>) {
    screen.handle(Msg::Update(Update::Session(SessionUpdate::Listed(Ok(
        sessions,
    )))));
}

fn sent(command: SessionCommand) -> Vec<Effect> {
    vec![Effect::Send(Command::Session(command))]
}

/// With the list open.
fn open() -> Screen {
    let mut screen = played(runs::simple());
    assert_eq!(ctrl(&mut screen, 's'), sent(SessionCommand::List));
    assert!(screen.text(100, 30).contains("reading the audit log"));
    listed(&mut screen, sessions());
    screen
}

#[test]
fn recorded_conversations_are_listed() {
    let mut screen = open();
    pictures("sessions", &mut screen);
    assert!(!screen.text(160, 45).contains('\u{1b}'));
    tap(&mut screen, KeyCode::Esc);
    assert!(!screen.text(160, 45).contains("Sessions"));
}

#[test]
fn letters_narrow_the_list_and_enter_resumes_what_is_selected() {
    let mut screen = open();
    write(&mut screen, "idxpipe");
    let text = screen.text(100, 30);
    text.must_hold("> idxpipe");
    text.must_hold("1 of 4");
    text.must_hold("Compare the index");
    text.must_lack("hello");
    // Letters that mean something elsewhere are typed here.
    strike(&mut screen, "<Esc>q");
    assert!(screen.text(100, 30).contains("> q"));
    let effects = strike(&mut screen, "<Backspace><Down><Enter>");
    assert_eq!(effects, sent(SessionCommand::Resume("b".to_owned())));
    assert!(screen.text(100, 30).contains("reading the conversation"));
    screen.handle(Msg::Update(Update::Session(SessionUpdate::NotResumed(
        "it is open in another kb-agent".to_owned(),
    ))));
    let text = screen.text(100, 30);
    assert!(text.contains("⚠ it is open in another kb-agent"), "{text}");
    tap(&mut screen, KeyCode::Enter);
    screen.handle(Msg::Update(Update::Session(SessionUpdate::Resumed(
        RecordedSession {
            id: "b".to_owned(),
            name: None,
            events: runs::complex(),
            left_out: 0,
            shown: None,
            labels: BTreeMap::new(),
        },
    ))));
    let text = screen.text(160, 45);
    assert!(text.contains("avg 0.78 ≥ 0.70 → GENERATE"), "{text}");
    assert!(!text.contains("Sessions"), "{text}");
    assert!(!text.contains("default chunk size"), "{text}");
}

#[test]
fn the_conversation_on_the_screen_is_neither_read_again_nor_deleted() {
    let mut screen = open();
    ctrl(&mut screen, 'x');
    assert!(screen.text(100, 30).contains("/clear starts a new one"));
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    assert!(screen.text(160, 45).contains("default chunk size"));
}

#[test]
fn a_run_that_goes_on_is_not_left() {
    let mut screen = screen();
    strike(&mut screen, "why?<Enter><Ctrl+s>");
    listed(&mut screen, sessions());
    assert_eq!(strike(&mut screen, "<Down><Enter>"), []);
    assert!(screen.text(100, 30).contains("Still answering"));
}

#[test]
fn a_conversation_gets_a_name() {
    let mut screen = open();
    strike(&mut screen, "<Down><Ctrl+r>pipeline q");
    let text = screen.text(100, 30);
    assert!(text.contains("name: pipeline q"), "{text}");
    let (session, name) = ("b".to_owned(), "pipeline q".to_owned());
    let effects = tap(&mut screen, KeyCode::Enter);
    assert_eq!(effects, sent(SessionCommand::Rename { session, name }));
    let mut renamed = sessions();
    renamed[1].name = Some("pipeline q".to_owned());
    listed(&mut screen, renamed);
    // The same one is selected.
    let effects = ctrl(&mut screen, 'e');
    assert_eq!(effects, sent(SessionCommand::Export("b".to_owned())));
    notify(
        &mut screen,
        NoticeLevel::Info,
        "Exported to /data/exports/session-b.md",
    );
    let text = screen.text(100, 30);
    text.must_hold("Exported to /data/exports/session-b.md");
    ctrl(&mut screen, 'r');
    assert!(screen.text(100, 30).contains("name: pipeline q"));
    tap(&mut screen, KeyCode::Esc);
    assert!(!screen.text(100, 30).contains("name: "));
}

#[test]
fn a_conversation_is_deleted_from_the_list_once_that_is_agreed_to() {
    let mut screen = open();
    tap(&mut screen, KeyCode::Down);
    for (width, height) in [(160, 45), (60, 20)] {
        ctrl(&mut screen, 'x');
        let text = screen.text(width, height);
        assert!(text.contains("The audit log keeps it. y/n"), "{text}");
        assert_eq!(tap(&mut screen, KeyCode::Char('n')), []);
    }
    // On a Russian keyboard н stands where y does.
    for answer in ['y', 'н'] {
        ctrl(&mut screen, 'x');
        let effects = tap(&mut screen, KeyCode::Char(answer));
        assert_eq!(effects, sent(SessionCommand::Hide("b".to_owned())));
    }
    let effects = strike(&mut screen, "<Ctrl+x>y");
    assert_eq!(effects, sent(SessionCommand::Hide("b".to_owned())));
    let mut left = sessions();
    left.remove(1);
    listed(&mut screen, left);
    // What follows it is selected.
    let effects = tap(&mut screen, KeyCode::Enter);
    assert_eq!(effects, sent(SessionCommand::Resume("c".to_owned())));
}

#[test]
fn leaving_works_from_the_list() {
    let mut screen = open();
    ctrl(&mut screen, 'c');
    assert!(screen.text(100, 30).contains("Ctrl+C again leaves"));
    assert_eq!(ctrl(&mut screen, 'c'), [Effect::Quit]);
    let mut screen = open();
    super::press(&mut screen, KeyCode::F(1), KeyModifiers::NONE);
    assert!(screen.text(160, 45).contains("In the list of sessions"));
    tap(&mut screen, KeyCode::Esc);
    assert!(screen.text(160, 45).contains("Sessions · local times"));
}

#[test]
fn a_long_list_is_scrolled() {
    let mut screen = struck(runs::simple(), "<Ctrl+s>");
    let many = (0..300).map(|n| summary(&format!("{n}"), &format!("question {n}."), n));
    listed(&mut screen, many.collect());
    screen.text(100, 30);
    for _ in 0..3 {
        tap(&mut screen, KeyCode::PageDown);
        screen.text(100, 30);
    }
    let text = screen.text(100, 30);
    assert!(text.contains("question 63."), "{text}");
    assert!(!text.contains("question 1."), "{text}");
}

#[test]
fn what_arrives_under_help_is_taken_and_a_refusal_closes_the_window() {
    let reason = || "the log cannot be read".to_owned();
    for (keys, is_answers) in [("<Ctrl+s>", false), ("<Ctrl+r><Ctrl+r>", true)] {
        let mut screen = struck(runs::simple(), keys);
        screen.text(100, 30).must_hold("reading the audit log");
        tap(&mut screen, KeyCode::F(1));
        screen.text(100, 30).must_hold("─ Help ─");
        let update = if is_answers {
            SessionUpdate::Answers(Ok(Vec::new()))
        } else {
            SessionUpdate::Listed(Ok(sessions()))
        };
        screen.handle(Msg::Update(Update::Session(update)));
        tap(&mut screen, KeyCode::Esc);
        screen.text(100, 30).must_lack("reading the audit log");

        let mut screen = played(runs::simple());
        let Effect::Send(command) = strike(&mut screen, keys).remove(0) else {
            panic!("no command");
        };
        screen.handle(Msg::Refused(command));
        let text = screen.text(100, 30);
        text.must_lack("reading the audit log");
        text.must_hold("The engine is busy");

        let mut screen = struck(runs::simple(), keys);
        tap(&mut screen, KeyCode::F(1));
        let update = if is_answers {
            SessionUpdate::Answers(Err(reason()))
        } else {
            SessionUpdate::Listed(Err(reason()))
        };
        screen.handle(Msg::Update(Update::Session(update)));
        tap(&mut screen, KeyCode::Esc);
        screen.text(100, 30).must_lack("reading the audit log");
    }
}
