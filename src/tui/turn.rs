//! Questions: those to send, and those that were sent, with their runs and the events that both are
//! folded from.
//!
//! Of every run the conversation keeps what it shows. The rest is open only for the runs that some
//! pane draws or that go on; that of the others is packed, and folded anew when it is looked at.

use std::borrow::Cow;
use std::sync::Arc;

use crate::domain::Complexity;
use crate::protocol::{
    Event, EventBody, EventPacker, PackedEvents, RecordedGradings, RunId, Timestamp,
};

use super::fold::{AuditRow, AuditTrail, Exchange, RunView};
use super::turn_cache::TurnCache;

/// A question and its run.
#[derive(Debug, Clone)]
pub struct TurnView {
    kept: CachedRows,
    /// Where it stands, if its question was asked before.
    pub retry: Option<Retry>,
    /// Its wrapped rows.
    pub cache: TurnCache,
}

#[derive(Debug, Clone)]
enum CachedRows {
    Open(Box<OpenRun>),
    Packed(Arc<PackedRun>),
}

/// A run with all that the panes draw of it.
#[derive(Debug, Clone)]
pub struct OpenRun {
    /// The run.
    pub run: RunView,
    /// Its events for the audit pane.
    pub trail: AuditTrail,
    /// Its events, the pieces of the answer too, to be folded again; what it waited for is over.
    pub events: Vec<Arc<Event>>,
    /// The packed form from which the run was opened.
    packed: Option<Arc<PackedRun>>,
}

/// A run that no pane draws.
#[derive(Debug, Clone)]
struct PackedRun {
    exchange: Exchange,
    /// What decided its gradings, where it had some: other limits are tried on all runs at once.
    gradings: Option<Box<RecordedGradings>>,
    events: PackedEvents,
}

impl TurnView {
    /// The turn that this event begins; `None` when it begins none.
    pub fn begin(event: &Arc<Event>) -> Option<Self> {
        OpenRun::begin(event).map(Self::from_open)
    }

    fn from_open(open: OpenRun) -> Self {
        Self {
            kept: CachedRows::Open(Box::new(open)),
            retry: None,
            cache: TurnCache::default(),
        }
    }

    /// What the conversation shows of it.
    pub fn exchange(&self) -> &Exchange {
        match &self.kept {
            CachedRows::Open(open) => &open.run.exchange,
            CachedRows::Packed(packed) => &packed.exchange,
        }
    }

    /// The whole run, where it is open.
    pub fn opened(&self) -> Option<&OpenRun> {
        match &self.kept {
            CachedRows::Open(open) => Some(open),
            CachedRows::Packed(_) => None,
        }
    }

    /// Opens it; false where it stays packed, because what was packed cannot be read.
    pub fn open(&mut self, packer: &mut EventPacker) -> bool {
        if let CachedRows::Packed(packed) = &self.kept {
            let Some(open) = OpenRun::unpack(packed, packer) else {
                return false;
            };
            self.kept = CachedRows::Open(Box::new(open));
        }
        true
    }

    /// Packs it, if it has ended: the bytes of prompts and replies that are kept of it from now on,
    /// none where they were kept before; `None` where it stays open.
    pub fn close(&mut self, packer: &mut EventPacker) -> Option<usize> {
        let CachedRows::Open(open) = &mut self.kept else {
            return Some(0);
        };
        open.run.finish.as_ref()?;
        let (known, added) = if let Some(earlier) = open.packed.take() {
            (earlier, 0)
        } else {
            let known = PackedRun::pack(open, packer)?;
            let added = known.events.prompts_len();
            (known, added)
        };
        self.kept = CachedRows::Packed(known);
        Some(added)
    }

    /// Packed prompts and replies of it, bytes.
    pub fn prompts_len(&self) -> usize {
        match &self.kept {
            CachedRows::Open(open) => open
                .packed
                .as_ref()
                .map_or(0, |packed| packed.events.prompts_len()),
            CachedRows::Packed(packed) => packed.events.prompts_len(),
        }
    }

    /// Forgets packed prompts and replies; those of an open run are packed again when it is closed.
    /// Returns the bytes that are free then.
    pub fn drop_prompts(&mut self) -> usize {
        let freed = self.prompts_len();
        match &mut self.kept {
            CachedRows::Open(open) => open.packed = None,
            CachedRows::Packed(packed) => Arc::make_mut(packed).events.drop_prompts(),
        }
        freed
    }

    /// Takes the next event of its run; one of a packed run comes after its end, and too late.
    pub fn take(&mut self, event: &Arc<Event>) {
        if let CachedRows::Open(open) = &mut self.kept {
            open.take(event);
        }
    }

    /// It is read from the log.
    pub fn record(&mut self) {
        if let CachedRows::Open(open) = &mut self.kept {
            open.run.exchange.is_recorded = true;
        }
    }

    /// Closes a run whose end will never come.
    pub fn abandon(&mut self, error: &str, now: Timestamp) {
        if let CachedRows::Open(open) = &mut self.kept {
            open.run.abandon(error, now);
        }
    }

    /// Finds out where it stands after these.
    pub fn place_after(&mut self, earlier: &[Self]) {
        let first = self.exchange().retry_of.as_ref();
        self.retry = first.map(|first| Retry::placement(earlier, first));
    }

    /// The turn as it was after these events.
    pub fn from_events(events: &[Arc<Event>]) -> Option<Self> {
        OpenRun::from_events(events).map(Self::from_open)
    }

    /// Tokens both ways so far.
    pub fn tokens(&self) -> u64 {
        match &self.kept {
            CachedRows::Open(open) => open.run.tokens(),
            CachedRows::Packed(packed) => {
                packed.exchange.finish.as_ref().map_or(0, |end| end.tokens)
            }
        }
    }

