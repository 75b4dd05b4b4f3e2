//! The path pane: the graph, what is selected in it, and a node's details.

use kb_agent::domain::{
    Complexity, Cue, GradedBy, NodeName, Outcome, PathType, RouteReason, ToolName,
};
use kb_agent::protocol::{Event, EventBody, Mode, Timestamp};
use kb_agent::tui::{Effect, Msg, Screen};

use super::runs::{self, Tape, item};
use super::{KeyCode, KeyModifiers, pictures, play, press, screen, strike, struck, tap};
use crate::support::Said;

use NodeName::{AnalyzeAndRoute, GradeEvidence, Plan, ToolExec};

/// The screen after these events, with the keys in the path pane.
fn path_of(events: Vec<Event>) -> Screen {
    struck(events, "<Alt+2>")
}

fn cue(cue: &str, weight: Option<f64>) -> Cue {
    Cue {
        cue: cue.to_owned(),
        weight,
        ..Cue::default()
    }
}

fn because(mut events: Vec<Event>, cues: &[Cue]) -> Vec<Event> {
    for event in &mut events {
        if let EventBody::RoutingPlan { because, .. } = &mut event.body {
            *because = cues.to_vec();
        }
    }
    events
}

pub fn compared() -> Vec<Event> {
    because(runs::complex(), &[cue("a comparison", None)])
}

/// A run that finds nothing of use, analyzes again and finds it.
fn retrieved_again() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000b7");
    tape.start("Why did the nightly import stop?");
    tape.analyze(Complexity::Complex, &["the import", "what stopped it"]);
    tape.retrieve(
        0,
        Vec::new(),
        vec![item(1, "news.md", (1, 4), ToolName::GrepSearch, 0.3)],
    );
    tape.route(ToolExec, GradeEvidence, RouteReason::Complex);
    tape.grade(0, &[("e1", 0.08)], 0.0, GradedBy::Grader);
    tape.analyze(Complexity::Complex, &["the import", "what stopped it"]);
    tape.retrieve(
        1,
        Vec::new(),
        vec![item(2, "import.md", (7, 19), ToolName::VectorSearch, 0.8)],
    );
    tape.route(ToolExec, GradeEvidence, RouteReason::Complex);
    tape.grade(1, &[("e2", 0.83)], 0.83, GradedBy::Grader);
    tape.answer(
        1,
        "A full disk [1].",
        vec![runs::cite(2, "import.md", (7, 19))],
    );
    tape.end(Outcome::Answered, 7, 0, None);
    tape.events
}

fn forced() -> Vec<Event> {
    let mut events = runs::simple();
    for event in &mut events {
        match &mut event.body {
            EventBody::RunStarted { forced_route, .. } => *forced_route = Some(Complexity::Simple),
            EventBody::RouteDecided { reason, .. } => *reason = RouteReason::Forced,
            _ => {}
        }
    }
    events
}

/// The second plan of a run that went back there is at work.
pub fn planning_again() -> Vec<Event> {
    let mut events = compared();
    let entered = |event: &Event| {
        matches!(
            event.body,
            EventBody::NodeEntered {
                node: Plan,
                iteration: 1
            }
        )
    };
    let at = events.iter().position(entered).unwrap();
    events.truncate(at + 1);
    events
}

fn tool_failed() -> Vec<Event> {
    let mut events = runs::simple();
    let at = events
        .iter()
        .position(|event| event.body.name() == "tool_finished")
        .unwrap();
    if let EventBody::ToolFinished { error, items, .. } = &mut events[at].body {
        (*error, *items) = (Some("the index\u{1b}[2J is damaged".to_owned()), 0);
    }
    events.truncate(at + 1);
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000b2");
    tape.events = events;
    tape.end(
        Outcome::Failed,
        2,
        0,
        Some("the search failed: the index is damaged"),
    );
    let last = tape.events.len() - 1;
    tape.events[last].ts = tape.events[last - 1].ts;
    tape.events
}

const PROMPT: &str = "[system]\nGrade each passage.\n\n[user]\n\
    <question-0a1b2c3d>\ncompare\n</question-0a1b2c3d>\n\
    <evidence-0a1b2c3d n=\"1\" source=\"index.md\" lines=\"10-42\">\nThe pipeline \u{1b}[31mreads a folder.\n\
    It cuts each document.\n</evidence-0a1b2c3d>\n\
    <evidence-0a1b2c3d n=\"2\" source=\"faq.md\" lines=\"1-2\">\nA secret passage.\n</evidence-0a1b2c3d>";

