use serde::Serialize;

use super::{
    Branches, CostDetails, Event, EventBody, Mode, QuestionPlace, Rerun, RunId, Timestamp,
};
use crate::domain::{Complexity, ConfidenceLevel, Outcome};

/// One line about a run: what its first and its last event say.
///
/// Its serde form is a line of `runs --json`. What was not recorded is `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunSummary {
    /// Which run.
    pub id: RunId,
    /// The conversation it belongs to.
    pub session: String,
    /// Whether it was asked by itself, outside any conversation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub single: bool,
    /// The run whose question it asked once more.
    pub retry_of: Option<RunId>,
    /// The first run of the question that its own stands for, edited.
    pub edit_of: Option<RunId>,
    /// The first run of the question that its own follows, where that is not the one asked last.
    pub after: Option<RunId>,
    /// Where it began, if at a node of another run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun: Option<Box<Rerun>>,
    /// When it began.
    pub time: Timestamp,
    /// The question as it was recorded.
    pub question: String,
    /// Which engine thought.
    pub mode: Mode,
    /// Its model, or the offline engine's name.
    pub model: String,
    /// The route the user chose.
    pub forced_route: Option<Complexity>,
    /// The route; `None` where the run ended before it was decided, or has not ended.
    pub route: Option<Complexity>,
    /// How it ended; `None` where no end was recorded.
    pub outcome: Option<Outcome>,
    /// How likely the answer is right, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_level: Option<ConfidenceLevel>,
    /// Reasoning calls made.
    pub calls: Option<u32>,
    /// Reasoning calls of the full pipeline that were not needed; `None` of a run that broke off too:
    /// what it left undone was not saved.
    pub saved: Option<u32>,
    /// Milliseconds from start to end.
    pub ms: Option<f64>,
    /// Why it failed.
    pub error: Option<String>,
}

impl RunSummary {
    /// The words that lines of the log hold which this is made from.
    pub const MADE_FROM: [&str; 3] = [
        "\"run_started\"",
        "\"confidence_level\"",
        "\"run_finished\"",
    ];

    /// The run that this event begins; `None` when it begins none.
    pub fn begin(event: &Event) -> Option<Self> {
        let EventBody::RunStarted {
            session,
            single,
            place,
            rerun,
            query,
            mode,
            model,
            forced_route,
            ..
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            id: event.run.clone(),
            session: session.clone(),
            single: *single,
            retry_of: place.retry_of.clone(),
            edit_of: place.edit_of.clone(),
            after: place.after.clone(),
            rerun: rerun.clone(),
            time: event.ts,
            question: query.clone(),
            mode: *mode,
            model: model.clone(),
            forced_route: *forced_route,
            ..Self::default()
        })
    }

    /// Where its question stands in the conversation.
    pub fn place(&self) -> QuestionPlace {
        QuestionPlace {
            retry_of: self.retry_of.clone(),
            edit_of: self.edit_of.clone(),
            after: self.after.clone(),
        }
    }

    /// The branches of the conversation of these runs, which are in the order in which they began.
    pub fn branches<'a>(runs: impl IntoIterator<Item = &'a Self>) -> Branches {
        let mut branches = Branches::default();
        for run in runs {
            branches.add(&run.id, &run.place());
        }
        branches
    }

    /// Takes the next event of this run.
    pub fn apply(&mut self, event: &Event) {
        if let EventBody::AnswerFinished {
            confidence_level, ..
        } = &event.body
        {
            self.confidence_level = *confidence_level;
        }
        if let Some(end) = RunEnd::from_body(&event.body) {
            self.route = end.route;
            self.outcome = Some(end.outcome);
            self.calls = Some(end.calls);
            self.saved = end.saved_if_complete();
            self.ms = Some(end.ms);
            self.error = end.error;
        }
    }
}

/// What the last event of a run says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// How it ended.
    pub outcome: Outcome,
    /// The route; unknown when it ended before that was decided.
    pub route: Option<Complexity>,
    /// Reasoning calls made.
    pub calls: u32,
    /// Calls of the full pipeline that were not needed.
    pub saved: u32,
    /// Tokens sent.
    pub sent: u64,
    /// Tokens received.
    pub received: u64,
    /// What else is known of the cost.
    pub spent: CostDetails,
    /// Milliseconds from start to end.
    pub ms: f64,
    /// Why it failed, as it was recorded.
    pub error: Option<String>,
}

impl RunEnd {
    /// What this event says; `None` where it ends no run.
    pub fn from_body(body: &EventBody) -> Option<Self> {
        let EventBody::RunFinished {
            outcome,
            complexity,
            reasoning_calls,
            calls_saved,
            prompt_tokens,
            completion_tokens,
            spent,
            ms,
            error,
            ..
        } = body
        else {
            return None;
        };
        Some(Self {
            outcome: *outcome,
            route: *complexity,
            calls: *reasoning_calls,
            saved: *calls_saved,
            sent: *prompt_tokens,
            received: *completion_tokens,
            spent: *spent,
            ms: *ms,
            error: error.clone(),
        })
    }

    /// Tokens both ways.
    pub fn tokens(&self) -> u64 {
        self.sent.saturating_add(self.received)
    }

    /// What was saved; `None` of a run that broke off: what it left undone was not saved.
    pub fn saved_if_complete(&self) -> Option<u32> {
        self.outcome.is_complete().then_some(self.saved)
    }
}
