use super::{CostDetails, EventBody};
use crate::domain::{Complexity, Outcome};

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
