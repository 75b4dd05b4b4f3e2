//! The audit pane: time since the start, folded events, bars, the window of an event.

use kb_agent::domain::{Complexity, GradedBy, Outcome, ToolName};
use kb_agent::protocol::{Event, EventBody};
use kb_agent::tui::Screen;

use super::runs::{self, Tape, item};
use super::{KeyCode, pictures, strike, struck, tap};
use crate::support::Said;

/// A run of which the grader drops five passages.
pub fn dropping() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000d1");
    tape.start("Compare the index pipeline with the query engine");
    tape.analyze(Complexity::Complex, &["index pipeline", "query engine"]);
    let items: Vec<_> = (1..=8)
        .map(|n| {
            item(
                n,
                "docs/notes.md",
                (n * 10, n * 10 + 5),
                ToolName::GrepSearch,
                0.5,
            )
        })
        .collect();
    tape.retrieve(0, Vec::new(), items);
    let scores = [
        ("e1", 0.91),
        ("e2", 0.84),
        ("e3", 0.8),
        ("e4", 0.02),
        ("e5", 0.11),
        ("e6", 0.28),
        ("e7", 0.07),
        ("e8", 0.2),
    ];
    tape.grade(0, &scores, 0.85, GradedBy::Grader);
    tape.after(1).add(EventBody::Warning {
        code: "answer_unmarked".to_owned(),
        message: "a sentence has no citation".to_owned(),
    });
    tape.answer(
        0,
        "Both read folders [1].",
        vec![runs::cite(1, "docs/notes.md", (10, 15))],
    );
    tape.end(Outcome::Answered, 4, 0, None);
    tape.events
}

fn audit(events: Vec<Event>) -> Screen {
    struck(events, "<Alt+4>")
}

fn line_with(text: &str, wanted: &str) -> String {
    let found = text.lines().find(|line| line.contains(wanted));
    found
        .unwrap_or_else(|| panic!("no {wanted}:\n{text}"))
        .to_owned()
}

#[test]
fn events_of_one_kind_fold_and_unfold() {
    let mut screen = audit(dropping());
    tap(&mut screen, KeyCode::Char('z'));
    let text = screen.text(160, 45);
    let folded = line_with(&text, "5 evidence_removed");
    assert!(
        folded.contains("▸") && folded.contains("0.02–0.28 < 0.30"),
        "{text}"
    );
    pictures("audit_folded", &mut screen);
    for _ in 0..20 {
        let selected = screen.text(160, 45);
        if selected.matches("evidence_removed").count() > 1 {
            break;
        }
        strike(&mut screen, "k ");
    }
    let text = screen.text(160, 45);
    assert_eq!(text.matches("evidence_removed").count(), 6, "{text}");
    assert!(text.contains("▾ "), "{text}");
    pictures("audit_unfolded", &mut screen);
    // Enter on the head folds them again.
    tap(&mut screen, KeyCode::Enter);
    let text = screen.text(160, 45);
    assert_eq!(text.matches("evidence_removed").count(), 1, "{text}");
}

#[test]
fn times_count_from_the_beginning_of_the_run() {
    let mut screen = audit(dropping());
    tap(&mut screen, KeyCode::Char('g'));
    let text = screen.text(160, 45);
    assert!(line_with(&text, "run_started").contains("+0.000"), "{text}");
    assert!(
        line_with(&text, "route_decided").contains("+0.453"),
        "{text}"
    );
    assert!(!text.contains("12:01:05"), "{text}");
    tap(&mut screen, KeyCode::Char('z'));
    let zoomed = screen.text(160, 45);
    assert!(
        line_with(&zoomed, "run_started").contains("12:01:05.000"),
        "{zoomed}"
    );
}

#[test]
fn bars_show_where_the_time_went() {
    let mut screen = audit(dropping());
    tap(&mut screen, KeyCode::Char('z'));
    let text = screen.text(160, 45);
    let bars: Vec<String> = text
        .lines()
        .filter(|line| line.contains("node_finished"))
        .map(|line| line.chars().filter(|c| "━·".contains(*c)).collect())
        .collect();
    assert_eq!(bars.len(), 5, "{text}");
    let begin = |bar: &String| bar.chars().position(|c| c == '━');
    let begins: Vec<_> = bars.iter().map(begin).collect();
    assert!(begins.is_sorted() && begins[0] < begins[4], "{bars:?}");
}

#[test]
fn the_window_of_an_event_goes_on_to_the_next() {
    let mut screen = audit(dropping());
    strike(&mut screen, "g<Enter>");
    let text = screen.text(160, 45);
    text.must_hold("\"run_started\"");
    text.must_hold(" 1 of ");
    tap(&mut screen, KeyCode::Char('j'));
    let text = screen.text(160, 45);
    text.must_hold("\"node_entered\"");
    text.must_hold(" 2 of ");
    tap(&mut screen, KeyCode::Char('n'));
    let text = screen.text(160, 45);
    assert!(text.contains("\"answer_unmarked\""), "{text}");
    tap(&mut screen, KeyCode::Char('k'));
    pictures("audit_event", &mut screen);
    tap(&mut screen, KeyCode::Esc);
    // The pane stands where the window was left.
    let text = screen.text(160, 45);
    assert!(text.contains("paused"), "{text}");
}

#[test]
fn the_next_warning_after_the_last_is_the_first() {
    let mut screen = audit(dropping());
    tap(&mut screen, KeyCode::Char('g'));
    for key in ['n', 'n', 'N', 'N'] {
        tap(&mut screen, KeyCode::Char(key));
        tap(&mut screen, KeyCode::Enter);
        let text = screen.text(160, 45);
        assert!(text.contains("\"answer_unmarked\""), "{key}: {text}");
        tap(&mut screen, KeyCode::Esc);
    }
    let mut calm = audit(runs::chitchat());
    tap(&mut calm, KeyCode::Char('n'));
    assert!(
        calm.text(160, 45)
            .contains("No warning among these events.")
    );
}

#[test]
fn a_selected_event_marks_its_node_and_its_evidence() {
    let mut screen = audit(dropping());
    screen.text(160, 45);
    // From the end to the evidence that was added.
    let mut marked = String::new();
    for _ in 0..20 {
        tap(&mut screen, KeyCode::Char('k'));
        let text = screen.text(160, 45);
        if text
            .lines()
            .any(|line| line.contains("▌") && line.contains("notes.md:80-85"))
        {
            marked = text;
            break;
        }
    }
    let of = |wanted: &str| {
        marked
            .lines()
            .any(|line| line.contains("▌") && line.contains(wanted))
    };
    assert!(of("grade_evidence") || of("tool_exec"), "{marked}");
    assert!(!of("synthesize"), "{marked}");
}

#[test]
fn keys_that_come_faster_than_pictures_go_beyond_no_end() {
    let mut screen = struck(runs::complex(), "<Alt+4>Gj");
    screen.text(160, 45).must_hold("run_finished");
    strike(&mut screen, "Gjk");
    screen.text(160, 45).must_hold("run_finished");
}
