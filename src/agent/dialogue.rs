//! What was said in a conversation before the next question.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::Turn;
use crate::protocol::RunId;

use super::citations::without_marks;

/// A conversation: its id, and every question that was answered in it once, with its last answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dialogue {
    session: String,
    turns: Vec<Utterance>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Utterance {
    /// The first run of the question.
    first: RunId,
    turn: Turn,
}

impl Dialogue {
    /// One in which nothing was said yet.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            turns: Vec::new(),
        }
    }

    /// Id of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// What the next question knows, oldest first. One that is asked once more knows what it knew
    /// before, so that two routes answer the same.
    pub fn turns_before(&self, retry_of: Option<&RunId>) -> Vec<Turn> {
        let end = retry_of.map_or(self.turns.len(), |first| self.place_of(first));
        self.turns[..end]
            .iter()
            .map(|said| said.turn.clone())
            .collect()
    }

    /// Remembers an answer, with its citation marks; that of a retry takes the place of the one
    /// before.
    pub fn remember(
        &mut self,
        run: RunId,
        retry_of: Option<RunId>,
        question: String,
        answer: &str,
    ) {
        let place = match &retry_of {
            Some(first) => self.place_of(first),
            None => self.turns.len(),
        };
        let said = Utterance {
            first: retry_of.unwrap_or(run),
            turn: Turn {
                question,
                answer: without_marks(answer),
            },
        };
        match self.turns.get_mut(place) {
            Some(known) if known.first == said.first => *known = said,
            _ => self.turns.insert(place, said),
        }
    }

    /// Forgets what was said.
    pub fn clear(&mut self) {
        self.turns.clear();
    }

    /// Where the question of that run stands, or would where it was not answered: ids are in order.
    fn place_of(&self, first: &RunId) -> usize {
        let stands = self.turns.iter().position(|said| said.first == *first);
        let would = || self.turns.iter().filter(|said| said.first < *first).count();
        stands.unwrap_or_else(would)
    }
}

/// The conversation that goes on, shared with who may put another in its place.
#[derive(Debug, Clone, Default)]
pub struct CurrentDialogue(Arc<Mutex<Dialogue>>);

impl CurrentDialogue {
    /// Goes on with this one.
    pub fn replace(&self, dialogue: Dialogue) {
        *self.lock() = dialogue;
    }

    /// What it is now.
    pub fn lock(&self) -> MutexGuard<'_, Dialogue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u32) -> RunId {
        RunId(format!("01a2-{n}").into())
    }

    fn questions(turns: &[Turn]) -> Vec<String> {
        let as_text = |turn: &Turn| format!("{} {}", turn.question, turn.answer);
        turns.iter().map(as_text).collect()
    }

    #[test]
    fn a_retry_knows_what_the_question_knew_and_its_answer_takes_the_place_of_the_first() {
        let mut dialogue = Dialogue::new("s");
        dialogue.remember(run(1), None, "a?".to_owned(), "one [1].");
        dialogue.remember(run(3), None, "c?".to_owned(), "three");
        let known =
            |dialogue: &Dialogue, first| questions(&dialogue.turns_before(Some(&run(first))));
        assert!(known(&dialogue, 1).is_empty());
        // The second question failed, and stood between the two.
        assert_eq!(known(&dialogue, 2), ["a? one."]);
        dialogue.remember(run(4), Some(run(1)), "a?".to_owned(), "another");
        dialogue.remember(run(5), Some(run(2)), "b?".to_owned(), "two");
        assert_eq!(
            questions(&dialogue.turns_before(None)),
            ["a? another", "b? two", "c? three"]
        );
        assert_eq!(known(&dialogue, 3), ["a? another", "b? two"]);
    }
}
