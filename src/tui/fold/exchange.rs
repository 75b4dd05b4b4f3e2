//! What the conversation shows of a run. It is kept of every run; all else can be folded again.

use crate::domain::{Citation, Complexity, Confidence, NodeName, Warnings};
use crate::protocol::{Event, EventBody, Mode, RunId, Timestamp};
use crate::text::{StreamSanitizer, one_line, sanitize};

use super::step::RunResult;

/// A question and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Id of the run.
    pub id: RunId,
    /// The run whose question it asks once more.
    pub retry_of: Option<RunId>,
    /// The question, clean.
    pub query: String,
    /// What it was kept within, clean.
    pub within: Vec<String>,
    /// Which engine thought.
    pub mode: Mode,
    /// The route the user chose.
    pub forced: Option<Complexity>,
    /// The route that the analysis came to.
    pub planned: Option<Complexity>,
    /// When it began.
    pub started: Timestamp,
    /// The answer as far as it came, clean.
    pub answer: String,
    /// What its marks stand for, clean.
    pub citations: Vec<Citation>,
    /// How likely it is right, where that was measured.
    pub confidence: Option<Confidence>,
    /// Warnings so far.
    pub warnings: Warnings,
    /// Whether the answer was begun.
    pub was_writing: bool,
    /// Whether it is read from the log, which holds no answer that was not finished.
    pub is_recorded: bool,
    /// How it ended; `None` while it goes on.
    pub finish: Option<RunResult>,
    /// Grows when the text of the answer changes: wrapped rows are cached by it.
    pub revision: u64,
}

impl Exchange {
    /// The one that this event begins; `None` when it begins none.
    pub fn begin(event: &Event) -> Option<Self> {
        let EventBody::RunStarted {
            retry_of,
            query,
            within,
            mode,
            forced_route,
            ..
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            id: event.run.clone(),
            retry_of: retry_of.clone(),
            query: sanitize(query).into_owned(),
            within: within.iter().map(|name| one_line(name, 200)).collect(),
            mode: *mode,
            forced: *forced_route,
            planned: None,
            started: event.ts,
            answer: String::new(),
            citations: Vec::new(),
            confidence: None,
            warnings: Warnings::default(),
            was_writing: false,
            is_recorded: false,
            finish: None,
            revision: 0,
        })
    }

    /// Takes the next event, all but the end; `stream` cleans the pieces of the answer.
    pub(super) fn apply(&mut self, body: &EventBody, stream: &mut StreamSanitizer) {
        match body {
            EventBody::NodeEntered { node, .. } => {
                self.was_writing |= *node == NodeName::Synthesize;
            }
            EventBody::RoutingPlan { plan, .. } => self.planned = Some(plan.complexity),
            EventBody::AnswerDelta { text } => {
                let clean = stream.push(text);
                self.answer.push_str(&clean);
                self.revision += 1;
            }
            EventBody::AnswerFinished {
                text,
                citations,
                confidence,
                ..
            } => {
                self.confidence = *confidence;
                self.answer = sanitize(text).into_owned();
                self.citations = citations
                    .iter()
                    .map(|citation| Citation {
                        source: one_line(&citation.source, 400),
                        ..citation.clone()
                    })
                    .collect();
                self.revision += 1;
            }
            EventBody::Warning { code, message } => self.warnings.add(code, message),
            _ => {}
        }
    }

    /// It is over; `tail` is what the stream held back.
    pub(super) fn end(&mut self, tail: &str, finish: RunResult) {
        if self.citations.is_empty() {
            self.answer.push_str(tail);
        }
        self.finish = Some(finish);
        self.revision += 1;
    }

    /// The way it goes, once that is known.
    pub fn complexity(&self) -> Option<Complexity> {
        self.forced.or(self.planned)
    }

    /// Room for text that will not come any more.
    pub(crate) fn shrink(&mut self) {
        self.answer.shrink_to_fit();
        self.citations.shrink_to_fit();
        self.within.shrink_to_fit();
    }
}
