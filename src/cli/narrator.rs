//! A run in words on standard output: what `ask` prints of it, and what plain mode does. No signs
//! that are drawn, no colours, nothing that is taken back.

use std::io::{IsTerminal, stdout};

use crate::domain::{
    Complexity, NOT_IN_THE_SOURCES, Outcome, Wait, WarningKind, Warnings, dollars,
    with_support_notes,
};
use crate::protocol::{Event, EventBody, Mode, RunEnd, RunRecord};
use crate::report::wording;
use crate::text::{one_line, plural};

/// How much of a run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// The answer alone.
    Answer,
    /// Each node in a few lines, the answer, its sources and the cost.
    Nodes,
}

/// Puts a run into words, event by event, and keeps what it came to.
pub(super) struct Narrator {
    record: RunRecord,
    detail: Detail,
    warnings: Warnings,
    /// Whether the answer is shown while it comes: a program gets it whole, since what a model thinks
    /// aloud may be taken back until the end.
    is_watched: bool,
    /// What was shown of the answer.
    shown: String,
}

impl Narrator {
    /// For the run that this event begins; `None` when it begins none.
    pub(super) fn begin(event: &Event, detail: Detail) -> Option<Self> {
        Some(Self {
            record: RunRecord::begin(event)?,
            detail,
            warnings: Warnings::default(),
            is_watched: stdout().is_terminal(),
            shown: String::new(),
        })
    }

    /// What the run came to so far.
    pub(super) fn record(&self) -> &RunRecord {
        &self.record
    }

    /// What the reader of the answer should know of each kind of warning.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &WarningKind> {
        self.warnings.at_the_answer()
    }

    /// What is to be printed of the next event.
    pub(super) fn render(&mut self, event: &Event) -> String {
        let before = match (&event.body, self.detail) {
            (EventBody::NodeEntered { .. }, Detail::Nodes) => self.last_node(),
            _ => String::new(),
        };
        self.record.apply(event);
        match (&event.body, self.detail) {
            (EventBody::AnswerDelta { text, supported }, _) if self.is_watched => {
                let note = match supported {
                    Some(false) => NOT_IN_THE_SOURCES,
                    Some(true) | None => "",
                };
                self.answer(text) + note
            }
            (
                EventBody::AnswerFinished {
                    text, supported, ..
                },
                _,
            ) if self.shown.is_empty() => {
                let noted = with_support_notes(text, supported);
                self.answer(&noted)
            }
            // Some of what was shown turned out to be no answer.
            (EventBody::AnswerFinished { text, .. }, _)
                if !text.starts_with(self.shown.trim_end()) =>
            {
                format!("\n\n{text}")
            }
            (EventBody::Warning { code, message }, _) => {
                self.warnings.add(code, message);
                String::new()
            }
            // What follows begins on a line of its own, also after an answer that was cut off.
            (EventBody::RunFinished { .. }, Detail::Answer) if !self.shown.is_empty() => {
                "\n".to_owned()
            }
            (EventBody::RunFinished { .. }, Detail::Nodes) => self.end(&event.body),
            (EventBody::NodeEntered { .. }, Detail::Nodes) => {
                let node = self.record.path.last().map(wording::node);
                let is_first = self.record.path.len() == 1;
                let limits = wording::limits(&self.record).filter(|_| is_first);
                let limits = limits.map_or(String::new(), |limits| format!("{limits}.\n"));
                format!("{limits}{before}Node {}.\n", node.unwrap_or_default())
            }
            (EventBody::Waiting { node, wait }, Detail::Nodes) => match wait {
                Wait::Retry { .. } => format!("  Waiting: {}.\n", wait.line_of(Some(*node), 0.0)),
                _ => String::new(),
            },
            _ => String::new(),
        }
    }

    fn answer(&mut self, text: &str) -> String {
        let is_first = self.shown.is_empty() && self.detail == Detail::Nodes;
        self.shown.push_str(text);
        format!("{}{text}", if is_first { "Answer: " } else { "" })
    }

    /// What the node came to that was entered last.
    fn last_node(&self) -> String {
        let Some(step) = self.record.path.last() else {
            return String::new();
        };
        let mut lines = wording::notes(step);
        lines.push(wording::cost(step, self.record.summary.mode));
        let lines = lines.iter().map(|line| format!("  {line}\n"));
        lines.collect()
    }

    /// Everything that follows the answer in plain mode.
    fn end(&self, body: &EventBody) -> String {
        let run = &self.record.summary;
        let outcome = match (run.outcome, &run.error) {
            (Some(Outcome::Cancelled), _) => "Stopped".to_owned(),
            (Some(Outcome::NotFound), _) => "Nothing was found".to_owned(),
            (Some(Outcome::Failed), Some(error)) => format!("Failed: {}", one_line(error, 300)),
            (Some(Outcome::Failed), None) => "Failed".to_owned(),
            _ => "Answered".to_owned(),
        };
        let line = |kind: &WarningKind| format!("Warning: {}\n", kind.line());
        let warnings: String = self.warnings().map(line).collect();
        let newline = if self.shown.is_empty() { "" } else { "\n" };
        format!(
            "{newline}{}{}{warnings}{outcome} · {}\n",
            self.sources(),
            self.last_node(),
            self.cost(body),
        )
    }

    /// What the marks of the answer stand for, a line each.
    pub(super) fn sources(&self) -> String {
        let citations = self.record.citations.iter();
        citations
            .map(|citation| wording::citation(citation) + "\n")
            .collect()
    }

    /// How the answer came about and what it cost, by the last event of its run.
    pub(super) fn cost(&self, body: &EventBody) -> String {
        let Some(end) = RunEnd::from_body(body) else {
            return String::new();
        };
        let mode = self.record.summary.mode;
        let about = if end.spent.estimated { "~" } else { "" };
        let confidence = self.record.confidence;
        let parts = [
            confidence.map(|confidence| confidence.level().advice().to_owned()),
            (mode == Mode::Offline).then(|| "offline, extractive".to_owned()),
            Some(end.route.map_or("unknown", Complexity::as_str).to_owned()),
            Some(format!("{}, {} saved", mode.calls(end.calls), end.saved)),
            Some(end.tokens() as usize)
                .filter(|tokens| *tokens > 0)
                .map(|tokens| format!("{about}{}", plural(tokens, "token"))),
            match (end.spent.cost_usd, mode) {
                (Some(cost), _) => Some(format!("{about}{}", dollars(cost))),
                (None, Mode::Llm) => Some("cost unknown".to_owned()),
                (None, Mode::Offline) => None,
            },
            Some(self.warnings.count())
                .filter(|warnings| *warnings > 0)
                .map(|warnings| plural(warnings, "warning")),
            Some(format!("{:.1} s", end.ms / 1000.0)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_a_run_in_lines_looks_like_this() {
        let recorded = include_str!("../../tests/it/fixtures/picture.jsonl");
        let events = recorded
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let events: Vec<Event> = events.collect();
        let mut narrator = Narrator::begin(&events[0], Detail::Nodes).unwrap();
        let said: String = events[1..]
            .iter()
            .map(|event| narrator.render(event))
            .collect();
        assert!(said.chars().all(|c| c == '\n' || !c.is_control()));
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!("plain_run", said);
        });
    }
}