    /// Its gradings; `None` where a packed run had none.
    pub fn gradings(&self) -> Option<Cow<'_, RecordedGradings>> {
        match &self.kept {
            CachedRows::Open(open) => Some(Cow::Owned(open.gradings())),
            CachedRows::Packed(packed) => packed.gradings.as_deref().map(Cow::Borrowed),
        }
    }
}

impl OpenRun {
    fn begin(event: &Arc<Event>) -> Option<Self> {
        let run = RunView::begin(event)?;
        let mut trail = AuditTrail::default();
        if let Some(row) = AuditRow::from_event(event, &run) {
            trail.push(row);
        }
        Some(Self {
            trail,
            run,
            events: vec![event.clone()],
            packed: None,
        })
    }

    fn unpack(known: &Arc<PackedRun>, packer: &mut EventPacker) -> Option<Self> {
        let events = packer.unpack(&known.events)?.into_iter().map(Arc::new);
        let mut open = Self::from_events(&events.collect::<Vec<_>>())?;
        open.run.end_as(&known.exchange);
        open.packed = Some(known.clone());
        Some(open)
    }

    fn from_events(events: &[Arc<Event>]) -> Option<Self> {
        let (first, rest) = events.split_first()?;
        let mut open = Self::begin(first)?;
        for event in rest {
            open.take(event);
        }
        Some(open)
    }

    fn take(&mut self, event: &Arc<Event>) {
        self.packed = None;
        if let Some(row) = AuditRow::from_event(event, &self.run) {
            self.trail.push(row);
        }
        self.run.apply(event);
        if !matches!(event.body, EventBody::Waiting { .. }) {
            self.events.push(event.clone());
        }
    }

    /// What decided its gradings.
    pub fn gradings(&self) -> RecordedGradings {
        RecordedGradings::from_events(self.events.iter().map(AsRef::as_ref))
    }
}

impl PackedRun {
    fn pack(open: &OpenRun, packer: &mut EventPacker) -> Option<Arc<Self>> {
        let gradings = Some(open.gradings()).filter(|found| !found.rounds.is_empty());
        let mut exchange = open.run.exchange.clone();
        exchange.shrink();
        Some(Arc::new(Self {
            events: packer.pack(&open.events)?,
            gradings: gradings.map(Box::new),
            exchange,
        }))
    }
}

/// A question to send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnQuestion {
    /// The text.
    pub text: String,
    /// The route, if chosen.
    pub route: Option<Complexity>,
    /// The run whose question this is once more, the first of them.
    pub retry_of: Option<RunId>,
}

impl TurnQuestion {
    /// A question that is asked for the first time.
    pub fn new(text: impl Into<String>, route: Option<Complexity>) -> Self {
        let (text, retry_of) = (text.into(), None);
        Self {
            text,
            route,
            retry_of,
        }
    }
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
    /// Tells how a retry is placed: directly below the run it repeats, or apart from it.
    pub fn placement(turns: &[TurnView], first: &RunId) -> Self {
        let at = turns.iter().position(|turn| turn.exchange().id == *first);
        let is_retry = |turn: &TurnView| turn.exchange().retry_of.as_ref() == Some(first);
        match at {
            Some(at) if turns[at + 1..].iter().all(is_retry) => Self::Below,
            _ => Self::Apart,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;

    use super::*;
    use crate::domain::{Citation, GradedRound};

    impl TurnView {
        /// What it keeps in memory, rows aside. Fields are named one by one: none is forgotten.
        pub fn held_bytes(&self) -> usize {
            let Self {
                kept,
                retry: _,
                cache: _,
            } = self;
            let CachedRows::Packed(packed) = kept else {
                return usize::MAX;
            };
            let PackedRun {
                exchange,
                gradings,
                events,
            } = &**packed;
            let gradings = gradings.as_ref().map_or(0, |gradings| {
                let RecordedGradings {
                    limits: _,
                    complexity: _,
                    rounds,
                } = &**gradings;
                let grades = rounds.iter().map(|round| size_of_val(&*round.grades));
                size_of::<RecordedGradings>()
                    + rounds.capacity() * size_of::<GradedRound>()
                    + grades.sum::<usize>()
            });
            let of_packed = size_of::<PackedRun>() + exchange_bytes(exchange) + gradings;
            // The name of the run is kept with its events too.
            size_of::<Self>()
                + of_packed
                + events.len()
                + events.prompts_len()
                + exchange.id.0.len()
        }
    }

    fn exchange_bytes(exchange: &Exchange) -> usize {
        let Exchange {
            id,
            retry_of,
            query,
            within,
            mode: _,
            forced: _,
            planned: _,
            started: _,
            answer,
            citations,
            confidence: _,
            warnings,
            was_writing: _,
            is_recorded: _,
            finish,
            revision: _,
        } = exchange;
        let retry_of = retry_of.as_ref().map_or(0, |run| run.0.len());
        let within = within.iter().map(String::capacity).sum::<usize>();
        let texts = citations.iter().map(|citation| {
            let quoted = citation.quoted.capacity() * size_of::<crate::domain::LineRange>();
            citation.id.0.len() + citation.source.capacity() + quoted
        });
        let error = finish.as_ref().and_then(|finish| finish.error.as_ref());
        id.0.len()
            + retry_of
            + query.capacity()
            + within
            + answer.capacity()
            + citations.capacity() * size_of::<Citation>()
            + texts.sum::<usize>()
            + format!("{warnings:?}").len()
            + error.map_or(0, String::capacity)
    }
}
