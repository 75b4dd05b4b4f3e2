//! What was said in a conversation before the next question.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::domain::Turn;
use crate::protocol::{Branches, QuestionPlace, RunId};

use super::citations::without_marks;

/// A conversation: its id, its questions, and of each that was answered the last answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dialogue {
    session: String,
    branches: Branches,
    /// Turns by the first run of their question.
    answered: HashMap<RunId, Turn>,
}

impl Dialogue {
    /// One in which nothing was said yet.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            ..Self::default()
        }
    }

    /// Id of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// What a question that stands there knows, oldest first: what was said before it in its branch. One
    /// that is asked once more knows what it knew before, so that two routes answer the same.
    pub fn turns_before(&self, place: &QuestionPlace) -> Vec<Turn> {
        let before = self.branches.questions_before(place).into_iter();
        before
            .filter_map(|first| self.answered.get(first).cloned())
            .collect()
    }

    /// A run begins; its branch goes on.
    pub fn begin(&mut self, run: &RunId, place: &QuestionPlace) {
        self.branches.add(run, place);
    }

    /// Remembers an answer, without its citation marks; that of a retry takes the place of the one
    /// before.
    pub fn remember(&mut self, run: RunId, place: QuestionPlace, question: String, answer: &str) {
        let answer = without_marks(answer);
        let first = place.retry_of.unwrap_or(run);
        self.answered.insert(first, Turn { question, answer });
    }

    /// Forgets what was said.
    pub fn clear(&mut self) {
        self.branches = Branches::default();
        self.answered.clear();
    }
}

/// The conversation that goes on, shared with who may put another in its place.
pub type CurrentDialogue = Arc<Mutex<Dialogue>>;

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

    /// Answers a question that stands there.
    fn answer(dialogue: &mut Dialogue, n: u32, place: &QuestionPlace, answer: &str) {
        dialogue.begin(&run(n), place);
        dialogue.remember(run(n), place.clone(), format!("{n}?"), answer);
    }

    #[test]
    fn a_retry_knows_what_the_question_knew_and_its_answer_takes_the_place_of_the_first() {
        let mut dialogue = Dialogue::new("s");
        let (next, again) = (QuestionPlace::default(), QuestionPlace::retry_of);
        answer(&mut dialogue, 1, &next, "one [1].");
        // The second question failed.
        dialogue.begin(&run(2), &next);
        answer(&mut dialogue, 3, &next, "three");
        let known =
            |dialogue: &Dialogue, first| questions(&dialogue.turns_before(&again(run(first))));
        assert!(known(&dialogue, 1).is_empty());
        assert_eq!(known(&dialogue, 2), ["1? one."]);
        answer(&mut dialogue, 4, &again(run(1)), "another");
        answer(&mut dialogue, 5, &again(run(2)), "two");
        assert_eq!(
            questions(&dialogue.turns_before(&next)),
            ["4? another", "5? two", "3? three"]
        );
        assert_eq!(known(&dialogue, 3), ["4? another", "5? two"]);
    }

    #[test]
    fn a_question_knows_its_own_branch_and_no_other() {
        let mut dialogue = Dialogue::new("s");
        let next = QuestionPlace::default();
        answer(&mut dialogue, 1, &next, "one");
        answer(&mut dialogue, 2, &next, "two");
        let edit = QuestionPlace::edit_of(run(2));
        assert_eq!(questions(&dialogue.turns_before(&edit)), ["1? one"]);
        answer(&mut dialogue, 3, &edit, "three");
        assert_eq!(
            questions(&dialogue.turns_before(&next)),
            ["1? one", "3? three"]
        );
        let other = QuestionPlace {
            after: Some(run(2)),
            ..QuestionPlace::default()
        };
        assert_eq!(
            questions(&dialogue.turns_before(&other)),
            ["1? one", "2? two"]
        );
    }
}
