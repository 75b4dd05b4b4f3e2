//! Replay: a recorded run again, event by event, as it was live.

use crossterm::event::{KeyCode, KeyModifiers};
use kb_agent::domain::{
    AutoApproveRule, Complexity, GradedBy, NodeName, Outcome, PathType, RouteReason, ToolCall,
    ToolName,
};
use kb_agent::protocol::{
    Command, Event, EventBody, EvidenceItem, KnowledgeStatus, RunId, Timestamp, Update,
};
use kb_agent::tui::{Effect, Msg, Screen};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, proptest};
use proptest::test_runner::Config;
use ratatui::buffer::Buffer;

use super::runs::{self, Tape, item};
use super::{ctrl, pictures, played, press, screen, source, strike, struck, tap};
use crate::support::Said;

/// The smallest screen with all four panes.
const FOUR_PANES: (u16, u16) = (120, 24);

fn feed(screen: &mut Screen, event: &Event) {
    screen.handle(Msg::Update(Update::Event(event.clone())));
}

fn replaying(events: Vec<Event>) -> Screen {
    let mut screen = played(events);
    assert_eq!(strike(&mut screen, "/replay<Enter>"), []);
    screen
}

/// The line that says where the replay stands.
fn position(screen: &mut Screen) -> String {
    let text = screen.text(160, 45);
    let mut lines = text.lines();
    lines
        .find(|line| line.contains(" replay ") && line.contains('×'))
        .unwrap_or_else(|| panic!("no replay in\n{text}"))
        .to_owned()
}

fn tick(screen: &mut Screen, ms: u64) {
    screen.handle(Msg::Tick(Timestamp(ms)));
}

/// What the four panes show; prompt, notice and the last line are no part of them.
fn panes(screen: &mut Screen) -> Buffer {
    let (width, height) = FOUR_PANES;
    let mut buffer = screen.render(width, height);
    let middle = width - 2 - 58;
    for y in height - 3..height {
        for x in 0..width {
            if x <= middle || y == height - 1 {
                buffer[(x, y)].reset();
            }
        }
    }
    // Esc stops a run, and leaves a replay.
    for y in 0..height {
        let row: Vec<String> = (0..width)
            .map(|x| buffer[(x, y)].symbol().to_owned())
            .collect();
        for said in WHAT_ESC_DOES {
            let words: Vec<String> = said.chars().map(String::from).collect();
            let found = row.windows(words.len()).position(|part| part == words);
            for x in found.into_iter().flat_map(|at| at..at + words.len()) {
                buffer[(x as u16, y)].reset();
            }
        }
    }
    buffer
}

const WHAT_ESC_DOES: [&str; 2] = [" · Esc stops", " · Esc leaves"];

#[derive(Debug, Clone)]
struct Round {
    found: Vec<(u8, usize, f64)>,
    grades: Vec<f64>,
    tool_fails: bool,
    by: u8,
}

#[derive(Debug, Clone)]
struct Generated {
    route: u8,
    forced: bool,
    rounds: Vec<Round>,
    /// After how many events it breaks off, and whether it was cancelled.
    broken: Option<(usize, bool)>,
    /// Pauses: after which event, how long.
    pauses: Vec<(usize, u64)>,
    warnings: Vec<usize>,
    has_pieces: bool,
}

fn generated() -> impl Strategy<Value = Generated> {
    let round = (
        vec((0..3_u8, 1..30_usize, 0.0..1.0), 0..5),
        vec(0.0..1.0, 8),
        proptest::bool::weighted(0.2),
        0..6_u8,
    )
        .prop_map(|(found, grades, tool_fails, by)| Round {
            found,
            grades,
            tool_fails,
            by,
        });
    (
        (0..5_u8, proptest::bool::weighted(0.2)),
        vec(round, 1..3),
        proptest::option::weighted(0.25, (1..40_usize, any::<bool>())),
        vec((0..40_usize, 0..90_000_u64), 0..3),
        vec(0..40_usize, 0..3),
        any::<bool>(),
    )
        .prop_map(
            |((route, forced), rounds, broken, pauses, warnings, has_pieces)| Generated {
                route,
                forced,
                rounds,
                broken,
                pauses,
                warnings,
                has_pieces,
            },
        )
}

