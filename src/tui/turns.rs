//! The turns of a conversation, of which few are open at a time.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::domain::{Complexity, LabelTarget, LabelVerdict};
use crate::protocol::{
    Branches, Event, EventBody, Fork, PackedEvents, QuestionPlace, RecordedGradings, RerunRequest,
    RunId, RunLabels, Timestamp,
};

use super::fold::{AuditRow, Exchange, RunView};
use super::ink::Row;
use super::markdown::CodeCache;
use super::rerun_plan::RerunPlan;

/// So much is kept of what was sent to models and came back, packed, in bytes: a few hundred runs.
/// It is longer than all else that is known of a run.
const MOST_PROMPTS: usize = 4 << 20;

/// Columns before the text of a turn.
pub const GUTTER: usize = 7;

/// All turns of a conversation, those of the branch that is shown apart from the others.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    /// Turns of the branch that is shown, in the order in which they were asked.
    shown: Vec<TurnView>,
    /// Turns of other branches, in the same order.
    hidden: Vec<TurnView>,
    branches: Branches,
    /// How many runs were packed so far.
    packed: usize,
}

impl Turns {
    /// The turns of the branch that is shown, in the order in which they were asked.
    pub fn current(&self) -> &[TurnView] {
        &self.shown
    }

    /// The turns of the branch that is shown, to be changed.
    pub fn current_mut(&mut self) -> &mut [TurnView] {
        &mut self.shown
    }

    /// The turns of all branches, those of the branch that is shown first.
    pub fn all(&self) -> impl Iterator<Item = &TurnView> + Clone {
        self.shown.iter().chain(&self.hidden)
    }

