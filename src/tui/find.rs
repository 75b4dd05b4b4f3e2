//! The search in the conversation: what is looked for and which match is shown.

use std::ops::Range;

use crossterm::event::KeyEvent;

use super::keymap::Action;
use super::window::type_into;

/// A search that is going on.
#[derive(Debug, Clone, Default)]
pub struct Find {
    /// What is looked for.
    pub typed: String,
    /// Where it is, from the first turn to the last.
    pub matches: Vec<FoundRange>,
    /// Which of them is shown; `None`: the first from what is seen on.
    pub at: Option<usize>,
    /// Whether the one that is shown is to be brought in sight.
    pub moved: bool,
    /// What was searched.
    pub searched: SearchedText,
}

/// The conversation as it was searched: it is laid out once, and not at every letter.
#[derive(Debug, Clone, Default)]
pub struct SearchedText {
    /// The width in cells for which the rows were laid out.
    pub width: usize,
    /// The text that was searched for.
    pub typed: String,
    /// The rows of the turns that have ended, up to the first that has not; one a line.
    pub texts: Vec<Box<str>>,
    /// So many turns were searched and do not change.
    pub done: usize,
}

/// A place that matches. It may begin in one row and end in the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRange {
    /// Index of the turn.
    pub turn: usize,
    /// Rows of the turn, and which characters of each.
    pub parts: Vec<(usize, Range<usize>)>,
}

impl Find {
    /// What a key does; false where the search is to be closed.
    pub fn key(&mut self, action: Option<Action>, event: KeyEvent) -> bool {
        let count = self.matches.len();
        match action {
            Some(Action::Cancel) => return false,
            Some(Action::Down) if count > 0 => {
                self.at = Some(self.at.map_or(0, |at| (at + 1) % count));
                self.moved = true;
            }
            Some(Action::Up) if count > 0 => {
                let before = |at: usize| at.checked_sub(1).unwrap_or(count - 1);
                self.at = Some(self.at.map_or(count - 1, before));
                self.moved = true;
            }
            Some(_) => {}
            None => {
                if type_into(&mut self.typed, event) {
                    self.at = None;
                    self.moved = true;
                }
            }
        }
        true
    }

    /// Where the match begins that is to be brought in sight. The first to be shown is the first one
    /// at or after `seen`, or else the last.
    pub fn place_to_show(&mut self, seen: (usize, usize)) -> Option<(usize, usize)> {
        let begins =
            |found: &FoundRange| (found.turn, found.parts.first().map_or(0, |part| part.0));
        let last = self.matches.len().checked_sub(1)?;
        let first = || self.matches.iter().position(|found| begins(found) >= seen);
        let at = self.at.or_else(first).map_or(last, |at| at.min(last));
        self.at = Some(at);
        let place = begins(&self.matches[at]);
        std::mem::take(&mut self.moved).then_some(place)
    }

    /// The counter of matches, such as `3 of 12`.
    pub fn count(&self) -> String {
        match (self.matches.len(), self.at) {
            (_, _) if self.typed.trim().is_empty() => String::new(),
            (0, _) => "not found".to_owned(),
            (count, at) => format!("{} of {count}", at.unwrap_or(0) + 1),
        }
    }
}
