//! The source view: a passage in its document.

use std::path::PathBuf;

use kb_agent::domain::{Complexity, Outcome, Place, PlaceUnit, ToolName};
use kb_agent::protocol::{Command, DocumentPart, DocumentText, Event, Timestamp, Update};
use kb_agent::tui::{Effect, Msg, Screen};

use super::runs::{self, Tape, cite, item};
use super::{KeyCode, pictures, played, strike, struck, tap, write};
use crate::support::Said;

pub const SOURCE: &str = "docs/guide/pipeline.md";

/// A run that found three passages: two of one file, one of a PDF.
pub fn found() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000a7");
    tape.start("What is the default chunk size?");
    tape.analyze(Complexity::Simple, &[]);
    let mut page = item(
        3,
        "papers/retrieval.pdf",
        (40, 44),
        ToolName::VectorSearch,
        0.6,
    );
    page.place = Some(Place {
        unit: PlaceUnit::Page,
        name: None,
        start: 3,
        end: 3,
    });
    page.excerpt = String::from("line 40 of the document");
    let mut first = item(1, SOURCE, (30, 33), ToolName::HybridSearch, 0.9);
    first.excerpt = String::from("line 30 of the document line 31 of the document");
    let mut second = item(2, SOURCE, (200, 201), ToolName::GrepSearch, 0.7);
    second.excerpt = String::from("line 200 of the document");
    tape.retrieve(0, Vec::new(), vec![first, second, page]);
    tape.answer(0, "It is 1100 bytes [1].", vec![cite(1, SOURCE, (30, 33))]);
    tape.end(Outcome::Answered, 2, 2, None);
    tape.events
}

fn line(number: usize) -> String {
    match number {
        32 => format!("line 32 is longer: {}", "the quick brown fox ".repeat(12)),
        _ => format!("line {number} of the document"),
    }
}

/// What the engine sends of a file of so many lines when it is asked for one of them.
pub fn part(first: usize, last: usize, total: usize) -> DocumentPart {
    DocumentPart {
        first,
        lines: (first..=last).map(line).collect(),
        total,
        places: Vec::new(),
        missing: Vec::new(),
        modified: Some(Timestamp(0)),
        path: Some(PathBuf::from("/kb/docs/guide/pipeline.md")),
    }
}

fn asked_for(source: &str, line: usize) -> Vec<Effect> {
    vec![Effect::Send(Command::ReadDocument {
        source: source.to_owned(),
        line,
    })]
}

pub fn send(screen: &mut Screen, source: &str, line: usize, part: Result<DocumentPart, String>) {
    screen.handle(Msg::Update(Update::Document(DocumentText {
        source: source.to_owned(),
        line,
        part,
    })));
}

/// The evidence pane has the keys, and its first row is opened.
fn opened(part: Result<DocumentPart, String>) -> Screen {
    let mut screen = played(found());
    assert_eq!(strike(&mut screen, "<Alt+3><Enter>"), asked_for(SOURCE, 30));
    send(&mut screen, SOURCE, 30, part);
    screen
}

/// A document that some run of `runs` may have asked for.
pub fn any_document(first: usize, lines: usize) -> DocumentText {
    DocumentText {
        source: "docs/guide/pipeline.md".to_owned(),
        line: 10,
        part: Ok(part(first + 1, first + lines, first + lines)),
    }
}

#[test]
fn enter_on_evidence_shows_the_file_at_its_lines() {
    let mut screen = opened(Ok(part(1, 340, 340)));
    pictures("source", &mut screen);
    let text = screen.text(100, 30);
    assert!(text.contains(" 30 ▌ line 30 of the document"), "{text}");
    assert!(text.contains(" 33 ▌ line 33 of the document"), "{text}");
    assert!(text.contains(" 34   line 34 of the document"), "{text}");
}

#[test]
fn escape_gives_back_what_was_there() {
    let mut screen = struck(found(), "<Alt+3>z");
    let before = screen.text(100, 30);
    tap(&mut screen, KeyCode::Enter);
    assert!(screen.text(100, 30).contains("reading …"));
    // Help lies above it and gives it back.
    tap(&mut screen, KeyCode::Char('?'));
    assert!(screen.text(100, 30).contains("─ Help ─"));
    tap(&mut screen, KeyCode::Esc);
    assert!(screen.text(100, 30).contains("reading …"));
    tap(&mut screen, KeyCode::Esc);
    assert_eq!(screen.text(100, 30), before);
    // What comes too late is not shown.
    send(&mut screen, SOURCE, 30, Ok(part(1, 340, 340)));
    assert_eq!(screen.text(100, 30), before);
}

