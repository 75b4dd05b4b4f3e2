//! What is drawn as a number was counted, what has a number has one, and what went wrong stands at
//! its answer.

use kb_agent::domain::{Complexity, GradedBy, NodeName, Outcome, RouteReason, ToolName};
use kb_agent::protocol::{CostDetails, Event, EventBody};

use super::runs::{self, Tape, cite, item};
use super::{KeyCode, KeyModifiers, pictures, played, press};
use crate::support::Said;

const WIDE: (u16, u16) = (160, 45);

fn warning(code: &str, message: &str) -> EventBody {
    EventBody::Warning {
        code: code.to_owned(),
        message: message.to_owned(),
    }
}

/// A run of two rounds in which passages grow together and two are dropped: 8 are graded the second
/// time, 6 sent.
fn grown_together() -> Tape {
    let at = |n, lines| item(n, "guide.md", lines, ToolName::HybridSearch, 0.7);
    let beside = |n: usize| {
        let file = format!("page{n}.md");
        item(n, &file, (1, 9), ToolName::GrepSearch, 0.6)
    };
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e1");
    tape.start("compare the index pipeline with the query engine");
    tape.analyze(Complexity::Complex, &["a?", "b?"]);
    let mut first: Vec<_> = (1..6).map(|n| at(n, (n * 10, n * 10 + 4))).collect();
    first.extend((6..10).map(beside));
    tape.retrieve(0, Vec::new(), first);
    tape.route(
        NodeName::ToolExec,
        NodeName::GradeEvidence,
        RouteReason::Complex,
    );
    let scores: Vec<_> = (1..10).map(|n| (format!("e{n}"), 0.5)).collect();
    let scores: Vec<_> = scores.iter().map(|(id, s)| (id.as_str(), *s)).collect();
    tape.grade(0, &scores, 0.5, GradedBy::Grader);
    // e2 grows over e3, e4 and e5; two more are found.
    let grown = at(2, (20, 54));
    tape.retrieve(1, Vec::new(), vec![grown, beside(10), beside(11)]);
    tape.route(
        NodeName::ToolExec,
        NodeName::GradeEvidence,
        RouteReason::Complex,
    );
    let scores = [
        ("e1", 0.5),
        ("e2", 0.9),
        ("e6", 0.1),
        ("e7", 0.8),
        ("e8", 0.8),
        ("e9", 0.2),
        ("e10", 0.9),
        ("e11", 0.9),
    ];
    tape.grade(1, &scores, 0.8, GradedBy::Grader);
    tape
}

/// `grown_together` and its answer; numbered are e1, e2, e7, e8, e10 and e11.
fn answered() -> Vec<Event> {
    let mut tape = grown_together();
    tape.enter(NodeName::Synthesize, 2);
    let sent = [1, 2, 7, 8, 10, 11].into_iter().enumerate();
    let items = sent.map(|(at, n)| kb_agent::protocol::NumberedItem {
        n: at + 1,
        id: kb_agent::domain::EvidenceId(format!("e{n}")),
        sent: Vec::new(),
    });
    let items = items.collect();
    tape.add(EventBody::EvidenceNumbered { items });
    for text in ["The pipeline grows [2]", ", the engine ", "asks [6][1]."] {
        let text = text.to_owned();
        tape.after(3).add(EventBody::AnswerDelta {
            text,
            supported: None,
        });
    }
    let numbered = |n, id, source, lines| kb_agent::domain::Citation {
        n,
        ..cite(id, source, lines)
    };
    tape.after(1).add(EventBody::AnswerFinished {
        text: "The pipeline grows [2], the engine asks [6][1].".to_owned(),
        citations: vec![
            numbered(2, 2, "guide.md", (20, 54)),
            numbered(6, 11, "page11.md", (1, 9)),
            numbered(1, 1, "guide.md", (10, 14)),
        ],
        confidence: None,
        confidence_level: None,
        supported: Vec::new(),
        quotation_from: None,
    });
    tape.leave(NodeName::Synthesize, 2, 700, 1);
    tape.end(Outcome::Answered, 6, 0, None);
    tape.events
}