    /// The turns of all branches, to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut TurnView> {
        self.shown.iter_mut().chain(&mut self.hidden)
    }

    /// The turn of this run, in whatever branch.
    pub fn by_run(&self, run: &RunId) -> Option<&TurnView> {
        let mut turns = self.hidden.iter().chain(&self.shown);
        turns.rfind(|turn| turn.exchange().id == *run)
    }

    /// The turn of this run, in whatever branch, to be changed.
    pub fn by_run_mut(&mut self, run: &RunId) -> Option<&mut TurnView> {
        let mut turns = self.hidden.iter_mut().chain(&mut self.shown);
        turns.rfind(|turn| turn.exchange().id == *run)
    }

    /// Takes the turn that was asked last; its branch is shown from now on. Returns whether that is
    /// another one than before.
    pub fn push(&mut self, mut turn: TurnView) -> bool {
        let exchange = turn.exchange();
        self.branches.add(&exchange.id, &exchange.place);
        turn.number = self.shown.len() + self.hidden.len();
        turn.place_after(&self.shown);
        self.shown.push(turn);
        if !self.branches.is_forked() {
            return false;
        }
        let numbers = |turns: &[TurnView]| turns.iter().map(|turn| turn.number).collect::<Vec<_>>();
        let before = numbers(&self.shown);
        self.show_branch();
        numbers(&self.shown) != before
    }

    /// Tokens both ways so far, over all branches.
    pub fn tokens(&self) -> u64 {
        let tokens = self.all().map(TurnView::tokens);
        tokens.fold(0, u64::saturating_add)
    }

    /// Where the next question stands if it follows what is shown.
    pub fn next_place(&self) -> QuestionPlace {
        self.branches.next_place()
    }

    /// Which question of its branch the turn at this index asks, from 1.
    pub fn number_of_question(&self, at: usize) -> Option<usize> {
        let first = self.shown.get(at)?.exchange().first_run();
        let questions = self.branches.shown_questions().into_iter();
        let before = questions.take_while(|question| *question != first);
        Some(before.count() + 1)
    }

    /// Where the question of this number, from 1, is asked first in the branch that is shown.
    pub fn place_of_question(&self, number: usize) -> Option<usize> {
        let first = self
            .branches
            .shown_questions()
            .into_iter()
            .nth(number.checked_sub(1)?)?;
        let is_it = |turn: &TurnView| turn.exchange().first_run() == first;
        self.shown.iter().position(is_it)
    }

    /// Shows the branch so many after the one that parts nearest at or above this turn. Returns where
    /// it parts; `None` where there is one branch.
    pub fn step_branch(&mut self, at: usize, by: isize) -> Option<usize> {
        let upwards = self.shown.get(..=at)?.iter().rev();
        let first = upwards
            .map(|turn| turn.exchange().first_run())
            .find(|first| self.branches.fork_at(first).is_some())?;
        let beside = self.branches.sibling(first, by)?.clone();
        self.show_question(&beside)
    }

    /// Shows the branch of this run, if it is not shown. Returns its place.
    pub fn show_run(&mut self, run: &RunId) -> Option<usize> {
        let is_it = |turn: &TurnView| turn.exchange().id == *run;
        if let Some(turn) = self.hidden.iter().find(|turn| is_it(turn)) {
            let first = turn.exchange().first_run().clone();
            self.show_question(&first);
        }
        self.shown.iter().position(is_it)
    }

    fn show_question(&mut self, first: &RunId) -> Option<usize> {
        self.branches.show(first);
        self.show_branch();
        let is_it = |turn: &TurnView| turn.exchange().first_run() == first;
        self.shown.iter().position(is_it)
    }

    /// Parts the turns of the branch that is shown from the others, and tells each where branches part.
    fn show_branch(&mut self) {
        let questions: HashSet<RunId> = self
            .branches
            .shown_questions()
            .into_iter()
            .cloned()
            .collect();
        let mut all = std::mem::take(&mut self.shown);
        all.append(&mut self.hidden);
        all.sort_by_key(|turn| turn.number);
        for mut turn in all {
            let first = turn.exchange().first_run();
            if questions.contains(first) {
                let fork = self.branches.fork_at(first);
                let fork = fork.filter(|_| turn.exchange().place.retry_of.is_none());
                turn.place_after(&self.shown);
                turn.set_fork(fork);
                self.shown.push(turn);
            } else {
                turn.close();
                turn.cache = TurnCache::default();
                self.hidden.push(turn);
            }
        }
    }

    /// Removes all turns.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Opens the turn at this index.
    pub fn open(&mut self, at: usize) {
        if let Some(turn) = self.shown.get_mut(at) {
            turn.open();
        }
    }

    /// Opens those that are given, and packs the others that have ended.
    pub fn keep_open(&mut self, needed: &[Option<usize>]) {
        for at in needed.iter().flatten() {
            self.open(*at);
        }
        let before = self.packed;
        for (at, turn) in self.shown.iter_mut().enumerate() {
            if turn.opened().is_some() && !needed.contains(&Some(at)) {
                turn.close();
                if turn.opened().is_none() {
                    self.packed += 1;
                    turn.packed_as = self.packed;
                }
            }
        }
        if self.packed > before {
            self.bound_prompts();
        }
    }

    /// Forgets prompts and replies of the runs that were looked at least recently.
    fn bound_prompts(&mut self) {
        let mut kept: usize = self.all().map(TurnView::prompts_len).sum();
        if kept <= MOST_PROMPTS {
            return;
        }
        let mut turns: Vec<&mut TurnView> = self.all_mut().collect();
        turns.sort_by_key(|turn| turn.packed_as);
        for turn in turns {
            if kept > MOST_PROMPTS {
                kept -= turn.drop_prompts();
            }
        }
    }

    /// The events of a turn. Of one that began at a node of another run, those of that one up to the node
    /// come first, if they are known.
    pub fn events_with_earlier(&mut self, at: usize) -> Vec<Arc<Event>> {
        self.open(at);
        let Some(turn) = self.shown.get(at) else {
            return Vec::new();
        };
        let events = turn.events();
        RerunRequest::with_earlier(events, |run| {
            let earlier = self.by_run(run);
            earlier.map_or_else(Vec::new, TurnView::events)
        })
    }

    /// The last run that has not ended and goes on.
    pub fn going_on(&self) -> Option<&Exchange> {
        let mut exchanges = self
            .shown
            .iter()
            .rev()
            .chain(&self.hidden)
            .map(TurnView::exchange);
        exchanges.find(|one| one.finish.is_none() && !one.is_recorded)
    }

    /// Where that run stands, if it is open.
    pub fn place_of_open(&self, run: &RunId) -> Option<usize> {
        let is_it = |turn: &TurnView| turn.opened().is_some_and(|open| open.run.id == *run);
        self.shown.iter().position(is_it)
    }

    /// What people said of that run.
    pub fn labels_of(&self, run: &RunId) -> Option<&RunLabels> {
        self.by_run(run).map(TurnView::labels)
    }

    /// Returns the run if it is open.
    pub fn opened(&self, run: &RunId) -> Option<&OpenRun> {
        self.shown[self.place_of_open(run)?].opened()
    }
}

