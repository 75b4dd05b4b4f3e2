//! What the terminal shows beside the cells: the window's title, the progress of a long wait, and a
//! bell and a notice on the desktop when an answer that took long is there.
//!
//! What is to be shown is read off the model; what is sent is the difference to what was sent
//! before, so that a screen on which nothing happens sends nothing.

use crate::domain::Outcome;
use crate::text::one_line;

use super::model::Model;
use super::terminal::{Abilities, NO_PROGRESS};

/// An answer that took this long is announced by a bell, milliseconds.
const LONG: f64 = 10_000.0;
/// How much of a question stands in the title, characters.
const TITLE: usize = 48;

/// What the terminal is to show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalStatus {
    title: String,
    /// How far what is waited for is, as a sequence; empty where nothing is.
    progress: String,
    /// Answers that took long, so far.
    long_answers: usize,
    /// The question of the last of them, on one line.
    answered: String,
}

impl TerminalStatus {
    /// What is to be shown now.
    pub fn from_model(model: &Model) -> Self {
        let asked = model.pending.as_ref().map(|asked| asked.text.as_str());
        let running = model
            .turns
            .current()
            .last()
            .filter(|_| model.current.is_some());
        let asked = asked.or(running.map(|turn| turn.exchange().query.as_str()));
        let title = match asked {
            Some(asked) => format!("◐ {}", one_line(asked, TITLE)),
            None if model.knowledge.name.is_empty() => "kb-agent".to_owned(),
            None => format!("kb-agent · {}", one_line(&model.knowledge.name, TITLE)),
        };
        let indexed = model.knowledge.progress.map(|progress| progress.percent());
        let progress = match indexed {
            // It takes as long as it takes.
            _ if asked.is_some() => "\x1b]9;4;3\x1b\\".to_owned(),
            Some(percent) => format!("\x1b]9;4;1;{percent}\x1b\\"),
            None => String::new(),
        };
        let took_long = model.turns.all().filter(|turn| {
            let exchange = turn.exchange();
            let finish = exchange.finish.as_ref().filter(|_| !exchange.is_recorded);
            finish.is_some_and(|end| end.outcome != Outcome::Cancelled && end.ms >= LONG)
        });
        let answered = took_long
            .clone()
            .max_by_key(|turn| turn.exchange().started)
            .map(|turn| &turn.exchange().query);
        Self {
            title,
            progress,
            answered: answered.map_or_else(String::new, |query| one_line(query, TITLE)),
            long_answers: took_long.count(),
        }
    }
}

/// Sends what has changed.
#[derive(Debug)]
pub struct Announcer {
    abilities: Abilities,
    sent: TerminalStatus,
    /// Whether the window has the focus, once the terminal has said so.
    focused: Option<bool>,
}

impl Announcer {
    /// Nothing has been sent yet.
    pub fn new(abilities: Abilities) -> Self {
        Self {
            abilities,
            sent: TerminalStatus::default(),
            focused: None,
        }
    }

    /// The window has got the focus, or lost it.
    pub fn focus(&mut self, focused: bool) {
        self.focused = Some(focused);
    }

    /// The terminal was given back meanwhile, and shows nothing of ours any more.
    pub fn begin_again(&mut self) {
        self.sent = TerminalStatus {
            long_answers: self.sent.long_answers,
            ..TerminalStatus::default()
        };
    }

