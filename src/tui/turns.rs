//! The turns of a conversation, of which few are open at a time.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use crate::protocol::{EventPacker, RunId};

use super::fold::Exchange;
use super::turn::{OpenRun, TurnView};

/// So much is kept of what was sent to models and came back, packed, in bytes: a few hundred runs.
/// It is longer than all else that is known of a run.
const MOST_PROMPTS: usize = 4 << 20;

/// All turns, in the order in which they were asked.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    all: Vec<TurnView>,
    /// Indices of the turns that are open.
    open: Vec<usize>,
    /// Tokens both ways of those that are packed.
    tokens: u64,
    /// Indices of the turns whose prompts are kept packed, the least recently viewed first.
    with_prompts: VecDeque<usize>,
    /// What these take, bytes.
    prompts: usize,
    packer: EventPacker,
}

impl Turns {
    /// Appends a turn.
    pub fn push(&mut self, turn: TurnView) {
        if turn.opened().is_some() {
            self.open.push(self.all.len());
        } else {
            self.tokens = self.tokens.saturating_add(turn.tokens());
            self.keep_prompts(self.all.len(), turn.prompts_len());
        }
        self.all.push(turn);
        self.bound_prompts();
    }

    fn keep_prompts(&mut self, at: usize, bytes: usize) {
        if bytes > 0 {
            self.with_prompts.push_back(at);
            self.prompts += bytes;
        }
    }

    /// Tokens both ways so far.
    pub fn tokens(&self) -> u64 {
        let open = self.open.iter().filter_map(|at| self.all.get(*at));
        open.map(TurnView::tokens)
            .fold(self.tokens, u64::saturating_add)
    }

    /// Removes all turns.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Opens the turn at this index.
    pub fn open(&mut self, at: usize) {
        if let Some(turn) = self.all.get_mut(at)
            && turn.opened().is_none()
            && turn.open(&mut self.packer)
        {
            self.open.push(at);
            self.tokens = self.tokens.saturating_sub(turn.tokens());
            if let Some(place) = self.with_prompts.iter().position(|other| *other == at) {
                self.with_prompts.remove(place);
                self.with_prompts.push_back(at);
            }
        }
    }

    /// Opens those that are given, and packs the others that have ended.
    pub fn keep_open(&mut self, needed: &[Option<usize>]) {
        for at in needed.iter().flatten() {
            self.open(*at);
        }
        if self.open.iter().all(|at| needed.contains(&Some(*at))) {
            return;
        }
        for at in std::mem::take(&mut self.open) {
            let is_needed = needed.contains(&Some(at));
            let turn = self.all.get_mut(at).filter(|_| !is_needed);
            let closed = turn.and_then(|turn| Some((turn.close(&mut self.packer)?, turn.tokens())));
            let Some((prompts, tokens)) = closed else {
                self.open.push(at);
                continue;
            };
            self.tokens = self.tokens.saturating_add(tokens);
            self.keep_prompts(at, prompts);
        }
        self.bound_prompts();
    }

    fn bound_prompts(&mut self) {
        while self.prompts > MOST_PROMPTS
            && let Some(at) = self.with_prompts.pop_front()
        {
            let freed = self.all.get_mut(at).map_or(0, TurnView::drop_prompts);
            self.prompts = self.prompts.saturating_sub(freed);
        }
    }

    /// The last run that has not ended and goes on; what has not ended is open.
    pub fn going_on(&self) -> Option<&Exchange> {
        let open = self
            .open
            .iter()
            .filter_map(|at| Some((at, self.all.get(*at)?)));
        let exchanges = open.map(|(at, turn)| (at, turn.exchange()));
        let going_on = exchanges.filter(|(_, one)| one.finish.is_none() && !one.is_recorded);
        Some(going_on.max_by_key(|(at, _)| **at)?.1)
    }

    /// Where that run stands among those that are open.
    pub fn place_of_open(&self, run: &RunId) -> Option<usize> {
        let is_it = |at: &usize| self.all.get(*at).is_some_and(|t| t.exchange().id == *run);
        self.open.iter().copied().find(is_it)
    }

    /// Returns the run if it is open.
    pub fn opened(&self, run: &RunId) -> Option<&OpenRun> {
        self.all.get(self.place_of_open(run)?)?.opened()
    }
}

impl From<Vec<TurnView>> for Turns {
    fn from(turns: Vec<TurnView>) -> Self {
        let mut all = Self::default();
        for turn in turns {
            all.push(turn);
        }
        all
    }
}

impl Deref for Turns {
    type Target = [TurnView];

    fn deref(&self) -> &[TurnView] {
        &self.all
    }
}

impl DerefMut for Turns {
    fn deref_mut(&mut self) -> &mut [TurnView] {
        &mut self.all
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
            .filter(|at| turns[*at].opened().is_some())
            .collect();
        assert_eq!(open, [99]);
        let packed = turns[..99].iter().map(TurnView::held_bytes);
        let most = packed.max().unwrap();
        assert!(most < 12_000, "{most} bytes");
    }

    #[test]
    fn ui_a_run_that_is_looked_at_again_is_what_it_was() {
        let mut turns = conversation(3);
        let whole = TurnView::from_events(&recorded(1)).unwrap();
        let whole = whole.opened().unwrap();
        for _ in 0..2 {
            assert_eq!(turns[1].exchange(), &whole.run.exchange);
            assert_eq!(turns[1].gradings().as_deref(), Some(&whole.gradings()));
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
        assert!(!kept(&turns[1]) && !kept(&turns[8]) && kept(&turns[count - 1]));
        assert!(kept(&turns[0]));
        let prompts: usize = turns.iter().map(TurnView::held_bytes).sum();
        assert!(prompts < MOST_PROMPTS + count * 12_000, "{prompts} bytes");

        turns.open(count - 1);
        let whole = endpoint(count - 1, 200_000);
        assert_eq!(turns[count - 1].opened().unwrap().events, whole);
        turns.open(1);
        let mut without: Vec<Event> = endpoint(1, 200_000).iter().map(|e| (**e).clone()).collect();
        without.iter_mut().for_each(Event::drop_prompts);
        let events = &turns[1].opened().unwrap().events;
        assert!(events.iter().map(|event| &**event).eq(&without));
    }

    #[test]
    fn ui_prompts_of_a_resumed_conversation_are_bounded_too() {
        let mut packer = EventPacker::default();
        let closed = (0..80).map(|at| {
            let mut turn = TurnView::from_events(&endpoint(at, 200_000)).unwrap();
            assert!(turn.close(&mut packer).unwrap() > 50_000);
            turn
        });
        let turns = Turns::from(closed.collect::<Vec<_>>());
        let held: usize = turns.iter().map(TurnView::held_bytes).sum();
        assert!(held < MOST_PROMPTS + 80 * 12_000, "{held} bytes");
        assert!(turns[0].held_bytes() < 12_000 && turns[79].held_bytes() > 50_000);
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
        assert!(turns[0].opened().is_none());
        turns.open(0);
        assert_eq!(turns[0].exchange(), &before);
        let open = turns[0].opened();
        assert_eq!(open.map(|open| open.run.elapsed(events[0].ts)), elapsed);
    }

    #[test]
    fn ui_a_run_that_goes_on_is_not_packed() {
        let mut events = recorded(0);
        let end = events.pop().unwrap();
        let mut turns = Turns::from(vec![TurnView::from_events(&events).unwrap()]);
        turns.keep_open(&[]);
        turns[0].take(&end);
        assert!(turns[0].exchange().finish.is_some());
        turns.keep_open(&[]);
        assert!(turns[0].opened().is_none());
    }
}