/// A run by an endpoint: the first grading tells its prompt and its reply.
pub fn by_endpoint() -> Vec<Event> {
    let mut events = runs::complex();
    if let EventBody::RunStarted { mode, model, .. } = &mut events[0].body {
        (*mode, *model) = (Mode::Llm, "small".to_owned());
    }
    let at = events
        .iter()
        .position(|event| event.body.name() == "evidence_graded")
        .unwrap();
    let mut called = events[at].clone();
    called.body = EventBody::ModelCalled {
        node: GradeEvidence,
        call: 2,
        model: "small".to_owned(),
        ms: 612.0,
        prompt_tokens: Some(1240),
        completion_tokens: Some(30),
        retries: 1,
        prompt: Some(PROMPT.to_owned()),
        reply: Some("[0.82, 0.46, 0.12]".to_owned()),
    };
    events.insert(at, called);
    events
}

#[test]
fn path_pictures() {
    pictures("path_map", &mut {
        let mut screen = screen();
        press(&mut screen, KeyCode::Char('2'), KeyModifiers::ALT);
        screen
    });
    let small_talk = [cue("small talk", Some(0.98)), cue("\"hello\"", Some(0.41))];
    pictures(
        "path_chitchat",
        &mut path_of(because(runs::chitchat(), &small_talk)),
    );
    let one = [cue("a single look-up", Some(0.93))];
    pictures("path_simple", &mut path_of(because(runs::simple(), &one)));
    pictures("path_refine", &mut path_of(compared()));
    pictures("path_retrieved_again", &mut path_of(retrieved_again()));
    pictures("path_forced", &mut path_of(forced()));
    pictures("path_failed", &mut path_of(tool_failed()));
    pictures("path_at_work", &mut path_of(planning_again()));
    let mut zoomed = path_of(compared());
    tap(&mut zoomed, KeyCode::Char('z'));
    pictures("path_zoomed", &mut zoomed);
}

#[test]
fn the_whole_graph_always_stands_there() {
    for events in [
        runs::chitchat(),
        runs::simple(),
        compared(),
        retrieved_again(),
        forced(),
        tool_failed(),
        planning_again(),
    ] {
        for (width, height) in [
            (200, 60),
            (160, 45),
            (100, 30),
            (80, 20),
            (60, 20),
            (40, 14),
            (40, 10),
        ] {
            let text = path_of(events.clone()).text(width, height);
            for name in [
                "analyze_and_route",
                "plan",
                "tool_exec",
                "grade_evidence",
                "synthesize",
            ] {
                let signs = ["○", "◐", "●", "·", "◼", "×"];
                let drawn = signs
                    .iter()
                    .any(|sign| text.contains(&format!("{sign} {name}")));
                assert!(drawn, "{name} at {width}x{height}\n{text}");
            }
        }
    }
}

#[test]
fn loops_are_drawn_and_lit_when_they_are_taken() {
    let text = path_of(compared()).text(160, 45);
    assert!(text.contains(" ╭▶● plan"), "{text}");
    assert!(text.contains(" ╰─┤ avg 0.64 < 0.70 → REFINE"), "{text}");
    text.must_hold("╰┄┄┄┤ RE_RETRIEVE ┄▷ analyze_and_route");
    assert!(text.contains("▼ avg 0.78 ≥ 0.70 → GENERATE"), "{text}");
    let text = path_of(retrieved_again()).text(160, 45);
    assert!(
        text.contains("╭───▶● analyze_and_route") || text.contains("╭──▶● analyze_and_route"),
        "{text}"
    );
    assert!(text.contains("┄┤ REFINE ┄▷ plan"), "{text}");
    // Nothing was left to take an average of.
    assert!(text.contains("nothing ≥ 0.30 → RE_RETRIEVE"), "{text}");
}

#[test]
fn a_mark_travels_along_the_loop_that_is_under_way() {
    let mut screen = path_of(planning_again());
    let mut seen = Vec::new();
    for frame in 0..24 {
        screen.handle(Msg::Tick(Timestamp(1_772_452_866_400 + frame * 120)));
        let text = screen.text(160, 45);
        let at = text.lines().position(|line| line.contains('•'));
        seen.push(at.unwrap_or_else(|| panic!("no mark\n{text}")));
    }
    let (top, bottom) = (*seen.iter().min().unwrap(), *seen.iter().max().unwrap());
    assert!(bottom - top >= 4, "{seen:?}");
    // It goes up, from the edge that was taken to the node that it leads to.
    let ups = seen
        .windows(2)
        .filter(|pair| pair[1] + 1 == pair[0])
        .count();
    assert!(ups >= 16, "{seen:?}");
    // Nothing travels once the run is over.
    assert!(
        !path_of(compared())
            .text(160, 45)
            .lines()
            .any(|line| line.contains("•─┤"))
    );
}