impl From<Vec<TurnView>> for Turns {
    fn from(all: Vec<TurnView>) -> Self {
        let mut turns = Self::default();
        for turn in all {
            turns.push(turn);
        }
        turns.bound_prompts();
        turns
    }
}

// Questions: those to send, and those that were sent, with their runs and the events that both are
// folded from.
//
// Of every run the conversation keeps what it shows. The rest is open only for the runs that some
// pane draws or that go on; that of the others is packed, and folded anew when it is looked at.

/// A question and its run.
#[derive(Debug, Clone)]
pub struct TurnView {
    kept: TurnRun,
    /// Where it stands, if its question was asked before.
    pub retry: Option<Retry>,
    /// Which of several branches it begins.
    pub fork: Option<Fork>,
    /// Its place among all turns in the order in which they were asked.
    number: usize,
    /// Its wrapped rows.
    pub cache: TurnCache,
    labels: RunLabels,
    /// The number under which it was packed last.
    packed_as: usize,
}

#[derive(Debug, Clone)]
enum TurnRun {
    Open(Box<OpenRun>),
    Packed(Arc<PackedRun>),
}

/// A run with all that the panes draw of it.
#[derive(Debug, Clone)]
pub struct OpenRun {
    /// The run.
    pub run: RunView,
    /// Its events for the audit pane.
    pub trail: Vec<AuditRow>,
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
            kept: TurnRun::Open(Box::new(open)),
            retry: None,
            fork: None,
            number: 0,
            cache: TurnCache::default(),
            labels: RunLabels::default(),
            packed_as: 0,
        }
    }

    /// What the conversation shows of it.
    pub fn exchange(&self) -> &Exchange {
        match &self.kept {
            TurnRun::Open(open) => &open.run.exchange,
            TurnRun::Packed(packed) => &packed.exchange,
        }
    }

    /// What people said of it.
    pub fn labels(&self) -> &RunLabels {
        &self.labels
    }

    /// Takes a label; its rows are laid out anew.
    pub fn label(&mut self, target: LabelTarget, verdict: LabelVerdict) {
        self.labels.set(target, verdict);
        self.cache = TurnCache::default();
    }

    /// Takes all labels of its run.
    pub fn put_labels(&mut self, labels: RunLabels) {
        self.labels = labels;
        self.cache = TurnCache::default();
    }

    /// The whole run, where it is open.
    pub fn opened(&self) -> Option<&OpenRun> {
        match &self.kept {
            TurnRun::Open(open) => Some(open),
            TurnRun::Packed(_) => None,
        }
    }

    /// Its events; none where what was packed cannot be read.
    fn events(&self) -> Vec<Arc<Event>> {
        match &self.kept {
            TurnRun::Open(open) => open.events.clone(),
            TurnRun::Packed(closed) => {
                let events = closed.events.unpack().into_iter().flatten();
                events.map(Arc::new).collect()
            }
        }
    }

    /// Opens it; it stays packed where what was packed cannot be read.
    fn open(&mut self) {
        if let TurnRun::Packed(packed) = &self.kept
            && let Some(open) = OpenRun::unpack(packed)
        {
            self.kept = TurnRun::Open(Box::new(open));
        }
    }

    /// Packs it, if it has ended.
    pub fn close(&mut self) {
        if let TurnRun::Open(open) = &mut self.kept
            && open.run.finish.is_some()
            && let Some(packed) = open.packed.take().or_else(|| PackedRun::pack(open))
        {
            self.kept = TurnRun::Packed(packed);
        }
    }

    /// Packed prompts and replies of it, bytes.
    fn prompts_len(&self) -> usize {
        match &self.kept {
            TurnRun::Open(open) => {
                let packed = open.packed.as_ref();
                packed.map_or(0, |packed| packed.events.prompts_len())
            }
            TurnRun::Packed(packed) => packed.events.prompts_len(),
        }
    }

    /// Forgets packed prompts and replies; those of an open run are packed again when it is closed.
    /// Returns the bytes that are free then.
    fn drop_prompts(&mut self) -> usize {
        let freed = self.prompts_len();
        match &mut self.kept {
            TurnRun::Open(open) => open.packed = None,
            TurnRun::Packed(packed) => Arc::make_mut(packed).events.drop_prompts(),
        }
        freed
    }

    /// Takes the next event of its run; one of a packed run comes after its end, and too late.
    pub fn take(&mut self, event: &Arc<Event>) {
        if let TurnRun::Open(open) = &mut self.kept {
            open.take(event);
        }
    }

    /// It is read from the log.
    pub fn record(&mut self) {
        if let TurnRun::Open(open) = &mut self.kept {
            open.run.exchange.is_recorded = true;
        }
    }

    /// Closes a run whose end will never come.
    pub fn abandon(&mut self, error: &str, now: Timestamp) {
        if let TurnRun::Open(open) = &mut self.kept {
            open.run.abandon(error, now);
        }
    }

    /// Places a retry relative to the turns before it.
    fn place_after(&mut self, earlier: &[Self]) {
        let first = self.exchange().place.retry_of.as_ref();
        let retry = first.map(|first| Retry::placement(earlier, first));
        if std::mem::replace(&mut self.retry, retry) != retry {
            self.cache = TurnCache::default();
        }
    }

    fn set_fork(&mut self, fork: Option<Fork>) {
        if std::mem::replace(&mut self.fork, fork) != fork {
            self.cache = TurnCache::default();
        }
    }

    /// The turn as it was after these events.
    pub fn from_events(events: &[Arc<Event>]) -> Option<Self> {
        OpenRun::from_events(events).map(Self::from_open)
    }

    /// Tokens both ways so far.
    pub fn tokens(&self) -> u64 {
        match &self.kept {
            TurnRun::Open(open) => open.run.tokens(),
            TurnRun::Packed(packed) => packed.exchange.finish.as_ref().map_or(0, |end| end.tokens),
        }
    }

    /// Its gradings; `None` where a packed run had none.
    pub fn gradings(&self) -> Option<Cow<'_, RecordedGradings>> {
        match &self.kept {
            TurnRun::Open(open) => Some(Cow::Owned(open.gradings())),
            TurnRun::Packed(packed) => packed.gradings.as_deref().map(Cow::Borrowed),
        }
    }
}