impl Generated {
    fn events(&self, run: &str) -> Vec<Event> {
        let mut tape = Tape::new(run);
        tape.start("what holds the pipeline together, and why?");
        let complexity = match self.route {
            0 => Complexity::Chitchat,
            1 => Complexity::Simple,
            _ => Complexity::Complex,
        };
        if let (true, EventBody::RunStarted { forced_route, .. }) =
            (self.forced, &mut tape.events[0].body)
        {
            *forced_route = Some(complexity);
        }
        tape.analyze(complexity, &["the one", "the other"]);
        match complexity {
            Complexity::Chitchat => tape.add(EventBody::FastPathHit {
                path_type: PathType::Chitchat,
                rule_name: "chitchat".to_owned(),
                query: "q".to_owned(),
            }),
            Complexity::Simple => {
                self.retrieve(&mut tape, 0);
                tape.route(
                    NodeName::ToolExec,
                    NodeName::Synthesize,
                    RouteReason::Simple,
                );
            }
            Complexity::Complex => self.rounds(&mut tape),
        }
        tape.answer(0, "It is the **store** that both read.", Vec::new());
        tape.end(Outcome::Answered, 4, 1, None);
        let mut events = tape.events;
        if !self.has_pieces {
            events.retain(|event| event.body.name() != "answer_delta");
        }
        for at in &self.warnings {
            let at = (*at).clamp(1, events.len() - 1);
            let mut warning = events[at - 1].clone();
            warning.body = EventBody::Warning {
                code: "endpoint_retried".to_owned(),
                message: "answered at attempt 2".to_owned(),
            };
            events.insert(at, warning);
        }
        if let Some((after, cancelled)) = self.broken
            && after < events.len()
        {
            let mut end = events.pop().unwrap();
            events.truncate(after);
            if let EventBody::RunFinished { outcome, error, .. } = &mut end.body {
                *outcome = if cancelled {
                    Outcome::Cancelled
                } else {
                    *error = Some("the endpoint refused the connection".to_owned());
                    Outcome::Failed
                };
            }
            events.push(end);
        }
        for (after, pause) in &self.pauses {
            for event in events.iter_mut().skip(after + 1) {
                event.ts.0 += pause;
            }
        }
        events
    }

    fn retrieve(&self, tape: &mut Tape, round: usize) {
        let spec = &self.rounds[round];
        let found: Vec<EvidenceItem> = spec
            .found
            .iter()
            .enumerate()
            .map(|(at, (file, line, score))| {
                let source = format!("folder/file-{file}.md");
                let lines = (*line, line + 4);
                item(
                    10 * round + at,
                    &source,
                    lines,
                    ToolName::HybridSearch,
                    *score,
                )
            })
            .collect();
        let call = ToolCall::HybridSearch {
            semantic_query: format!("pipeline {round}"),
            exact_keywords: Vec::new(),
        };
        tape.retrieve(u32::try_from(round).unwrap(), vec![call], found);
        if spec.tool_fails {
            for event in tape.events.iter_mut().rev().take(4) {
                if let EventBody::ToolFinished { error, .. } = &mut event.body {
                    *error = Some("the index could not be read".to_owned());
                }
            }
        }
    }

