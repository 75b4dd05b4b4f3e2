use serde::{Deserialize, Serialize};

use crate::domain::{Complexity, ConfidenceLevel, Outcome};
use crate::protocol::{Event, EventBody, Mode, RunEnd, RunFigures, RunId, RunSummary, Timestamp};

/// Where a run stands in one part of the log, what its first and last lines there say, and what is
/// counted of it there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stretch {
    /// The run.
    pub(super) run: RunId,
    /// Where its first line begins.
    pub(super) from: u64,
    begun: Option<Begun>,
    ended: Option<StretchEnd>,
    /// How likely its answer is right, where that was measured.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    level: Option<ConfidenceLevel>,
    /// What is counted of it.
    #[serde(rename = "f")]
    pub(super) figures: RunFigures,
}

/// Session, retry of, time, question, mode, model, forced route: in this order, since an index has
/// many of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Begun(
    String,
    Option<RunId>,
    u64,
    String,
    Mode,
    String,
    Option<Complexity>,
);

/// Where its last line ends, route, outcome, calls, saved, milliseconds, error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StretchEnd(
    u64,
    Option<Complexity>,
    Option<Outcome>,
    Option<u32>,
    Option<u32>,
    Option<f64>,
    Option<String>,
);

impl Stretch {
    /// A run whose first line of those that count begins there.
    pub(super) fn new(run: RunId, from: u64) -> Self {
        Self {
            run,
            from,
            begun: None,
            ended: None,
            level: None,
            figures: RunFigures::default(),
        }
    }

    /// Takes an event of the run, whose line stands there.
    pub(super) fn take(&mut self, event: &Event, from: u64, to: u64) {
        self.figures.take(&event.body);
        match &event.body {
            EventBody::RunStarted { .. } if self.begun.is_none() => {
                self.from = from.min(self.from);
                // What stands before its beginning is none of it.
                self.figures = RunFigures::default();
                self.begun = RunSummary::begin(event).map(|run| {
                    Begun(
                        run.session,
                        run.retry_of,
                        run.time.0,
                        run.question,
                        run.mode,
                        run.model,
                        run.forced_route,
                    )
                });
            }
            EventBody::AnswerFinished {
                confidence_level, ..
            } => self.level = *confidence_level,
            EventBody::RunFinished { .. } => {
                self.ended = RunEnd::from_body(&event.body).map(|end| {
                    StretchEnd(
                        to,
                        end.route,
                        Some(end.outcome),
                        Some(end.calls),
                        end.saved_if_complete(),
                        Some(end.ms),
                        end.error.map(str::to_owned),
                    )
                });
            }
            _ => {}
        }
    }

    /// When it began, if that is here.
    pub(super) fn begun_at(&self) -> Option<Timestamp> {
        self.begun.as_ref().map(|begun| Timestamp(begun.2))
    }

    /// Where its last line ends, if that is here.
    pub(super) fn ends_at(&self) -> Option<u64> {
        self.ended.as_ref().map(|ended| ended.0)
    }

    /// The run, if it begins here.
    pub(super) fn summary(&self) -> Option<RunSummary> {
        let Begun(session, retry_of, time, question, mode, model, forced_route) =
            self.begun.clone()?;
        let mut run = RunSummary {
            id: self.run.clone(),
            session,
            retry_of,
            time: Timestamp(time),
            question,
            mode,
            model,
            forced_route,
            route: None,
            outcome: None,
            confidence_level: None,
            calls: None,
            saved: None,
            ms: None,
            error: None,
        };
        self.end(&mut run);
        Some(run)
    }

    /// Adds to the run what is known here of its end.
    pub(super) fn end(&self, run: &mut RunSummary) {
        run.confidence_level = self.level.or(run.confidence_level);
        if let Some(StretchEnd(_, route, outcome, calls, saved, ms, error)) = &self.ended {
            run.route = *route;
            run.outcome = *outcome;
            run.calls = *calls;
            run.saved = *saved;
            run.ms = *ms;
            run.error.clone_from(error);
        }
    }
}
