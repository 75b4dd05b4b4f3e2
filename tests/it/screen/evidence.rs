//! The evidence pane: what a score is, where it came from, and what an item holds.

use std::sync::Arc;

use kb_agent::agent::RunRequest;
use kb_agent::domain::{
    Complexity, GradedBy, Measured, NodeName, Outcome, RouteReason, RoutingLimits, Score, ToolName,
};
use kb_agent::protocol::{Event, EventBody, EvidenceItem};
use kb_agent::tui::{Screen, ThemeName};
use ratatui::style::Modifier;

use super::runs::{self, Tape, cite, item};
use super::{KeyCode, KeyModifiers, pictures, played, press, struck, tap, themed};
use crate::support::{
    self, Said, Script, ScriptedReasoner, ScriptedTools, hybrid, items, plan_for,
};

fn ranked(item: EvidenceItem, words: Option<usize>, meaning: Option<usize>) -> EvidenceItem {
    EvidenceItem {
        measured: Measured {
            lexical_rank: words,
            vector_rank: meaning,
            ..Measured::default()
        },
        ..item
    }
}

/// A simple run: nothing is graded.
fn ungraded() -> Vec<Event> {
    let long = "documents/handbook/operations/index-pipeline.md";
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000b7");
    tape.start("What is the default chunk size?");
    tape.analyze(Complexity::Simple, &[]);
    tape.retrieve(
        0,
        Vec::new(),
        vec![
            ranked(
                item(1, long, (10, 42), ToolName::HybridSearch, 0.84),
                Some(2),
                Some(1),
            ),
            ranked(
                item(2, "engine.md", (3, 20), ToolName::VectorSearch, 0.6),
                None,
                Some(2),
            ),
            item(3, "faq.md", (88, 93), ToolName::GrepSearch, 0.67),
            item(4, "all.md", (1, 400), ToolName::ReadFile, 1.0),
        ],
    );
    tape.answer(0, "It is 1100 bytes [1].", vec![cite(1, long, (10, 42))]);
    tape.end(Outcome::Answered, 2, 2, None);
    tape.events
}

/// Two items grow together after they had been graded; a second grading follows.
fn grown() -> Vec<Event> {
    let at = |n, lines| item(n, "guide.md", lines, ToolName::HybridSearch, 0.7);
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e7");
    tape.start("compare a with b");
    tape.analyze(Complexity::Complex, &["a?", "b?"]);
    let weak = item(9, "weak.md", (1, 2), ToolName::GrepSearch, 0.2);
    let first = vec![at(1, (1, 4)), at(2, (6, 9)), at(3, (20, 24)), weak];
    tape.retrieve(0, Vec::new(), first);
    tape.route(
        NodeName::ToolExec,
        NodeName::GradeEvidence,
        RouteReason::Complex,
    );
    let scores = [("e1", 0.5), ("e2", 0.5), ("e3", 0.5), ("e9", 0.1)];
    tape.grade(0, &scores, 0.5, GradedBy::Grader);
    tape.retrieve(1, Vec::new(), vec![at(1, (1, 9)), at(3, (1, 24))]);
    tape.events
}

fn on_evidence(events: Vec<Event>) -> Screen {
    struck(events, "<Alt+3>")
}

#[test]
fn shown_an_ungraded_item_tells_its_match_and_its_ranks_and_no_bar() {
    let mut screen = on_evidence(ungraded());
    for (width, height) in [(160, 45), (100, 30)] {
        let text = screen.text(width, height);
        assert!(text.contains("match .84 · words #2 meaning #1"), "{text}");
        assert!(text.contains("match .60 · meaning #2"), "{text}");
        assert!(text.contains("match .67"), "{text}");
        assert!(text.contains("read   not scored"), "{text}");
        text.must_hold("4 sent · 1 cited · not graded (simple)");
        assert!(!text.contains('▇') && !text.contains('╌'), "{text}");
    }
    pictures("ungraded", &mut screen);
}

