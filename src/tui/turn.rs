//! A question, its run, and the events that both are folded from.

use std::sync::Arc;

use crate::protocol::Event;

use super::fold::{AuditRow, RunView};
use super::panes::chat::TurnCache;

/// A question and its run.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The run.
    pub run: RunView,
    /// Its events for the audit pane.
    pub trail: Vec<AuditRow>,
    /// All its events, the pieces of the answer too, to be folded again.
    pub events: Vec<Arc<Event>>,
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
            cache: TurnCache::default(),
        })
    }

    /// Takes the next event of its run.
    pub fn take(&mut self, event: &Arc<Event>) {
        self.trail.extend(AuditRow::of(event, &self.run));
        self.run.apply(event);
        self.events.push(event.clone());
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