#[test]
fn why_this_route_stands_under_the_analysis() {
    let text = path_of(compared()).text(160, 45);
    assert!(text.contains("│ because a comparison"), "{text}");
    assert!(text.contains("conceptual · hybrid, grep"), "{text}");
    // Weights stand in the node's detail.
    let cues = [
        cue("a single look-up", Some(0.93)),
        cue("\"the\"", Some(0.19)),
    ];
    let text = path_of(because(runs::simple(), &cues)).text(160, 45);
    assert!(text.contains("because a single look-up   "), "{text}");
    let cues = [
        cue("one fact is asked for; nothing to compare", None),
        cue("length", Some(0.41)),
    ];
    let mut screen = path_of(because(runs::simple(), &cues));
    let text = screen.text(160, 45);
    let told = "because one fact is asked for; nothing to compare   ";
    assert!(text.contains(told), "{text}");
    tap(&mut screen, KeyCode::Enter);
    let text = screen.text(160, 45);
    assert!(text.contains("because  length 0.41"), "{text}");
    let text = path_of(forced()).text(160, 45);
    assert!(text.contains("forced: you chose simple"), "{text}");
    assert!(text.contains("▼ simple, forced"), "{text}");
    let text = path_of(by_endpoint()).text(160, 45);
    assert!(text.contains("the model's own plan"), "{text}");
}

#[test]
fn keys_select_a_node_and_the_other_panes_follow() {
    let mut screen = path_of(compared());
    let text = screen.text(160, 45);
    assert!(!text.contains('▌'), "nothing is selected yet\n{text}");
    // plan, tool_exec
    strike(&mut screen, "jj");
    let text = screen.text(160, 45);
    assert!(
        text.contains("▌ 1 index.md:10-42") || text.contains("▌ 1 index.md"),
        "{text}"
    );
    let marked: Vec<_> = text.lines().filter(|line| line.contains("▌ +")).collect();
    assert!(!marked.is_empty(), "{text}");
    for line in marked {
        let of_node = [
            "tool_exec",
            "tool_called",
            "tool_finished",
            "evidence_added",
        ];
        assert!(of_node.iter().any(|word| line.contains(word)), "{line}");
    }
    text.must_hold("node_entered      tool_exec · round 2");
    // What grading dropped is marked, what it left alone is not.
    tap(&mut screen, KeyCode::Down);
    let text = screen.text(160, 45);
    assert!(text.contains("▌ × faq.md:88-93"), "{text}");
    assert!(!text.contains("▌ 1 index.md"), "{text}");
    // Back in the chat nothing is marked, and the audit pane follows again.
    press(&mut screen, KeyCode::Char('1'), KeyModifiers::ALT);
    let text = screen.text(160, 45);
    assert!(
        !text.contains('▌') && text.contains("Audit   follow"),
        "{text}"
    );
}