#[test]
fn shown_a_path_is_cut_in_its_middle_before_the_origin_of_a_score() {
    let mut screen = on_evidence(ungraded());
    for width in [160, 120, 100, 80, 60, 58] {
        let text = screen.text(width, 30);
        let origin = match width {
            58 | 60 | 120 => "match .84 · w#2 m#1",
            _ => "match .84 · words #2 meaning #1",
        };
        assert!(text.contains(origin), "{width}\n{text}");
        assert!(text.contains("/index-pipeline.md:10-42"), "{width}\n{text}");
    }
    let text = on_evidence(runs::rule_hit()).text(60, 30);
    assert!(text.matches("rule few_context").count() >= 2, "{text}");
}

#[test]
fn shown_what_an_item_holds_folds_under_it() {
    let mut screen = on_evidence(grown());
    let text = screen.text(160, 45);
    text.must_hold("+2 within");
    text.must_hold("holds 1-9, 6-9");
    assert!(!text.contains("└ guide.md:6-9"), "{text}");
    tap(&mut screen, KeyCode::Char(' '));
    let text = screen.text(160, 45);
    assert!(text.contains("└ guide.md:1-9 hybrid"), "{text}");
    assert!(text.contains("└ guide.md:6-9 hybrid 0.50 grader"), "{text}");
    pictures("unfolded", &mut screen);
    tap(&mut screen, KeyCode::Char(' '));
    assert!(!screen.text(160, 45).contains("└ guide.md:6-9"));
}

#[test]
fn shown_a_title_speaks_of_one_round() {
    let text = on_evidence(grown()).text(160, 45);
    text.must_hold("round 2: 1 in context · not graded yet");
    let text = played(runs::complex()).text(160, 45);
    let said = "round 2: 3 graded · 3 sent · 3 cited · avg 0.78 → GENERATE";
    assert!(text.contains(said), "{text}");
    assert!(!text.contains("dropped ─"), "{text}");
}

#[test]
fn shown_dropped_evidence_is_struck_and_has_its_sign_in_every_theme() {
    for theme in ThemeName::all() {
        let mut screen = themed(theme);
        for event in runs::complex() {
            screen.handle(kb_agent::tui::Msg::Update(
                kb_agent::protocol::Update::Event(event),
            ));
        }
        press(&mut screen, KeyCode::Char('3'), KeyModifiers::ALT);
        let buffer = screen.render(100, 30);
        let line = |y: u16| -> String {
            (0..100)
                .map(|x| buffer.cell((x, y)).unwrap().symbol())
                .collect()
        };
        let y = (0..30).find(|y| line(*y).contains("× faq.md")).unwrap();
        let x = (0..95).find(|x| {
            line(y)
                .chars()
                .skip(*x)
                .collect::<String>()
                .starts_with("faq.md")
        });
        let cell = buffer.cell((x.unwrap() as u16, y)).unwrap();
        assert!(cell.modifier.contains(Modifier::CROSSED_OUT), "{theme}");
    }
}

#[test]
fn a_zoomed_pane_shows_how_each_passage_begins() {
    let mut screen = on_evidence(runs::complex());
    let before = screen.text(160, 45).matches("Passage").count();
    tap(&mut screen, KeyCode::Char('z'));
    let text = screen.text(160, 45);
    assert!(before <= 1);
    assert_eq!(
        text.matches(": the pipeline reads a folder").count(),
        4,
        "{text}"
    );
    pictures("evidence_zoomed", &mut screen);
    // The selection is kept in sight also where rows are high.
    for _ in 0..3 {
        tap(&mut screen, KeyCode::Char('j'));
        screen.text(60, 12);
    }
    assert!(screen.text(60, 12).contains("faq.md:88-93"));
}