    fn rounds(&self, tape: &mut Tape) {
        let last = self.rounds.len() - 1;
        for (round, spec) in self.rounds.iter().enumerate() {
            self.retrieve(tape, round);
            tape.route(
                NodeName::ToolExec,
                NodeName::GradeEvidence,
                RouteReason::Complex,
            );
            let ids: Vec<String> = (0..spec.found.len())
                .map(|at| format!("e{}", 10 * round + at))
                .collect();
            let by = match spec.by {
                _ if ids.is_empty() => GradedBy::NoEvidence,
                0 => GradedBy::Rule(AutoApproveRule::FewContext),
                1 => GradedBy::Fallback,
                _ => GradedBy::Grader,
            };
            let grade = |at: usize| match by {
                GradedBy::Rule(_) => 1.0,
                GradedBy::Fallback => 0.5,
                _ => spec.grades[at],
            };
            let scores: Vec<(&str, f64)> = ids
                .iter()
                .enumerate()
                .map(|(at, id)| (id.as_str(), grade(at)))
                .collect();
            let kept = scores.iter().map(|(_, s)| *s).filter(|s| *s >= 0.3);
            let kept: Vec<f64> = kept.collect();
            let average = kept.iter().sum::<f64>() / kept.len().max(1) as f64;
            tape.grade(u32::try_from(round).unwrap(), &scores, average, by);
            if average >= 0.7 {
                return;
            }
            if round == last {
                tape.events.pop();
                tape.route(
                    NodeName::GradeEvidence,
                    NodeName::Synthesize,
                    RouteReason::MaxIterations,
                );
            } else if average < 0.3 {
                tape.analyze(Complexity::Complex, &["once more"]);
            }
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 60, failure_persistence: None, ..Config::default() })]

    #[test]
    fn replay_shows_each_pane_as_it_was_live(run in generated(), has_run_before in any::<bool>()) {
        let mut events = run.events("0199a1b2-0000-7000-8000-0000000000a1");
        for event in &mut events {
            // Later than the run before.
            event.ts.0 += 3_600_000;
        }
        let mut screen = screen();
        if has_run_before {
            for event in runs::chitchat() {
                feed(&mut screen, &event);
            }
        }
        let mut live = Vec::new();
        for event in &events {
            feed(&mut screen, event);
            live.push(panes(&mut screen));
        }
        strike(&mut screen, "/replay<Enter>");
        for (at, live) in live.iter().enumerate() {
            if at > 0 {
                tap(&mut screen, KeyCode::Right);
            }
            proptest::prop_assert!(panes(&mut screen) == *live, "forward, {} events", at + 1);
        }
        for (at, live) in live.iter().enumerate().rev().skip(1) {
            tap(&mut screen, KeyCode::Left);
            proptest::prop_assert!(panes(&mut screen) == *live, "back, {} events", at + 1);
        }
        tap(&mut screen, KeyCode::End);
        proptest::prop_assert!(Some(&panes(&mut screen)) == live.last());
        tap(&mut screen, KeyCode::Esc);
        proptest::prop_assert!(Some(&panes(&mut screen)) == live.last(), "after leaving");
    }
}

/// What each pane shows where it has the screen for itself; notice and frame are no part of it.
fn each_pane(screen: &mut Screen) -> Vec<String> {
    let mut shown = Vec::new();
    for pane in ['2', '3', '4'] {
        press(screen, KeyCode::Char(pane), KeyModifiers::ALT);
        tap(screen, KeyCode::Char('z'));
        let text = screen.text(120, 45);
        let lines: Vec<&str> = text.lines().skip(1).take(41).collect();
        shown.push(lines.join("\n"));
        tap(screen, KeyCode::Char('z'));
    }
    shown
}

proptest! {
    #![proptest_config(Config { cases: 60, failure_persistence: None, ..Config::default() })]

    /// Of a run that is not looked at only what the conversation shows is kept as it is.
    #[test]
    fn ui_a_run_is_drawn_as_it_was_when_others_were_asked_since(run in generated()) {
        let events = run.events("0199a1b2-0000-7000-8000-0000000000a1");
        let mut screen = played(events);
        let live = each_pane(&mut screen);
        for event in runs::chitchat().iter().chain(&runs::not_found()) {
            feed(&mut screen, event);
        }
        for _ in 0..2 {
            strike(&mut screen, "<Alt+Up><Alt+Up>");
            proptest::prop_assert_eq!(&each_pane(&mut screen), &live);
            strike(&mut screen, "<Alt+Down><Alt+Down>");
        }
    }
}

#[test]
fn replay_pictures() {
    let mut screen = replaying(runs::complex());
    pictures("replay_begins", &mut screen);
    for _ in 0..4 {
        press(&mut screen, KeyCode::Right, KeyModifiers::SHIFT);
    }
    for _ in 0..2 {
        tap(&mut screen, KeyCode::Right);
    }
    pictures("replay_midway", &mut screen);
    tap(&mut screen, KeyCode::Char('?'));
    assert!(screen.text(160, 45).contains("In a replay"));
    strike(&mut screen, "<Esc><Tab>z");
    pictures("replay_zoomed", &mut screen);
}

#[test]
fn replay_steps_by_event_and_by_node_and_says_where_it_is() {
    let events = runs::simple();
    let all = events.len();
    let mut screen = replaying(events.clone());
    assert!(position(&mut screen).contains(&format!("1 of {all}")));
    strike(&mut screen, "<Right>l");
    let said = position(&mut screen);
    assert!(said.contains(&format!("3 of {all} · +41 ms of ")), "{said}");
    tap(&mut screen, KeyCode::Left);
    assert!(position(&mut screen).contains(&format!("2 of {all}")));
    let entered = |event: &Event| event.body.name() == "node_entered";
    let nodes: Vec<usize> = (0..all).filter(|at| entered(&events[*at])).collect();
    press(&mut screen, KeyCode::Right, KeyModifiers::SHIFT);
    assert!(position(&mut screen).contains(&format!("{} of {all}", nodes[1] + 1)));
    press(&mut screen, KeyCode::Left, KeyModifiers::SHIFT);
    assert!(position(&mut screen).contains(&format!("{} of {all}", nodes[0] + 1)));
    tap(&mut screen, KeyCode::End);
    assert!(position(&mut screen).contains(&format!("{all} of {all}")));
    strike(&mut screen, "<Home><Left>");
    assert!(position(&mut screen).contains(&format!("1 of {all}")));
}

