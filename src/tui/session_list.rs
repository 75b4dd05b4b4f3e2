//! The list of recorded conversations, and what is being done with the selected one.

use crate::protocol::SessionSummary;
use crate::text::one_line;

use super::filtered_list::{FilteredList, MatchMode};

/// What a window shows of recorded conversations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionList {
    /// `None` until they are here.
    sessions: Option<Vec<SessionSummary>>,
    /// What is looked into for each of them: its name and its first question, clean.
    texts: Vec<String>,
    /// What is typed and selected.
    pub narrowed: FilteredList,
    /// What is being done.
    pub doing: SessionTask,
}

/// What is being done with the selected conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SessionTask {
    /// It is being chosen.
    #[default]
    Choosing,
    /// Its new name is being typed.
    Renaming(String),
    /// Whether it is to go is being asked.
    Deleting,
    /// It is being read.
    Resuming,
}

impl SessionList {
    /// Whether they are here.
    pub fn is_read(&self) -> bool {
        self.sessions.is_some()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.texts.len()
    }

    /// Takes the list; what is typed and selected stays.
    pub fn take(&mut self, sessions: Vec<SessionSummary>) {
        let selected = self.selected().map(|session| session.id.clone());
        let row = self.narrowed.list.selected;
        let text = |session: &SessionSummary| {
            let name = session.name.as_deref().unwrap_or_default();
            one_line(&format!("{name} {}", session.question), 400)
        };
        self.texts = sessions.iter().map(text).collect();
        let is_selected = |session: &SessionSummary| Some(&session.id) == selected.as_ref();
        let place = sessions.iter().position(is_selected);
        self.sessions = Some(sessions);
        self.narrow();
        self.narrowed.list.selected = row.min(self.narrowed.matches().len().saturating_sub(1));
        if let Some(place) = place {
            self.narrowed.select(place);
        }
    }

    /// Leaves those that match what is typed.
    pub fn narrow(&mut self) {
        let texts = self.texts.iter().map(String::as_str);
        self.narrowed.narrow(texts, MatchMode::Letters);
    }

    /// The selected session.
    pub fn selected(&self) -> Option<&SessionSummary> {
        self.sessions.as_ref()?.get(self.narrowed.selected()?)
    }

    /// Returns `rows` rows from the row `from` on, each with whether it is selected.
    pub fn rows(&self, from: usize, rows: usize) -> Vec<(&SessionSummary, bool)> {
        let selected = self.narrowed.selected();
        let left = self.narrowed.matches().iter().skip(from).take(rows);
        let sessions = self.sessions.as_deref().unwrap_or_default();
        left.filter_map(|place| Some((sessions.get(*place)?, Some(*place) == selected)))
            .collect()
    }
}