impl OpenRun {
    fn begin(event: &Arc<Event>) -> Option<Self> {
        let run = RunView::begin(event)?;
        let mut trail = Vec::new();
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

    fn unpack(known: &Arc<PackedRun>) -> Option<Self> {
        let events = known.events.unpack()?.into_iter().map(Arc::new);
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
    fn pack(open: &OpenRun) -> Option<Arc<Self>> {
        let gradings = Some(open.gradings()).filter(|found| found.routed.is_some());
        let mut exchange = open.run.exchange.clone();
        exchange.shrink();
        Some(Arc::new(Self {
            events: PackedEvents::pack(&open.events)?,
            gradings: gradings.map(Box::new),
            exchange,
        }))
    }
}

/// A question to send.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnQuestion {
    /// The text.
    pub text: String,
    /// The route, if chosen.
    pub route: Option<Complexity>,
    /// Where it stands in the conversation; one of which nothing is said follows what is shown when it
    /// is sent.
    pub place: QuestionPlace,
    /// The plan by which its run begins at a node of an earlier one.
    pub rerun: Option<Box<RerunPlan>>,
}

impl TurnQuestion {
    /// A question that is asked for the first time.
    pub fn new(text: impl Into<String>, route: Option<Complexity>) -> Self {
        Self {
            text: text.into(),
            route,
            place: QuestionPlace::default(),
            rerun: None,
        }
    }
}

/// An earlier question that is being edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionEdit {
    /// The first run of the question.
    pub first: RunId,
    /// Its number in the branch that is shown, from 1.
    pub number: usize,
    /// What was typed before.
    pub typed: String,
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
        let is_retry = |turn: &TurnView| turn.exchange().place.retry_of.as_ref() == Some(first);
        match at {
            Some(at) if turns[at + 1..].iter().all(is_retry) => Self::Below,
            _ => Self::Apart,
        }
    }
}

/// Wrapped rows of a turn.
#[derive(Debug, Clone, Default)]
pub struct TurnCache {
    /// Columns that they were wrapped for.
    pub width: usize,
    /// Revision of the exchange from which the rows were made.
    pub revision: u64,
    /// The rows; none before they are laid out.
    pub rows: Vec<Row>,
    /// What was read of the code in the answer while it grows.
    pub code: CodeCache,
}

