use serde::{Deserialize, Serialize};

use super::RunId;

/// Where a question stands in its conversation; by default it follows the last one asked. At most one of
/// the fields is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QuestionPlace {
    /// The run whose question is asked once more; of several retries each names the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
    /// The first run of the question that this one stands for, edited. It follows what that one
    /// followed, and begins another branch of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<RunId>,
    /// The first run of the question that this one follows, where that is not the one that was asked
    /// last: the conversation goes on in another of its branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<RunId>,
}

impl QuestionPlace {
    /// Once more the question of this run, the first of them.
    pub fn retry_of(first: RunId) -> Self {
        Self {
            retry_of: Some(first),
            ..Self::default()
        }
    }

    /// A question in the place of that of this run, the first of its runs.
    pub fn edit_of(first: RunId) -> Self {
        Self {
            edit_of: Some(first),
            ..Self::default()
        }
    }
}

/// The questions of a conversation as a tree. A question has several runs where it was asked once more,
/// and goes by the first of them.
///
/// Every question belongs to one branch or to several that part after it. The one on show is where the
/// conversation goes on; that of the last run, until another one is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Branches {
    questions: Vec<AskedQuestion>,
    /// The last question of the branch that is shown.
    shown: Option<usize>,
    /// The last question of the branch to which the last run belongs.
    recorded: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AskedQuestion {
    first: RunId,
    follows: Option<usize>,
}

/// Which of the branches that part at a question it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fork {
    /// Its place among them, from 1, in the order in which they were begun.
    pub at: usize,
    /// How many there are.
    pub of: usize,
}

impl Branches {
    /// Takes the run that began last; its branch is shown from now on. What it names and is not known
    /// here is passed over: it follows the last question then.
    pub fn add(&mut self, run: &RunId, place: &QuestionPlace) {
        let again = place.retry_of.as_ref();
        let last = match again.and_then(|first| self.position(first)) {
            Some(again) if self.is_in_branch(again, self.recorded) => self.recorded,
            Some(again) => Some(self.newest_below(again)),
            None => {
                let follows = self.question_before(place);
                let first = place.retry_of.as_ref().unwrap_or(run).clone();
                self.questions.push(AskedQuestion { first, follows });
                Some(self.questions.len() - 1)
            }
        };
        (self.shown, self.recorded) = (last, last);
    }

    /// Whether there is more than one branch.
    pub fn is_forked(&self) -> bool {
        let mut questions = self.questions.iter().enumerate();
        questions.any(|(at, question)| question.follows != at.checked_sub(1))
    }

    /// The questions of the branch that is shown, each by its first run.
    pub fn shown_questions(&self) -> Vec<&RunId> {
        self.branch(self.shown)
    }

    /// The questions that come before one that stands there, each by its first run.
    pub fn questions_before(&self, place: &QuestionPlace) -> Vec<&RunId> {
        self.branch(self.question_before(place))
    }

    /// The question that comes right before one that stands there.
    fn question_before(&self, place: &QuestionPlace) -> Option<usize> {
        let known = |first: &Option<RunId>| self.position(first.as_ref()?);
        match known(&place.retry_of).or_else(|| known(&place.edit_of)) {
            Some(same) => self.questions[same].follows,
            None => known(&place.after).or(self.recorded),
        }
    }

    /// Where the next question stands if it follows the last one that is shown.
    pub fn next_place(&self) -> QuestionPlace {
        let last = self.shown.filter(|_| self.shown != self.recorded);
        QuestionPlace {
            after: last.map(|last| self.questions[last].first.clone()),
            ..QuestionPlace::default()
        }
    }

    /// Which of several branches begins with this question; `None` where none parts there.
    pub fn fork_at(&self, first: &RunId) -> Option<Fork> {
        let (siblings, at) = self.siblings(first)?;
        (siblings.len() > 1).then(|| Fork {
            at: at + 1,
            of: siblings.len(),
        })
    }

    /// The question that begins the branch so many after that of this one, round and round.
    pub fn sibling(&self, first: &RunId, by: isize) -> Option<&RunId> {
        let (siblings, at) = self.siblings(first)?;
        let count = siblings.len().cast_signed();
        let beside = (at.cast_signed() + by).rem_euclid(count).cast_unsigned();
        Some(&self.questions[siblings[beside]].first)
    }

    /// Shows the branch of this question; of several that part after it the one that was gone on with
    /// last.
    pub fn show(&mut self, first: &RunId) {
        let Some(at) = self.position(first) else {
            return;
        };
        if !self.is_in_branch(at, self.shown) {
            self.shown = Some(self.newest_below(at));
        }
    }