#[test]
fn replay_plays_at_the_recorded_pace_and_says_which_pause_is_shortened() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000a2");
    tape.start("slow?");
    tape.enter(NodeName::AnalyzeAndRoute, 0);
    tape.leave(NodeName::AnalyzeAndRoute, 0, 60_000, 1);
    tape.end(Outcome::Answered, 1, 0, None);
    let mut screen = replaying(tape.events);
    assert!(!screen.is_animated());
    tap(&mut screen, KeyCode::Char(' '));
    assert!(screen.is_animated());
    tick(&mut screen, 1_000);
    tick(&mut screen, 2_000);
    let said = position(&mut screen);
    assert!(said.contains("2 of 4"), "{said}");
    for (width, height) in [(160, 45), (60, 20)] {
        let text = screen.text(width, height);
        text.must_hold("pause of 1 m 00 s shortened to 2.0 s");
    }
    // Half of the pause is over, and so is half of the time that it took.
    assert!(said.contains("+30.0 s of 1 m 00 s"), "{said}");
    tap(&mut screen, KeyCode::Char('+'));
    assert!(position(&mut screen).contains("2×"));
    tick(&mut screen, 2_600);
    let said = position(&mut screen);
    assert!(said.contains("4 of 4") && !screen.is_animated(), "{said}");
    for _ in 0..9 {
        tap(&mut screen, KeyCode::Char('-'));
    }
    assert!(position(&mut screen).contains("0.1×"));
    for _ in 0..9 {
        tap(&mut screen, KeyCode::Char('+'));
    }
    assert!(position(&mut screen).contains("10×"));
    // From the end it plays once more.
    tap(&mut screen, KeyCode::Char('p'));
    assert!(position(&mut screen).contains("1 of 4"));
}

#[test]
fn replay_of_a_run_of_milliseconds_is_slow_by_itself() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000a3");
    tape.start("fast?");
    tape.enter(NodeName::AnalyzeAndRoute, 0);
    tape.leave(NodeName::AnalyzeAndRoute, 0, 2, 1);
    tape.end(Outcome::Answered, 1, 0, None);
    let mut screen = struck(tape.events, "/replay slow<Enter>");
    assert!(position(&mut screen).contains("1× slow"));
    tick(&mut screen, 1_000);
    tick(&mut screen, 1_300);
    assert!(position(&mut screen).contains("2 of 4"));
    tick(&mut screen, 1_500);
    assert!(position(&mut screen).contains("3 of 4"));
    tap(&mut screen, KeyCode::Char('s'));
    assert!(!position(&mut screen).contains("slow"));
    tick(&mut screen, 1_600);
    assert!(position(&mut screen).contains("4 of 4"));
}

#[test]
fn replay_makes_no_call_and_types_no_question() {
    let mut screen = replaying(runs::complex());
    for pane in ['1', '2', '3', '4'] {
        press(&mut screen, KeyCode::Char(pane), KeyModifiers::ALT);
        for key in "abcdefgijkmnortuvwyz0123456789/!".chars() {
            for effect in tap(&mut screen, KeyCode::Char(key)) {
                assert!(!matches!(effect, Effect::Send(_)), "{key}: {effect:?}");
            }
            // A filter takes text until it is closed.
            if (pane, key) == ('4', '/') {
                tap(&mut screen, KeyCode::Enter);
            }
        }
        assert_eq!(ctrl(&mut screen, 'p'), []);
        assert!(screen.text(160, 45).contains("Esc leaves the replay first"));
    }
    screen.handle(Msg::Paste("pasted".to_owned()));
    assert!(!screen.text(160, 45).contains("> pasted"));
    tap(&mut screen, KeyCode::Esc);
    let text = screen.text(160, 45);
    assert!(text.contains("ask, / for commands"), "{text}");
}