impl TurnCache {
    /// The rows, where they are those of this text at this width.
    pub fn rows(&self, exchange: &Exchange, width: usize) -> Option<&[Row]> {
        let is_it = self.width == width && self.revision == exchange.revision;
        (is_it && !self.rows.is_empty()).then_some(&*self.rows)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::NodeName;
    use crate::protocol::{Event, EventBody};

    /// A run as it was recorded, under another name.
    fn recorded(at: usize) -> Vec<Arc<Event>> {
        let lines = include_str!("../../tests/it/fixtures/picture.jsonl").lines();
        let run = RunId(format!("0199a1b2-0000-7000-8000-{at:012}").into());
        let events = lines.map(|line| {
            let event: Event = serde_json::from_str(line).unwrap();
            Arc::new(Event {
                run: run.clone(),
                ..event
            })
        });
        events.collect()
    }

    fn conversation(count: usize) -> Turns {
        let mut turns = Turns::default();
        for at in 0..count {
            turns.push(TurnView::from_events(&recorded(at)).unwrap());
            turns.keep_open(&[Some(at)]);
        }
        turns
    }

    /// Of 5 000 questions with their answers, 10 000 messages, no more than 60 MB.
    #[test]
    fn ui_a_question_that_is_not_looked_at_keeps_less_than_12_kb() {
        let turns = conversation(100);
        let open: Vec<_> = (0..100)
            .filter(|at| turns.current()[*at].opened().is_some())
            .collect();
        assert_eq!(open, [99]);
        let packed = turns.current()[..99].iter().map(TurnView::held_bytes);
        let most = packed.max().unwrap();
        assert!(most < 12_000, "{most} bytes");
    }

    #[test]
    fn ui_a_run_that_is_looked_at_again_is_what_it_was() {
        let mut turns = conversation(3);
        let whole = TurnView::from_events(&recorded(1)).unwrap();
        let whole = whole.opened().unwrap();
        for _ in 0..2 {
            assert_eq!(turns.current()[1].exchange(), &whole.run.exchange);
            assert_eq!(
                turns.current()[1].gradings().as_deref(),
                Some(&whole.gradings())
            );
            turns.open(1);
            let open = turns.opened(&whole.run.id).unwrap();
            assert_eq!(open.events, whole.events);
            assert_eq!(open.trail, whole.trail);
            assert_eq!(turns.tokens(), 3 * whole.run.tokens());
            assert_eq!(open.run.exchange, whole.run.exchange);
            let rows = |open: &OpenRun| open.run.evidence.rows().cloned().collect::<Vec<_>>();
            assert_eq!(rows(open), rows(whole));
            turns.keep_open(&[Some(2)]);
        }
    }

    /// A run of an endpoint, with prompts that hold other documents in every run.
    fn endpoint(at: usize, length: usize) -> Vec<Arc<Event>> {
        let mut events = recorded(at);
        let mut number = at as u64 + 1;
        let documents = std::iter::repeat_with(|| {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            format!("{number:x} ")
        });
        let last = events.last().unwrap().clone();
        let body = EventBody::ModelCalled {
            node: NodeName::Synthesize,
            call: 0,
            model: "m".to_owned(),
            ms: 1.0,
            prompt_tokens: None,
            completion_tokens: None,
            retries: 0,
            prompt: Some(documents.take(length / 17).collect()),
            reply: Some(format!("reply {at}")),
        };
        let called = Event {
            body,
            ..Event::clone(&last)
        };
        events.insert(events.len() - 1, Arc::new(called));
        events
    }

    #[test]
    fn ui_prompts_are_kept_of_the_runs_that_were_looked_at_last() {
        let mut turns = Turns::default();
        let count = 80;
        for at in 0..count {
            turns.push(TurnView::from_events(&endpoint(at, 200_000)).unwrap());
            // The first is looked at now and then.
            turns.keep_open(&[at, if at % 8 == 0 { 0 } else { at }].map(Some));
        }
        turns.keep_open(&[]);
        let kept = |turn: &TurnView| turn.held_bytes() > 50_000;
        assert!(
            !kept(&turns.current()[1])
                && !kept(&turns.current()[8])
                && kept(&turns.current()[count - 1])
        );
        assert!(kept(&turns.current()[0]));
        let prompts: usize = turns.current().iter().map(TurnView::held_bytes).sum();
        assert!(prompts < MOST_PROMPTS + count * 12_000, "{prompts} bytes");

        turns.open(count - 1);
        let whole = endpoint(count - 1, 200_000);
        assert_eq!(turns.current()[count - 1].opened().unwrap().events, whole);
        turns.open(1);
        let mut without: Vec<Event> = endpoint(1, 200_000).iter().map(|e| (**e).clone()).collect();
        without.iter_mut().for_each(Event::drop_prompts);
        let events = &turns.current()[1].opened().unwrap().events;
        assert!(events.iter().map(|event| &**event).eq(&without));
    }

    #[test]
    fn ui_prompts_of_a_resumed_conversation_are_bounded_too() {
        let closed = (0..80).map(|at| {
            let mut turn = TurnView::from_events(&endpoint(at, 200_000)).unwrap();
            turn.close();
            assert!(turn.prompts_len() > 50_000);
            turn
        });
        let turns = Turns::from(closed.collect::<Vec<_>>());
        let held: usize = turns.current().iter().map(TurnView::held_bytes).sum();
        assert!(held < MOST_PROMPTS + 80 * 12_000, "{held} bytes");
        assert!(
            turns.current()[0].held_bytes() < 12_000 && turns.current()[79].held_bytes() > 50_000
        );
    }

    /// The log does not hold an end; the screen said so once, and says so again.
    #[test]
    fn ui_a_run_without_an_end_keeps_the_end_that_it_was_given() {
        let mut events = recorded(0);
        events.pop();
        let mut turn = TurnView::from_events(&events).unwrap();
        turn.record();
        turn.abandon("no end is recorded", events.last().unwrap().ts);
        let before = turn.exchange().clone();
        let elapsed = turn.opened().map(|open| open.run.elapsed(events[0].ts));
        let mut turns = Turns::from(vec![turn]);
        turns.keep_open(&[]);
        assert!(turns.current()[0].opened().is_none());
        turns.open(0);
        assert_eq!(turns.current()[0].exchange(), &before);
        let open = turns.current()[0].opened();
        assert_eq!(open.map(|open| open.run.elapsed(events[0].ts)), elapsed);
    }

    #[test]
    fn ui_a_run_that_goes_on_is_not_packed() {
        let mut events = recorded(0);
        let end = events.pop().unwrap();
        let mut turns = Turns::from(vec![TurnView::from_events(&events).unwrap()]);
        turns.keep_open(&[]);
        turns.current_mut()[0].take(&end);
        assert!(turns.current()[0].exchange().finish.is_some());
        turns.keep_open(&[]);
        assert!(turns.current()[0].opened().is_none());
    }
}

#[cfg(test)]
mod turn_tests {
    use std::mem::size_of;