#[test]
fn the_source_view_scrolls_by_row_page_and_end() {
    let mut screen = opened(Ok(part(1, 340, 340)));
    let seen = |screen: &mut Screen| {
        let text = screen.text(100, 30);
        let at = text.find("lines ").unwrap();
        text[at..].split(" of ").next().unwrap().to_owned()
    };
    assert_eq!(seen(&mut screen), "lines 25–48");
    for (keys, lines) in [
        ("j", "lines 26–49"),
        ("jjk", "lines 27–50"),
        ("G", "lines 315–340"),
        ("j", "lines 315–340"),
        ("k", "lines 314–339"),
        ("g", "lines 1–26"),
        ("k", "lines 1–26"),
    ] {
        write(&mut screen, keys);
        assert_eq!(seen(&mut screen), lines, "after {keys}");
    }
    tap(&mut screen, KeyCode::PageDown);
    assert_eq!(seen(&mut screen), "lines 25–48");
    tap(&mut screen, KeyCode::PageUp);
    assert_eq!(seen(&mut screen), "lines 1–26");
}

#[test]
fn n_goes_to_the_next_evidence_and_the_pane_follows() {
    let mut screen = opened(Ok(part(1, 340, 340)));
    assert_eq!(tap(&mut screen, KeyCode::Char('n')), asked_for(SOURCE, 200));
    send(&mut screen, SOURCE, 200, Ok(part(1, 340, 340)));
    let text = screen.text(100, 30);
    assert!(text.contains("200 ▌ line 200"), "{text}");
    assert!(text.contains("2 of 3"), "{text}");
    assert_eq!(
        tap(&mut screen, KeyCode::Char('n')),
        asked_for("papers/retrieval.pdf", 40)
    );
    assert_eq!(tap(&mut screen, KeyCode::Char('n')), []);
    assert!(screen.text(100, 30).contains("That was the last evidence"));
    assert_eq!(tap(&mut screen, KeyCode::Char('N')), asked_for(SOURCE, 200));
    assert_eq!(strike(&mut screen, "<Esc><Enter>"), asked_for(SOURCE, 200));
}

#[test]
fn a_page_of_a_pdf_is_named_and_no_editor_is_offered_its_text() {
    let mut screen = opened(Ok(part(1, 340, 340)));
    write(&mut screen, "nn");
    let pages = DocumentPart {
        places: vec![
            (1, "p. 1".to_owned()),
            (20, "p. 2".to_owned()),
            (38, "p. 3".to_owned()),
        ],
        path: None,
        ..part(1, 60, 60)
    };
    send(&mut screen, "papers/retrieval.pdf", 40, Ok(pages));
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        let text = screen.text(width, height);
        assert!(text.contains("── p. 3 ──"), "{text}");
        assert!(text.contains("retrieval.pdf:p. 3"), "{text}");
        assert!(text.contains(" 40 ▌ line 40"), "{text}");
    }
    assert_eq!(tap(&mut screen, KeyCode::Char('o')), []);
    let text = screen.text(100, 30);
    assert!(text.contains("is shown as extracted text"), "{text}");
}

#[test]
fn a_document_that_changed_or_vanished_says_so_in_one_line() {
    let mut moved = part(1, 340, 340);
    moved
        .lines
        .splice(0..0, ["new".to_owned(), "newer".to_owned()]);
    moved.total = 342;
    let mut screen = opened(Ok(moved));
    for (width, height) in [(160, 45), (100, 30)] {
        let text = screen.text(width, height);
        text.must_hold("⚠ the file has changed since: the passage stands at 32-35 now");
        assert!(text.contains(" 32 ▌ line 30 of the document"), "{text}");
    }
    let written = DocumentPart {
        modified: Some(Timestamp(u64::MAX)),
        ..part(1, 340, 340)
    };
    let text = opened(Ok(written)).text(100, 30);
    assert!(text.contains("⚠ the file was written since"), "{text}");
    let gone = format!("{SOURCE} is not in this knowledge base: removed");
    let text = opened(Err(gone.clone())).text(100, 30);
    assert!(text.contains(&gone), "{text}");
    assert!(!text.contains('▌'), "{text}");
    let text = opened(Ok(DocumentPart {
        first: 1,
        ..DocumentPart::default()
    }))
    .text(100, 30);
    assert!(text.contains("the document is empty"), "{text}");
}

#[test]
fn r11_what_is_missing_of_a_document_is_said_above_it() {
    let missing = ["page 2 cannot be read", "page 3 is a picture"].map(str::to_owned);
    let part = DocumentPart {
        missing: missing.to_vec(),
        ..part(1, 340, 340)
    };
    let text = opened(Ok(part)).text(100, 30);
    let said = "⚠ not read of it: page 2 cannot be read; and 1 more";
    assert!(text.contains(said), "{text}");
    assert!(text.contains(" 30 ▌ line 30 of the document"), "{text}");
}