#[test]
fn shown_counts_are_those_of_what_was_graded_sent_and_cited() {
    let mut screen = played(answered());
    let text = screen.text(WIDE.0, WIDE.1);
    assert!(text.contains("8 graded · 6 sent · 3 cited"), "{text}");
    assert!(!text.contains("kept"), "{text}");
    assert!(text.contains("+3 within"), "{text}");
    for absorbed in ["guide.md:30-34", "guide.md:40-44", "guide.md:50-54"] {
        assert_eq!(text.matches(absorbed).count(), 0, "{absorbed}\n{text}");
    }
    assert!(text.contains("[2] guide.md:20-54   [6] page11.md:1-9   [1] guide.md:10-14"));
    // What was found again is not one more.
    assert!(text.contains("2 new, 1 known · guide.md:20-54"), "{text}");
    press(&mut screen, KeyCode::Char('3'), KeyModifiers::ALT);
    pictures("numbered", &mut screen);
}

#[test]
fn shown_numbers_are_the_prompts_from_the_moment_it_is_made() {
    let events = answered();
    let numbered = events
        .iter()
        .position(|event| event.body.name() == "evidence_numbered")
        .unwrap();
    // Before there is a prompt there is no number, and no sign that means something else.
    let text = played(events[..numbered].to_vec()).text(WIDE.0, WIDE.1);
    for row in [
        "    guide.md:20-54",
        "    page11.md:1-9",
        "  × page9.md:1-9",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
    assert!(!text.contains("  · guide.md") && !text.contains("  1 guide.md"));
    // From then on none changes, also not of what the answer does not use.
    for seen in numbered + 1..=events.len() {
        let text = played(events[..seen].to_vec()).text(WIDE.0, WIDE.1);
        for row in [
            "  1 guide.md:10-14",
            "  2 guide.md:20-54",
            "  3 page7.md:1-9",
            "  4 page8.md:1-9",
            "  5 page10.md:1-9",
            "  6 page11.md:1-9",
        ] {
            assert!(text.contains(row), "{row} after {seen} events\n{text}");
        }
    }
}

#[test]
fn shown_a_log_without_numbers_draws_those_of_its_citations_alone() {
    let mut events = answered();
    events.retain(|event| event.body.name() != "evidence_numbered");
    let text = played(events).text(WIDE.0, WIDE.1);
    for row in [
        "  2 guide.md:20-54",
        "  6 page11.md:1-9",
        "    page7.md:1-9",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
    assert!(text.contains("8 graded · 6 in context · 3 cited"), "{text}");
}

#[test]
fn shown_an_average_of_nothing_is_none() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e2");
    tape.start("which?");
    tape.analyze(Complexity::Complex, &["a?", "b?"]);
    let items = (1..3).map(|n| item(n, "a.md", (n * 10, n * 10), ToolName::GrepSearch, 0.4));
    tape.retrieve(0, Vec::new(), items.collect());
    tape.route(
        NodeName::ToolExec,
        NodeName::GradeEvidence,
        RouteReason::Complex,
    );
    tape.grade(0, &[("e1", 0.1), ("e2", 0.2)], 0.0, GradedBy::Grader);
    let text = played(tape.events.clone()).text(WIDE.0, WIDE.1);
    text.must_hold("2 graded · 0 in context · avg – → RE_RETRIEVE");
    text.must_hold("RE_RETRIEVE · avg – · 2 items · by grader");
    assert!(text.contains("nothing ≥ 0.30 → RE_RETRIEVE"), "{text}");
    assert!(!text.contains("0.00"), "{text}");

    // Of no item at all just so, and what a rule approved was not measured.
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e3");
    tape.start("which?");
    tape.analyze(Complexity::Complex, &["a?", "b?"]);
    tape.grade(0, &[], 0.0, GradedBy::NoEvidence);
    let text = played(tape.events).text(WIDE.0, WIDE.1);
    assert!(text.contains("avg – · 0 items"), "{text}");
    assert!(!text.replace("+0.00", "").contains("0.00"), "{text}");
    let text = played(runs::rule_hit()).text(WIDE.0, WIDE.1);
    text.must_hold("GENERATE · 2 items · by rule few_context");
    assert!(!text.contains("avg"), "{text}");
}

fn with_warnings(warnings: &[EventBody]) -> Vec<Event> {
    let mut events = runs::simple();
    let end = events.len() - 1;
    for body in warnings {
        let mut event = events[end].clone();
        event.body = body.clone();
        events.insert(end, event);
    }
    events
}

#[test]
fn shown_an_answer_that_was_cut_off_says_so_beneath_it() {
    let message = "localhost:8000 stopped at its token limit; the answer may be incomplete";
    let mut screen = played(with_warnings(&[warning("answer_cut_short", message)]));
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        let text = screen.text(width, height);
        assert!(text.contains("⚠ localhost:8000 stopped at its"), "{text}");
        assert!(text.contains("incomplete"), "{text}");
        assert!(text.contains(" · ⚠ 1 · "), "{text}");
    }
    pictures("cut_off", &mut screen);
    let text = played(runs::simple()).text(WIDE.0, WIDE.1);
    assert!(!text.contains('⚠'), "{text}");
}