#[test]
fn enter_opens_what_went_on_in_a_node() {
    let mut screen = path_of(compared());
    strike(&mut screen, "j<Enter>");
    pictures("detail_plan", &mut screen);
    let text = screen.text(160, 45);
    for expected in [
        "round 1",
        "round 2",
        "part 1",
        "planned  grep {\"query\":\"rerank\"}",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    strike(&mut screen, "<Esc>j<Enter>");
    let text = screen.text(160, 45);
    text.must_hold("called   hybrid {\"semantic_query\":\"index pipeline\"}");
    assert!(text.contains("           3 items · 6 ms"), "{text}");
    strike(&mut screen, "<Esc>j<Enter>");
    let text = screen.text(160, 45);
    text.must_hold("verdict  REFINE, average 0.64 by the grader");
    text.must_hold("0.12  faq.md:88-93  dropped, below 0.30");
}

#[test]
fn fenced_parts_of_a_prompt_unfold_and_fold() {
    let mut screen = path_of(by_endpoint());
    for _ in 0..3 {
        tap(&mut screen, KeyCode::Char('j'));
    }
    tap(&mut screen, KeyCode::Enter);
    pictures("detail_prompt", &mut screen);
    let text = screen.text(160, 45);
    text.must_hold("asked    small · 612 ms · 1 240 sent, 30 received · 1 retry");
    text.must_hold("▸ evidence n=\"1\" source=\"index.md\" lines=\"10-42\"  2 lines");
    text.must_hold("Grade each passage.");
    text.must_hold("[0.82, 0.46, 0.12]");
    assert!(!text.contains("reads a folder"), "{text}");
    let row = |text: &str, what: &str| text.lines().position(|line| line.contains(what)).unwrap();
    let first = row(&text, "asked    small") - 3;
    let folded = row(&text, "▸ evidence n=\"1\"");
    // The window's first row is selected; the part is as many rows below.
    let down = folded - row(&text, "● done");
    assert!(first < folded);
    for _ in 0..down {
        tap(&mut screen, KeyCode::Char('j'));
    }
    tap(&mut screen, KeyCode::Char(' '));
    let text = screen.text(160, 45);
    text.must_hold("▾ evidence n=\"1\"");
    text.must_hold("reads a folder");
    assert!(
        !text.contains("A secret passage"),
        "only one is unfolded\n{text}"
    );
    assert!(!text.contains('\u{1b}') && !text.contains("[31m"), "{text}");
    // From within it folds again, and the keys are on its line.
    strike(&mut screen, "j<Enter>");
    let text = screen.text(160, 45);
    assert!(!text.contains("reads a folder"), "{text}");
    tap(&mut screen, KeyCode::Esc);
    assert!(!screen.text(160, 45).contains("asked    small"));
}

#[test]
fn the_meter_tells_where_its_numbers_come_from() {
    let mut events = runs::simple();
    let routed =
        |event: &Event| matches!(event.body, EventBody::RouteDecided { from: ToolExec, .. });
    let at = events.iter().position(routed).unwrap();
    let mut hit = events[at].clone();
    hit.body = EventBody::FastPathHit {
        path_type: PathType::SimpleSkipGrading,
        rule_name: "simple".to_owned(),
        query: "q".to_owned(),
    };
    events.insert(at, hit);
    let mut screen = path_of(events);
    strike(&mut screen, "G<Enter>");
    let text = screen.text(100, 30);
    text.must_hold("grade_evidence     0 made  1 saved: simple questions are not graded");
    text.must_hold("3 made + 1 saved = 4 steps of the full pipeline");
    // And what commands take for the run, which the header has no room for.
    let id = &runs::simple()[0].run.0;
    assert!(text.contains(&format!("run {id} ")), "{text}");
    let copied = tap(&mut screen, KeyCode::Char('y'));
    assert!(
        matches!(&copied[..], [Effect::Copy(text)] if text.contains(&**id)),
        "{copied:?}"
    );
    let mut screen = path_of(runs::chitchat());
    strike(&mut screen, "G<Enter>");
    let text = screen.text(100, 30);
    text.must_hold("synthesize         0 made  1 saved: the answer needed no step");
}

#[test]
fn the_node_of_a_failed_run_says_why() {
    let mut screen = path_of(tool_failed());
    for _ in 0..2 {
        tap(&mut screen, KeyCode::Char('j'));
    }
    tap(&mut screen, KeyCode::Enter);
    let text = screen.text(100, 30);
    assert!(text.contains("⚠ the index is damaged"), "{text}");
    text.must_hold("× the search failed: the index is damaged");
}

#[test]
fn a_node_that_ran_nowhere_says_what_it_is_for() {
    let mut screen = screen();
    press(&mut screen, KeyCode::Char('2'), KeyModifiers::ALT);
    for _ in 0..3 {
        tap(&mut screen, KeyCode::Char('j'));
    }
    tap(&mut screen, KeyCode::Enter);
    let text = screen.text(100, 30);
    text.must_hold("one call that grades every passage");
}

#[test]
fn a_new_run_takes_the_selection_back() {
    let mut screen = path_of(runs::simple());
    tap(&mut screen, KeyCode::Char('j'));
    let before = screen.text(160, 45).matches('▌').count();
    assert!(before > 0);
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000ff");
    tape.start("Next?");
    tape.enter(AnalyzeAndRoute, 0);
    play(&mut screen, tape.events);
    let text = screen.text(160, 45);
    // In the chat it marks the run that is shown.
    let right = text.lines().map(|line| line.split('│').nth_back(1));
    assert!(!right.flatten().any(|pane| pane.contains('▌')), "{text}");
}