#[test]
fn of_a_large_document_the_lines_that_are_scrolled_to_are_asked_for() {
    let mut screen = opened(Ok(part(1, 500, 90_000)));
    screen.text(100, 30);
    assert_eq!(tap(&mut screen, KeyCode::Char('j')), []);
    assert_eq!(
        tap(&mut screen, KeyCode::Char('G')),
        asked_for(SOURCE, 90_000)
    );
    // Until they are here, what was there stays.
    assert!(screen.text(100, 30).contains("line 30 of"));
    assert_eq!(tap(&mut screen, KeyCode::Char('j')), []);
    send(
        &mut screen,
        SOURCE,
        90_000,
        Ok(part(89_500, 90_000, 90_000)),
    );
    let text = screen.text(100, 30);
    text.must_hold("90000   line 90000 of the document");
    assert!(!text.contains('⚠'), "{text}");
    assert_eq!(tap(&mut screen, KeyCode::Char('g')), asked_for(SOURCE, 1));
    send(&mut screen, SOURCE, 1, Ok(part(1, 500, 90_000)));
    assert!(screen.text(100, 30).contains("  1   line 1 of"));
}

#[test]
fn y_copies_the_passage_with_its_source() {
    let mut screen = opened(Ok(part(1, 340, 340)));
    let lines: Vec<_> = (30..=33).map(line).collect();
    let copied = format!("{SOURCE}:30-33\n\n{}\n", lines.join("\n"));
    assert_eq!(tap(&mut screen, KeyCode::Char('y')), [Effect::Copy(copied)]);
    let text = screen.text(100, 30);
    let said = format!("Sent {SOURCE}:30-33 (4 lines) to the terminal to copy (OSC 52). ──");
    assert!(text.contains(&said), "{text}");
    assert!(!text.contains("? help"), "nothing stands behind it\n{text}");
}

#[test]
fn o_opens_the_file_at_the_passage_or_at_what_is_seen() {
    let mut screen = opened(Ok(part(1, 340, 340)));
    screen.text(100, 30);
    let edit = |line| Effect::Edit {
        path: PathBuf::from("/kb/docs/guide/pipeline.md"),
        line,
    };
    assert_eq!(tap(&mut screen, KeyCode::Char('o')), [edit(30)]);
    write(&mut screen, "G");
    screen.text(100, 30);
    assert_eq!(tap(&mut screen, KeyCode::Char('o')), [edit(315)]);
    // What was edited is read again, where it was read.
    assert_eq!(screen.handle(Msg::Edited(Ok(()))), asked_for(SOURCE, 315));
    send(&mut screen, SOURCE, 315, Ok(part(1, 340, 340)));
    assert!(screen.text(100, 30).contains("lines 315–340"));
    let why = "no editor is set; set VISUAL or EDITOR to one";
    assert_eq!(screen.handle(Msg::Edited(Err(why.to_owned()))), []);
    assert!(screen.text(100, 30).contains(why));
}

#[test]
fn an_engine_that_does_not_answer_leaves_no_dead_window() {
    let mut screen = played(found());
    let Effect::Send(command) = strike(&mut screen, "<Alt+3><Enter>").remove(0) else {
        panic!("no command");
    };
    screen.handle(Msg::Refused(command));
    let text = screen.text(100, 30);
    assert!(text.contains("did not read the document"), "{text}");
    assert!(!text.contains("reading …"), "{text}");
    tap(&mut screen, KeyCode::Enter);
    screen.handle(Msg::EngineGone);
    assert!(screen.text(100, 30).contains("the engine stopped"));
    // Leaving works from here as from everywhere.
    assert_eq!(strike(&mut screen, "<Ctrl+c><Ctrl+c>"), [Effect::Quit]);
    // With nothing found there is nothing to open.
    let mut screen = played(runs::chitchat());
    assert_eq!(strike(&mut screen, "<Alt+3><Enter>"), []);
}

#[test]
fn a_long_explanation_leaves_half_of_a_low_screen_to_the_document() {
    let mut screen = opened(Ok(part(1, 340, 340)));
    let effects = tap(&mut screen, KeyCode::Char('w'));
    assert!(
        matches!(&effects[..], [Effect::Send(Command::Explain { .. })]),
        "{effects:?}"
    );
    screen.handle(Msg::Update(Update::Explained {
        source: SOURCE.to_owned(),
        lines: (1..=10).map(|n| format!("reason {n}")).collect(),
    }));
    for (width, height) in [(40, 10), (80, 10), (40, 12)] {
        let text = screen.text(width, height);
        text.must_hold("reason 5");
        text.must_lack("reason 9");
        text.must_hold(" of the document");
    }
    screen.text(100, 30).must_hold("reason 10");
}
