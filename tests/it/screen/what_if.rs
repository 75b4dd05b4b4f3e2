//! The window that asks what a run would have done within other limits.

use crossterm::event::{KeyCode, KeyModifiers};
use kb_agent::domain::{Complexity, Cue};
use kb_agent::protocol::{Command, Event, EventBody, RunId, Update};
use kb_agent::tui::{Effect, Msg, Screen};

use super::{pictures, played, press, strike, tap};
use super::{runs, struck};

fn opened(events: Vec<Event>) -> Screen {
    let mut screen = played(events);
    assert_eq!(strike(&mut screen, "<Alt+2>w"), []);
    screen
}

fn down(screen: &mut Screen, times: usize) {
    for _ in 0..times {
        tap(screen, KeyCode::Down);
    }
}

/// The same run of a simple question, with what its router measured.
fn measured(chitchat: f64, complex: f64) -> Vec<Event> {
    let mut events = runs::simple();
    for event in &mut events {
        match &mut event.body {
            EventBody::RunStarted { settings, .. } => {
                settings.router.chitchat = Some(0.8);
                settings.router.complex = Some(0.5);
            }
            EventBody::RoutingPlan { because, .. } => {
                *because = vec![
                    Cue::measured(Complexity::Complex, complex, 0.5),
                    Cue::measured(Complexity::Chitchat, chitchat, 0.8),
                ];
            }
            _ => {}
        }
    }
    events
}

fn far_left(screen: &mut Screen, times: usize) {
    for _ in 0..times {
        press(screen, KeyCode::Left, KeyModifiers::SHIFT);
    }
}

fn shown(screen: &mut Screen, words: &str) {
    let text = screen.text(160, 45);
    assert!(text.contains(words), "{words} not in\n{text}");
}

#[test]
fn what_if_pictures() {
    let mut screen = opened(runs::complex());
    pictures("what_if_begins", &mut screen);
    down(&mut screen, 3);
    far_left(&mut screen, 1);
    pictures("what_if_another_way", &mut screen);
    strike(&mut screen, "0<Up><Shift+Right><Shift+Right>");
    pictures("what_if_other_evidence", &mut screen);
}

#[test]
fn what_if_shows_where_the_run_would_go_another_way_and_makes_no_call() {
    let mut screen = opened(runs::complex());
    shown(&mut screen, "No decision would change.");
    shown(&mut screen, "0 of 1 run here would have gone another way.");
    down(&mut screen, 3);
    for _ in 0..6 {
        assert_eq!(tap(&mut screen, KeyCode::Left), [] as [Effect; 0]);
    }
    shown(&mut screen, "0.64  was 0.70");
    shown(&mut screen, "avg 0.64 ≥ 0.64 → GENERATE");
    shown(&mut screen, "Another way: an answer from 2 items at once");
    shown(&mut screen, "1 of 1 run here would have gone another way.");
    tap(&mut screen, KeyCode::Char('0'));
    shown(&mut screen, "No decision would change");
    // Fewer gradings than were made end the run earlier.
    down(&mut screen, 3);
    strike(&mut screen, "<Left><Left>");
    shown(&mut screen, "1 of 1 gradings → max_iterations");
    // More items without grading approve what was graded.
    strike(&mut screen, "0<Up><Right>");
    shown(&mut screen, "rule few_context: 3 ≤ 3 → GENERATE");
    assert_eq!(tap(&mut screen, KeyCode::Esc), []);
    assert!(!screen.text(160, 45).contains("What if"));
}

#[test]
fn what_if_says_what_is_not_known() {
    let mut screen = opened(runs::rule_hit());
    down(&mut screen, 5);
    tap(&mut screen, KeyCode::Left);
    shown(
        &mut screen,
        "no rule approves, and the grader was not asked",
    );
    shown(&mut screen, "What the grader would have said is not known");
    shown(&mut screen, "1 cannot be known");
    let mut simple = opened(runs::simple());
    shown(
        &mut simple,
        "Nothing was graded (simple): only the router's limits decide here.",
    );
    let mut empty = super::screen();
    strike(&mut empty, "/what-if<Enter>");
    shown(&mut empty, "Nothing was asked yet.");
}

#[test]
fn what_if_sweeps_over_all_runs_of_the_conversation() {
    let mut screen = played(runs::complex());
    for events in [runs::simple(), runs::rule_hit(), runs::complex()] {
        for mut event in events {
            event.run = RunId(format!("{}+", event.run).into());
            screen.handle(Msg::Update(Update::Event(event)));
        }
    }
    strike(&mut screen, "/what-if<Enter><Down><Down><Down>");
    far_left(&mut screen, 1);
    shown(&mut screen, "2 of 4 runs here would have gone another way.");
    down(&mut screen, 2);
    strike(&mut screen, "<Left><Left>");
    shown(
        &mut screen,
        "2 of 4 runs here would have gone another way; 1 cannot be known.",
    );
}

#[test]
fn what_if_opens_in_a_replay_over_what_has_happened() {
    let mut screen = struck(runs::complex(), "/replay<Enter><Alt+2>w");
    shown(&mut screen, "Nothing was graded");
    strike(&mut screen, "<Esc><End>w");
    shown(&mut screen, "avg 0.78 ≥ 0.70 → GENERATE");
    tap(&mut screen, KeyCode::Esc);
    assert!(screen.text(160, 45).contains(" replay "));
}

#[test]
fn what_if_moves_the_thresholds_of_the_router_and_keeps_what_was_moved() {
    let mut screen = opened(measured(0.3, 0.41));
    shown(&mut screen, "simple · P(complex) 0.41 · P(chitchat) 0.30");
    assert_eq!(tap(&mut screen, KeyCode::Char('s')), []);
    down(&mut screen, 1);
    far_left(&mut screen, 1);
    shown(&mut screen, "0.40  was 0.50");
    shown(&mut screen, "P(chitchat) 0.30 → complex");
    shown(&mut screen, "Another way: complex instead of simple");
    shown(&mut screen, "1 of 1 run here would have gone another way.");
    strike(&mut screen, "<Down><Right>");
    let kept = [
        ("KB_AGENT_COMPLEX_THRESHOLD", "0.40"),
        ("KB_AGENT_KEEP_FROM", "0.31"),
    ];
    let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(
        tap(&mut screen, KeyCode::Char('s')),
        [Effect::Send(Command::KeepSettings(kept.to_vec()))]
    );
    // Small talk comes before all else.
    strike(&mut screen, "<Up><Up>");
    far_left(&mut screen, 5);
    shown(&mut screen, "Another way: chitchat instead of simple");
    // What an older log does not hold cannot be moved.
    let mut older = opened(runs::simple());
    shown(&mut older, "not recorded");
    assert_eq!(strike(&mut older, "<Left>s"), []);
}