    use super::*;
    use crate::domain::{Citation, GradedRound};

    impl TurnView {
        /// What it keeps in memory, rows aside. Fields are named one by one: none is forgotten.
        pub fn held_bytes(&self) -> usize {
            let Self {
                kept,
                retry: _,
                fork: _,
                number: _,
                cache: _,
                labels,
                packed_as: _,
            } = self;
            let TurnRun::Packed(packed) = kept else {
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
                    routed: _,
                    rounds,
                } = &**gradings;
                let grades = rounds.iter().map(|round| size_of_val(&*round.grades));
                size_of::<RecordedGradings>()
                    + rounds.capacity() * size_of::<GradedRound>()
                    + grades.sum::<usize>()
            });
            let of_packed = size_of::<PackedRun>() + exchange_bytes(exchange) + gradings;
            size_of::<Self>()
                + labels.held_bytes()
                + of_packed
                + events.events_len()
                + events.prompts_len()
        }
    }

    fn exchange_bytes(exchange: &Exchange) -> usize {
        let Exchange {
            id,
            place,
            rerun,
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
            support,
            finish,
            revision: _,
        } = exchange;
        let QuestionPlace {
            retry_of,
            edit_of,
            after,
        } = place;
        let named = [retry_of, edit_of, after].into_iter().flatten();
        let named: usize = named.map(|run| run.0.len()).sum();
        let within = within.iter().map(String::capacity).sum::<usize>();
        let texts = citations.iter().map(|citation| {
            let quoted = citation.quoted.capacity() * size_of::<crate::domain::LineRange>();
            citation.id.0.len() + citation.source.capacity() + quoted
        });
        let error = finish.as_ref().and_then(|finish| finish.error.as_ref());
        id.0.len()
            + named
            + format!("{rerun:?}").len()
            + query.capacity()
            + within
            + answer.capacity()
            + citations.capacity() * size_of::<Citation>()
            + support.capacity() * size_of::<crate::domain::SentenceSupport>()
            + texts.sum::<usize>()
            + format!("{warnings:?}").len()
            + error.map_or(0, String::capacity)
    }
}
