//! The turns of a conversation, of which few are open at a time.

use std::ops::{Deref, DerefMut};

use crate::protocol::{EventPacker, RunId};

use super::turn::{OpenRun, Turn};

/// All turns, in the order in which they were asked.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    all: Vec<Turn>,
    /// Those that are open.
    open: Vec<usize>,
    packer: EventPacker,
}

impl Turns {
    /// One more.
    pub fn push(&mut self, turn: Turn) {
        if turn.opened().is_some() {
            self.open.push(self.all.len());
        }
        self.all.push(turn);
    }

    /// None any more.
    pub fn clear(&mut self) {
        self.all.clear();
        self.open.clear();
    }

    /// Opens that one.
    pub fn open(&mut self, at: usize) {
        if let Some(turn) = self.all.get_mut(at)
            && turn.opened().is_none()
            && turn.open(&mut self.packer)
        {
            self.open.push(at);
        }
    }

    /// Opens these, and packs the others that have ended.
    pub fn keep_open(&mut self, needed: &[usize]) {
        for at in needed {
            self.open(*at);
        }
        let (turns, packer) = (&mut self.all, &mut self.packer);
        self.open.retain(|at| {
            needed.contains(at) || turns.get_mut(*at).is_some_and(|turn| !turn.close(packer))
        });
    }

    /// Where that run stands among those that are open.
    pub fn place_of_open(&self, run: &RunId) -> Option<usize> {
        let is_it = |at: &usize| self.all.get(*at).is_some_and(|t| t.exchange().id == *run);
        self.open.iter().copied().find(is_it)
    }

    /// That run, if it is open.
    pub fn opened(&self, run: &RunId) -> Option<&OpenRun> {
        self.all.get(self.place_of_open(run)?)?.opened()
    }
}

impl From<Vec<Turn>> for Turns {
    fn from(turns: Vec<Turn>) -> Self {
        let is_open = |at: &usize| turns[*at].opened().is_some();
        Self {
            open: (0..turns.len()).filter(is_open).collect(),
            all: turns,
            packer: EventPacker::default(),
        }
    }
}

impl Deref for Turns {
    type Target = [Turn];

    fn deref(&self) -> &[Turn] {
        &self.all
    }
}

impl DerefMut for Turns {
    fn deref_mut(&mut self) -> &mut [Turn] {
        &mut self.all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::protocol::Event;

    /// A run as it was recorded, under another name.
    fn recorded(at: usize) -> Vec<Arc<Event>> {
        let lines = include_str!("../../tests/it/fixtures/picture.jsonl").lines();
        let run = RunId(format!("0199a1b2-0000-7000-8000-{at:012}"));
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
            turns.push(Turn::after(&recorded(at)).unwrap());
            turns.keep_open(&[at]);
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
        let packed = turns[..99].iter().map(Turn::held_bytes);
        let most = packed.max().unwrap();
        assert!(most < 12_000, "{most} bytes");
    }

    #[test]
    fn ui_a_run_that_is_looked_at_again_is_what_it_was() {
        let mut turns = conversation(3);
        let whole = Turn::after(&recorded(1)).unwrap();
        let whole = whole.opened().unwrap();
        for _ in 0..2 {
            assert_eq!(turns[1].exchange(), &whole.run.exchange);
            assert_eq!(turns[1].gradings().as_deref(), Some(&whole.gradings()));
            turns.open(1);
            let open = turns.opened(&whole.run.id).unwrap();
            assert_eq!(open.events, whole.events);
            assert_eq!(open.trail, whole.trail);
            assert_eq!(open.run.exchange, whole.run.exchange);
            let rows = |open: &OpenRun| open.run.evidence.rows().cloned().collect::<Vec<_>>();
            assert_eq!(rows(open), rows(whole));
            turns.keep_open(&[2]);
        }
    }

    /// The log does not hold an end; the screen said so once, and says so again.
    #[test]
    fn ui_a_run_without_an_end_keeps_the_end_that_it_was_given() {
        let mut events = recorded(0);
        events.pop();
        let mut turn = Turn::after(&events).unwrap();
        turn.record();
        turn.abandon("no end is recorded", events.last().unwrap().ts);
        let told = turn.exchange().clone();
        let elapsed = turn.opened().map(|open| open.run.elapsed(events[0].ts));
        let mut turns = Turns::from(vec![turn]);
        turns.keep_open(&[]);
        assert!(turns[0].opened().is_none());
        turns.open(0);
        assert_eq!(turns[0].exchange(), &told);
        let open = turns[0].opened();
        assert_eq!(open.map(|open| open.run.elapsed(events[0].ts)), elapsed);
    }

    #[test]
    fn ui_a_run_that_goes_on_is_not_packed() {
        let mut events = recorded(0);
        let end = events.pop().unwrap();
        let mut turns = Turns::from(vec![Turn::after(&events).unwrap()]);
        turns.keep_open(&[]);
        turns[0].take(&end);
        assert!(turns[0].exchange().finish.is_some());
        turns.keep_open(&[]);
        assert!(turns[0].opened().is_none());
    }
}
