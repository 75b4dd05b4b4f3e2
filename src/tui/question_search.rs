//! Earlier questions, and which of them are looked for.

use super::filtered_list::{FilteredList, MatchMode};

/// The questions and what is looked for among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionSearch {
    /// Earlier questions, the newest first.
    questions: Vec<String>,
    /// What is typed and selected.
    pub narrowed: FilteredList,
}

impl QuestionSearch {
    /// Searches these questions, the newest first, for `typed`.
    pub fn new(questions: Vec<String>, typed: &str) -> Self {
        let mut recalled = Self {
            questions,
            narrowed: FilteredList::default(),
        };
        recalled.narrowed.set(typed);
        recalled.narrow();
        recalled
    }

    /// The selected question.
    pub fn selected(&self) -> Option<&str> {
        let question = self.questions.get(self.narrowed.selected()?)?;
        Some(question.as_str())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.questions.len()
    }

    /// Returns `rows` rows from the row `from` on, each with whether it is selected.
    pub fn rows(&self, from: usize, rows: usize) -> Vec<(&str, bool)> {
        let selected = self.narrowed.selected();
        let left = self.narrowed.matches().iter().skip(from).take(rows);
        left.filter_map(|at| Some((self.questions.get(*at)?.as_str(), Some(*at) == selected)))
            .collect()
    }

    /// Leaves those that match what is typed.
    pub fn narrow(&mut self) {
        let questions = self.questions.iter().map(String::as_str);
        self.narrowed.narrow(questions, MatchMode::Words);
    }
}
