//! The window over the statistics of all recorded runs.

use kb_agent::protocol::{
    Command, Event, EventBody, NoticeLevel, RunFigures, RunHistory, Timestamp, Update,
};
use kb_agent::tui::{Effect, Msg, Screen};

use super::{KeyCode, ctrl, pictures, runs, screen, strike, tap};

const DAY: u64 = 86_400_000;

fn figures(events: &[Event]) -> RunFigures {
    let mut figures = RunFigures::default();
    for event in events {
        figures.take(&event.body);
    }
    figures
}

/// Runs of three weeks of which one day had none; every fifth was answered by a model with a price.
pub fn history() -> RunHistory {
    let mut recorded = Vec::new();
    for day in (0..21).filter(|day| *day != 9) {
        for nth in 0..=(day % 4) {
            let mut events = match (day + nth) % 4 {
                0 => runs::chitchat(),
                1 => runs::simple(),
                2 => runs::rule_hit(),
                _ => runs::complex(),
            };
            for event in &mut events {
                match &mut event.body {
                    EventBody::NodeFinished { ms, .. } => *ms *= 1.0 + (day % 5) as f64,
                    EventBody::RunFinished {
                        prompt_tokens,
                        completion_tokens,
                        spent,
                        ..
                    } if day % 5 == 0 => {
                        (*prompt_tokens, *completion_tokens) = (1200 + 10 * day, 300);
                        spent.cost_usd = Some(0.001 * (day + 1) as f64);
                    }
                    _ => {}
                }
            }
            // 2026-02-01 and the days after.
            let begun = Timestamp((20_485 + day) * DAY + nth);
            recorded.push((begun, figures(&events)));
        }
    }
    RunHistory::from_runs(&recorded)
}

fn opened() -> Screen {
    let mut screen = screen();
    assert_eq!(
        strike(&mut screen, "/stats<Enter>"),
        [Effect::Send(Command::ReadStatistics)]
    );
    screen
}

fn arrive(screen: &mut Screen, read: Result<RunHistory, String>) -> Vec<Effect> {
    screen.handle(Msg::Update(Update::Statistics(read.map(Box::new))))
}

#[test]
fn ui_stats_show_the_whole_log_with_a_bar_a_day() {
    let mut screen = opened();
    assert!(screen.text(100, 30).contains("reading the audit log …"));
    assert_eq!(arrive(&mut screen, Ok(history())), []);
    pictures("stats", &mut screen);
    let text = screen.text(160, 45);
    assert!(!text.contains("reading the"), "{text}");
    assert!(text.contains("2026-02-01 to 2026-02-21 (UTC)"), "{text}");
    // A day without a run has no calls to be counted.
    let runs = text
        .lines()
        .find(|line| line.contains("│ calls made "))
        .unwrap();
    let is_bars = |word: &&str| word.chars().all(|c| "·▁▂▃▄▅▆▇█".contains(c));
    let bars: Vec<char> = runs
        .split(' ')
        .rfind(|w| w.len() > 3 && is_bars(w))
        .unwrap()
        .chars()
        .collect();
    assert_eq!((bars.len(), bars[9]), (21, '·'), "{runs}");
}

#[test]
fn ui_stats_say_what_stands_in_their_way() {
    let mut screen = opened();
    arrive(
        &mut screen,
        Err("the audit log x cannot be read".to_owned()),
    );
    let text = screen.text(100, 30);
    assert!(text.contains("⚠ the audit log x cannot be read"), "{text}");
    let mut screen = opened();
    arrive(&mut screen, Ok(RunHistory::from_runs(&[])));
    assert!(screen.text(100, 30).contains("Nothing has been asked yet"));
    let mut screen = opened();
    screen.handle(Msg::EngineGone);
    assert!(screen.text(100, 30).contains("⚠ the engine stopped"));
    let mut screen = opened();
    screen.handle(Msg::Refused(Command::ReadStatistics));
    let text = screen.text(100, 30);
    assert!(text.contains("did not read the log") && !text.contains("reading the"));
}

#[test]
fn ui_stats_are_not_read_on_once_the_window_is_closed() {
    let leave = [Effect::Send(Command::LeaveStatistics)];
    let mut screen = opened();
    assert_eq!(tap(&mut screen, KeyCode::Esc), leave);
    // What still comes is for no one.
    arrive(&mut screen, Ok(history()));
    assert!(!screen.text(100, 30).contains("Statistics"));
    let mut screen = opened();
    assert_eq!(ctrl(&mut screen, 'c'), leave);
    // Under help it is still there.
    let mut screen = opened();
    assert_eq!(tap(&mut screen, KeyCode::F(1)), []);
    arrive(&mut screen, Ok(history()));
    assert_eq!(tap(&mut screen, KeyCode::Esc), []);
    assert!(screen.text(160, 45).contains("Fast paths"));
    assert_eq!(tap(&mut screen, KeyCode::Esc), []);
    // A question that ends meanwhile changes nothing in the window.
    let mut screen = opened();
    let message = "Exported".to_owned();
    let level = NoticeLevel::Info;
    screen.handle(Msg::Update(Update::Notice { level, message }));
    assert!(screen.text(100, 30).contains("reading the audit log …"));
}
