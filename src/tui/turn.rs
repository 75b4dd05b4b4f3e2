//! Questions: those to send, and those that were sent, with their runs and the events that both are
//! folded from.

use std::sync::Arc;

use crate::domain::Complexity;
use crate::protocol::{Event, EventBody, RunId};

use super::fold::{AuditRow, RunView};
use super::panes::chat::TurnCache;

/// A question and its run.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The run.
    pub run: RunView,
    /// Its events for the audit pane.
    pub trail: Vec<AuditRow>,
    /// Its events, the pieces of the answer too, to be folded again; what it waited for is over.
    pub events: Vec<Arc<Event>>,
    /// Where it stands, if its question was asked before.
    pub retry: Option<Retry>,
    /// Its wrapped rows.
    pub cache: TurnCache,
}

impl Turn {
    /// The turn that this event begins; `None` when it begins none.
    pub fn begin(event: &Arc<Event>) -> Option<Self> {
        let run = RunView::begin(event)?;
        Some(Self {
            trail: AuditRow::of(event, &run).into_iter().collect(),
            run,
            events: vec![event.clone()],
            retry: None,
            cache: TurnCache::default(),
        })
    }

    /// Takes the next event of its run.
    pub fn take(&mut self, event: &Arc<Event>) {
        self.trail.extend(AuditRow::of(event, &self.run));
        self.run.apply(event);
        if !matches!(event.body, EventBody::Waiting { .. }) {
            self.events.push(event.clone());
        }
    }

    /// Finds out where it stands after these.
    pub fn place_after(&mut self, earlier: &[Self]) {
        let first = self.run.retry_of.as_ref();
        self.retry = first.map(|first| Retry::after(earlier, first));
    }

    /// The turn as it was after these events.
    pub fn after(events: &[Arc<Event>]) -> Option<Self> {
        let (first, rest) = events.split_first()?;
        let mut turn = Self::begin(first)?;
        for event in rest {
            turn.take(event);
        }
        Some(turn)
    }
}

/// A question to send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The text.
    pub text: String,
    /// The route, if chosen.
    pub route: Option<Complexity>,
    /// The run whose question this is once more, the first of them.
    pub retry_of: Option<RunId>,
}

/// Where a retry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Below its question, with other retries of it at most between them.
    Below,
    /// After other questions.
    Apart,
}

impl Retry {
    /// Of that run, after these.
    pub fn after(turns: &[Turn], first: &RunId) -> Self {
        let at = turns.iter().position(|turn| turn.run.id == *first);
        let is_retry = |turn: &Turn| turn.run.retry_of.as_ref() == Some(first);
        match at {
            Some(at) if turns[at + 1..].iter().all(is_retry) => Self::Below,
            _ => Self::Apart,
        }
    }
}