#[test]
fn shown_ten_warnings_of_a_kind_are_one_line_and_a_count() {
    let fallback = "the grading could not be read (no list): every item counts as 0.5";
    let mut warnings = vec![warning("grade_unreadable", fallback); 10];
    warnings.push(warning(
        "endpoint_retried",
        "localhost answered at attempt 2",
    ));
    warnings.push(warning("call_dropped", "a call\u{1b}[2J of no tool"));
    let text = played(with_warnings(&warnings)).text(WIDE.0, WIDE.1);
    assert!(text.contains(" · ⚠ 12 · "), "{text}");
    let chat: String = text
        .lines()
        .map(|line| line.chars().take(84).collect::<String>() + "\n")
        .collect();
    assert_eq!(chat.matches("every item").count(), 1, "{text}");
    assert!(chat.contains("(×10)"), "{text}");
    assert!(chat.contains("⚠ a call of no tool"), "{text}");
    assert!(chat.contains("⚠ localhost answered at attempt 2"), "{text}");
}

#[test]
fn shown_a_run_that_failed_tells_its_warnings_too() {
    let text = played(runs::failed()).text(WIDE.0, WIDE.1);
    text.must_hold("⚠ the endpoint closed the connection; asking once more");
}

#[test]
fn shown_token_counts_without_end_are_no_small_numbers() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e4");
    tape.start("hello");
    for _ in 0..2 {
        tape.enter(NodeName::AnalyzeAndRoute, 0);
        tape.after(1).add(EventBody::NodeFinished {
            node: NodeName::AnalyzeAndRoute,
            iteration: 0,
            ms: 1.0,
            reasoning_calls: u32::MAX,
            prompt_tokens: Some(u64::MAX),
            completion_tokens: Some(u64::MAX),
            spent: CostDetails::default(),
            by: None,
        });
    }
    let most = "18 446 744 073 709 551 615 tok";
    let text = played(tape.events.clone()).text(WIDE.0, WIDE.1);
    assert!(text.contains(most), "{text}");
    tape.after(1).add(EventBody::RunFinished {
        outcome: Outcome::Answered,
        complexity: None,
        path: Vec::new(),
        iterations: 1,
        reasoning_calls: u32::MAX,
        calls_saved: u32::MAX,
        prompt_tokens: u64::MAX,
        completion_tokens: u64::MAX,
        spent: CostDetails::default(),
        ms: 1.0,
        error: None,
    });
    let text = played(tape.events).text(WIDE.0, WIDE.1);
    assert!(text.contains(most), "{text}");
}