    /// What to send so that the terminal shows this.
    pub fn sequences(&mut self, now: TerminalStatus) -> String {
        let mut sequences = String::new();
        if self.abilities.title && now.title != self.sent.title {
            sequences.push_str(&format!("\x1b]2;{}\x1b\\", now.title));
        }
        if self.abilities.progress && now.progress != self.sent.progress {
            sequences.push_str(match now.progress.as_str() {
                "" => NO_PROGRESS,
                progress => progress,
            });
        }
        // Who looks at the window sees the answer.
        if now.long_answers > self.sent.long_answers && self.focused != Some(true) {
            sequences.push('\x07');
            sequences.push_str(&self.abilities.notices.sequence(&now.answered));
        }
        self.sent = now;
        sequences
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::protocol::{Event, EventBody, QuestionPlace, RunId, Timestamp};
    use crate::tui::model::TurnView;
    use crate::tui::terminal::DesktopNotification;

    const ALL: Abilities = Abilities {
        title: true,
        progress: true,
        notices: DesktopNotification::None,
        links: false,
    };

    fn announced(title: &str, progress: &str, long_answers: usize) -> TerminalStatus {
        TerminalStatus {
            title: title.to_owned(),
            progress: progress.to_owned(),
            long_answers,
            answered: "why?".to_owned(),
        }
    }

    #[test]
    fn only_what_has_changed_is_sent() {
        let mut announcer = Announcer::new(ALL);
        let asked = announced("◐ why?", "\x1b]9;4;3\x1b\\", 0);
        assert_eq!(
            announcer.sequences(asked.clone()),
            "\x1b]2;◐ why?\x1b\\\x1b]9;4;3\x1b\\"
        );
        assert_eq!(announcer.sequences(asked.clone()), "");
        let embedding = announced("◐ why?", "\x1b]9;4;1;24\x1b\\", 0);
        assert_eq!(announcer.sequences(embedding), "\x1b]9;4;1;24\x1b\\");
        announcer.begin_again();
        assert_eq!(
            announcer.sequences(asked),
            "\x1b]2;◐ why?\x1b\\\x1b]9;4;3\x1b\\"
        );
        let mut plain = Announcer::new(Abilities::default());
        assert_eq!(plain.sequences(announced("a", "\x1b]9;4;3\x1b\\", 0)), "");
    }

    #[test]
    fn the_bell_rings_once_and_only_where_the_window_is_not_looked_at() {
        let after = |answers| announced("", "", answers);
        let mut announcer = Announcer::new(Abilities::default());
        assert_eq!(announcer.sequences(after(1)), "\x07");
        assert_eq!(announcer.sequences(after(1)), "");
        announcer.focus(true);
        assert_eq!(announcer.sequences(after(2)), "");
        announcer.focus(false);
        assert_eq!(announcer.sequences(after(3)), "\x07");
        announcer.begin_again();
        assert_eq!(announcer.sequences(after(3)), "");
        for (notices, sequence) in [
            (
                DesktopNotification::Osc9,
                "\x07\x1b]9;kb-agent answered: why?\x1b\\",
            ),
            (
                DesktopNotification::Osc777,
                "\x07\x1b]777;notify;kb-agent;answered: why?\x1b\\",
            ),
        ] {
            let mut announcer = Announcer::new(Abilities {
                notices,
                ..Abilities::default()
            });
            assert_eq!(announcer.sequences(after(1)), sequence);
        }
        assert_eq!(announcer.sequences(after(0)), "", "the chat was cleared");
    }

    #[test]
    fn a_branch_that_is_shown_again_rings_no_bell() {
        let run = |name: &str, at: u64, place: QuestionPlace| {
            let lines = include_str!("../../tests/it/fixtures/picture.jsonl").lines();
            let events = lines.map(|line| {
                let mut event: Event = serde_json::from_str(line).unwrap();
                (event.run, event.ts) = (RunId(name.into()), Timestamp(event.ts.0 + at));
                match &mut event.body {
                    EventBody::RunStarted { place: stands, .. } => *stands = place.clone(),
                    EventBody::RunFinished { ms, .. } => *ms = LONG,
                    _ => {}
                }
                Arc::new(event)
            });
            TurnView::from_events(&events.collect::<Vec<_>>()).unwrap()
        };
        let mut model = Model::default();
        model.turns.push(run("a", 0, QuestionPlace::default()));
        model.turns.push(run("b", 1, QuestionPlace::default()));
        let edit = QuestionPlace::edit_of(RunId("b".into()));
        assert!(model.turns.push(run("B", 2, edit)));
        let before = TerminalStatus::from_model(&model);
        assert_eq!(before.long_answers, 3);
        model.turns.step_branch(1, 1).unwrap();
        assert_eq!(TerminalStatus::from_model(&model), before);
    }
}
