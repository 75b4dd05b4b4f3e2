//! Earlier questions, and which of them are looked for.

use super::filtered_list::{FilteredList, MatchMode};

/// The questions and what is looked for among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionSearch {
    /// The newest first.
    questions: Vec<String>,
    /// What is typed and selected.
    pub narrowed: FilteredList,
}

impl QuestionSearch {
    /// All of these, the newest first; `typed` is looked for.
    pub fn of(questions: Vec<String>, typed: &str) -> Self {
        let mut recalled = Self {
            questions,
            narrowed: FilteredList::default(),
        };
        recalled.narrowed.set(typed);
        recalled.narrow();
        recalled
    }

    /// The selected one.
    pub fn selected(&self) -> Option<&str> {
        let question = self.questions.get(self.narrowed.selected()?)?;
        Some(question.as_str())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.questions.len()
    }

    /// Those of so many rows from one on, and whether each is the selected one.
    pub fn rows(&self, from: usize, rows: usize) -> Vec<(&str, bool)> {
        let selected = self.narrowed.selected();
        let left = self.narrowed.left().iter().skip(from).take(rows);
        left.filter_map(|at| Some((self.questions.get(*at)?.as_str(), Some(*at) == selected)))
            .collect()
    }

    /// Leaves those that match what is typed.
    pub fn narrow(&mut self) {
        let questions = self.questions.iter().map(String::as_str);
        self.narrowed.narrow(questions, MatchMode::Words);
    }
}