#[test]
fn replay_leaves_what_goes_on_live_as_it_was() {
    let mut screen = replaying(runs::simple());
    for event in runs::complex() {
        feed(&mut screen, &event);
    }
    screen.handle(Msg::Update(Update::Knowledge(KnowledgeStatus {
        name: "renamed".to_owned(),
        ..KnowledgeStatus::default()
    })));
    let text = screen.text(160, 45);
    assert!(text.contains("What is the default chunk size?"), "{text}");
    assert!(!text.contains("compare the index pipeline"), "{text}");
    assert!(text.contains("renamed"), "{text}");
    tap(&mut screen, KeyCode::Esc);
    let text = screen.text(160, 45);
    assert!(text.contains("compare the index pipeline"), "{text}");
    assert!(text.contains("Both read the same store"), "{text}");
}

#[test]
fn replay_begins_with_a_key_in_any_pane_and_waits_for_the_end_of_a_run() {
    for pane in ['2', '3', '4'] {
        let mut screen = played(runs::simple());
        press(&mut screen, KeyCode::Char(pane), KeyModifiers::ALT);
        tap(&mut screen, KeyCode::Char('R'));
        assert!(position(&mut screen).contains("1 of "));
    }
    let mut events = runs::simple();
    events.truncate(5);
    let mut screen = struck(events, "<Alt+2>R");
    assert!(screen.text(160, 45).contains("still going on"));
    let mut empty = super::screen();
    strike(&mut empty, "/replay<Enter>");
    assert!(empty.text(160, 45).contains("Nothing to replay yet"));
}

#[test]
fn replay_of_a_log_comes_with_the_answer_as_a_whole_and_ends_the_program() {
    let mut events = runs::simple();
    events.retain(|event| event.body.name() != "answer_delta");
    let mut screen = screen();
    assert!(screen.replay_recorded(events.clone()));
    let text = screen.text(160, 45);
    text.must_hold("recorded without the answer's pieces");
    assert_eq!(strike(&mut screen, "<End><Alt+3><Esc>"), [Effect::Quit]);
    // What has no beginning is no run.
    events.remove(0);
    assert!(!super::screen().replay_recorded(events));
}

#[test]
fn ui_a_replay_opens_the_documents_of_its_evidence() {
    let mut recorded = screen();
    assert!(recorded.replay_recorded(runs::simple()));
    for mut screen in [replaying(runs::simple()), recorded] {
        strike(&mut screen, "<End><Alt+3>");
        let asked = Effect::Send(Command::ReadDocument {
            source: "index.md".to_owned(),
            line: 10,
        });
        assert_eq!(tap(&mut screen, KeyCode::Enter), [asked]);
        source::send(&mut screen, "index.md", 10, Ok(source::part(1, 60, 60)));
        let text = screen.text(160, 45);
        text.must_hold("line 10");
        text.must_hold("index.md");
        // Esc leaves the document, and the replay after it.
        assert_eq!(tap(&mut screen, KeyCode::Esc), []);
        assert!(screen.text(160, 45).contains("replay"), "{text}");
    }
}

#[test]
fn replay_of_a_run_without_an_end_says_so() {
    let mut events = runs::simple();
    events.pop();
    events[0].run = RunId("interrupted".into());
    let mut screen = screen();
    assert!(screen.replay_recorded(events));
    tap(&mut screen, KeyCode::End);
    assert!(screen.text(60, 20).contains("no end was recorded"));
}

#[test]
fn replay_takes_a_refusal_of_its_own_and_sends_only_what_reads() {
    let mut screen = played(source::found());
    strike(&mut screen, "/replay<Enter><End><Alt+3><Enter>");
    source::send(
        &mut screen,
        source::SOURCE,
        30,
        Ok(source::part(1, 340, 340)),
    );
    let Effect::Send(command) = tap(&mut screen, KeyCode::Char('w')).remove(0) else {
        panic!("no command");
    };
    screen.text(160, 45).must_hold("looking …");
    screen.handle(Msg::Refused(command));
    let text = screen.text(160, 45);
    text.must_lack("looking …");
    text.must_hold("The engine is busy");
    strike(&mut screen, "<Esc>");
    // Nothing that is not named for the panes does anything.
    for keys in ["<Alt+Up>", "<Alt+Left>", "<Ctrl+s>"] {
        assert_eq!(strike(&mut screen, keys), [], "{keys}");
        screen
            .text(160, 45)
            .must_hold("Esc leaves the replay first.");
    }
}