/// Nothing is good enough, the last search finds nothing new, and what was dropped is sent after all.
fn brought_back() -> Vec<Event> {
    let weak = |n| {
        item(
            n,
            "weak.md",
            (n * 10, n * 10 + 4),
            ToolName::GrepSearch,
            0.2,
        )
    };
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e8");
    tape.start("how long does bread rise?");
    tape.analyze(Complexity::Complex, &["a?", "b?"]);
    tape.retrieve(0, Vec::new(), vec![weak(1), weak(2)]);
    tape.grade(0, &[("e1", 0.1), ("e2", 0.2)], 0.15, GradedBy::Grader);
    tape.retrieve(1, Vec::new(), Vec::new());
    tape.grade(1, &[], 0.0, GradedBy::NoEvidence);
    let end = RouteReason::MaxIterations;
    tape.route(NodeName::GradeEvidence, NodeName::Synthesize, end);
    let back = [weak(1), weak(2)].map(|item| EvidenceItem { low: true, ..item });
    tape.add(EventBody::EvidenceAdded { items: back.into() });
    tape.answer(2, "Nothing about this was found.", Vec::new());
    tape.end(Outcome::NotFound, 5, 1, None);
    tape.events
}

#[test]
fn ui_what_was_sent_for_want_of_better_is_not_called_no_evidence() {
    let mut screen = played(brought_back());
    let text = screen.text(200, 45);
    let expected = "round 2: 2 sent, all low · 0 cited · nothing new → max_iterations";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("2nd round"), "{text}");
}

/// A run whose grader looks at the first three of five items.
async fn half_looked_at() -> Vec<Event> {
    let reasoner = ScriptedReasoner::new(Script {
        analyses: vec![(plan_for(Complexity::Complex), None)],
        plans: vec![vec![hybrid("one")]],
        grades: vec![Ok(vec![0.9, 0.8, 0.1, 0.0, 0.0])],
        looks_at: Some(3),
        answer: vec!["It is so [1]."],
        ..Script::default()
    });
    let tools = ScriptedTools {
        items: vec![("one", items(5, ToolName::HybridSearch, 0.5))],
        ..ScriptedTools::default()
    };
    let question = RunRequest {
        query: "the question".to_owned(),
        ..RunRequest::default()
    };
    let limits = RoutingLimits::default();
    let run = support::run(reasoner, Arc::new(tools), limits, question);
    run.await.events
}

#[tokio::test]
async fn r17_what_was_not_looked_at_is_not_drawn_as_measured() {
    let events = half_looked_at().await;
    let graded = events.iter().find_map(|event| match &event.body {
        EventBody::EvidenceGraded {
            scores, average, ..
        } => Some((scores, *average)),
        _ => None,
    });
    let (scores, average) = graded.unwrap();
    let measured: Vec<bool> = scores.iter().map(|item| item.grade().is_some()).collect();
    assert_eq!(measured, [true, true, true, false, false]);
    assert!((average - 0.85).abs() < 1e-9, "{average}");
    let mut screen = on_evidence(events.clone());
    for (width, height) in [(160, 45), (100, 30)] {
        let text = screen.text(width, height);
        assert!(text.contains("3 graded · 2 sent"), "{text}");
        assert!(text.matches("not looked at").count() >= 2, "{text}");
        assert!(
            text.contains("0.10 dropped") && !text.contains("0.00 "),
            "{text}"
        );
    }
}

#[tokio::test]
async fn what_was_dropped_by_hand_is_not_held_against_a_limit() {
    let mut events = half_looked_at().await;
    let removed = events
        .iter_mut()
        .rev()
        .find_map(|event| match &mut event.body {
            EventBody::EvidenceRemoved {
                score,
                not_looked_at,
                ..
            } => Some((score, not_looked_at)),
            _ => None,
        });
    let (score, not_looked_at) = removed.unwrap();
    (*score, *not_looked_at) = (Score::clamped(0.9), false);
    let mut screen = struck(events, "<Alt+4>z");
    screen
        .text(160, 45)
        .must_hold("0.10 < 0.30, 1 dropped by hand, 1 not looked at");
}