    fn position(&self, first: &RunId) -> Option<usize> {
        self.questions.iter().rposition(|one| one.first == *first)
    }

    /// This question and those that it follows, back to the first.
    fn back_from(&self, last: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(last, move |at| self.questions[*at].follows)
    }

    /// The questions from the first to this one, each by its first run.
    fn branch(&self, last: Option<usize>) -> Vec<&RunId> {
        let branch = self.back_from(last).map(|at| &self.questions[at].first);
        let mut branch: Vec<&RunId> = branch.collect();
        branch.reverse();
        branch
    }

    fn is_in_branch(&self, question: usize, last: Option<usize>) -> bool {
        self.back_from(last).any(|at| at == question)
    }

    /// The question that was asked last of this one and all that follow it.
    fn newest_below(&self, question: usize) -> usize {
        let all = question..self.questions.len();
        let is_below = |at: &usize| self.is_in_branch(question, Some(*at));
        all.rev().find(is_below).unwrap_or(question)
    }

    fn siblings(&self, first: &RunId) -> Option<(Vec<usize>, usize)> {
        let question = self.position(first)?;
        let follows = self.questions[question].follows;
        let all = self.questions.iter().enumerate();
        let siblings = all.filter(|(_, one)| one.follows == follows);
        let siblings: Vec<usize> = siblings.map(|(at, _)| at).collect();
        let at = siblings.iter().position(|at| *at == question)?;
        Some((siblings, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> RunId {
        RunId(name.into())
    }

    fn names(runs: &[&RunId]) -> String {
        let names: Vec<&str> = runs.iter().map(|run| &*run.0).collect();
        names.join(" ")
    }

    fn asked(branches: &mut Branches, name: &str) {
        branches.add(&run(name), &QuestionPlace::default());
    }

    fn edited(branches: &mut Branches, name: &str, of: &str) {
        branches.add(&run(name), &QuestionPlace::edit_of(run(of)));
    }

    #[test]
    fn an_edited_question_begins_a_branch_and_the_next_ones_follow_what_is_shown() {
        let mut branches = Branches::default();
        for name in ["a", "b", "c"] {
            asked(&mut branches, name);
        }
        assert!(!branches.is_forked());
        edited(&mut branches, "B", "b");
        asked(&mut branches, "D");
        assert_eq!(names(&branches.shown_questions()), "a B D");
        assert_eq!(branches.fork_at(&run("B")), Some(Fork { at: 2, of: 2 }));
        assert_eq!(branches.fork_at(&run("a")), None);
        assert_eq!(branches.next_place(), QuestionPlace::default());

        let beside = branches.sibling(&run("B"), 1).unwrap().clone();
        branches.show(&beside);
        assert_eq!(names(&branches.shown_questions()), "a b c");
        let place = branches.next_place();
        assert_eq!(place.after, Some(run("c")));
        assert_eq!(names(&branches.questions_before(&place)), "a b c");
        branches.add(&run("e"), &place);
        assert_eq!(names(&branches.shown_questions()), "a b c e");
        assert_eq!(branches.next_place(), QuestionPlace::default());
        // What is on another branch is known to no question of this one.
        let again = QuestionPlace::retry_of(run("B"));
        assert_eq!(names(&branches.questions_before(&again)), "a");
        branches.add(&run("B2"), &again);
        assert_eq!(names(&branches.shown_questions()), "a B D");
    }

    #[test]
    fn the_first_question_can_be_edited_and_an_edited_one_again() {
        let mut branches = Branches::default();
        asked(&mut branches, "a");
        edited(&mut branches, "A", "a");
        edited(&mut branches, "Ä", "A");
        assert_eq!(names(&branches.shown_questions()), "Ä");
        assert_eq!(branches.fork_at(&run("A")), Some(Fork { at: 2, of: 3 }));
        assert_eq!(branches.sibling(&run("Ä"), 1), Some(&run("a")));
        assert!(
            branches
                .questions_before(&QuestionPlace::edit_of(run("a")))
                .is_empty()
        );
    }

    #[test]
    fn a_retry_stays_in_its_branch_and_what_is_not_known_hides_nothing() {
        let mut branches = Branches::default();
        asked(&mut branches, "a");
        asked(&mut branches, "b");
        branches.add(&run("a2"), &QuestionPlace::retry_of(run("a")));
        asked(&mut branches, "c");
        assert_eq!(names(&branches.shown_questions()), "a b c");
        edited(&mut branches, "d", "of a run that is left out");
        branches.add(&run("e2"), &QuestionPlace::retry_of(run("e")));
        assert_eq!(names(&branches.shown_questions()), "a b c d e");
    }
}
