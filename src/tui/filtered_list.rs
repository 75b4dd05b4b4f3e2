//! A list that is narrowed by what is typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::text::one_line;

use super::list::List;

/// The longest text that is looked for, in characters.
const LONGEST: usize = 120;

/// How what is typed is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// Its letters in their order, with others between; the best match comes first.
    Letters,
    /// Each of its words as it is; the order of the list stays.
    Words,
}

/// What is typed, which items are left, and which of them is selected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilteredList {
    typed: String,
    left: Vec<usize>,
    /// The selected row.
    pub list: List,
}

impl FilteredList {
    /// The text by which the list is filtered.
    pub fn typed(&self) -> &str {
        &self.typed
    }

    /// Indices of the items that match, in the order of their rows.
    pub fn matches(&self) -> &[usize] {
        &self.left
    }

    /// The place of the selected item.
    pub fn selected(&self) -> Option<usize> {
        self.left.get(self.list.selected).copied()
    }

    /// Selects the item at this place, if it is left.
    pub fn select(&mut self, place: usize) {
        if let Some(row) = self.left.iter().position(|left| *left == place) {
            self.list.selected = row;
        }
    }

    /// Replaces the typed text.
    pub fn set(&mut self, text: &str) {
        self.typed = one_line(text, LONGEST);
        self.list = List::default();
    }

    /// Appends pasted text.
    pub fn paste(&mut self, text: &str) {
        self.set(&format!("{}{text}", self.typed));
    }

    /// A key that means text; says whether the text is another now.
    pub fn key(&mut self, event: KeyEvent) -> bool {
        let is_changed = type_into(&mut self.typed, event);
        if is_changed {
            self.list = List::default();
        }
        is_changed
    }

    /// Leaves the items that match what is typed.
    pub fn narrow<'a>(&mut self, texts: impl Iterator<Item = &'a str>, matching: MatchMode) {
        let (ignore, smart) = (CaseMatching::Ignore, Normalization::Smart);
        let pattern = match matching {
            MatchMode::Letters => Pattern::parse(&self.typed, ignore, smart),
            MatchMode::Words => Pattern::new(&self.typed, ignore, smart, AtomKind::Substring),
        };
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut scored: Vec<(u32, usize)> = texts
            .enumerate()
            .filter_map(|(place, text)| {
                let score = pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher)?;
                Some((score, place))
            })
            .collect();
        if matching == MatchMode::Letters {
            scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
        self.left = scored.into_iter().map(|(_, place)| place).collect();
    }

    /// Keeps the selection within the list and in sight.
    pub fn settle(&mut self, height: usize) {
        self.list.settle(self.left.len(), height);
    }
}

/// Edits one line at its end; says whether it is another now.
pub fn type_into(line: &mut String, event: KeyEvent) -> bool {
    let before = line.len();
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Backspace if ctrl || event.modifiers.contains(KeyModifiers::ALT) => word_off(line),
        KeyCode::Char('w') if ctrl => word_off(line),
        KeyCode::Char('u') if ctrl => line.clear(),
        KeyCode::Backspace => {
            line.pop();
        }
        KeyCode::Char(c)
            if (event.modifiers - KeyModifiers::SHIFT).is_empty()
                && !c.is_control()
                && line.chars().count() < LONGEST =>
        {
            line.push(c);
        }
        _ => {}
    }
    line.len() != before
}

fn word_off(line: &mut String) {
    let end = line.trim_end();
    let begin = end.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    line.truncate(begin);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(typed: &str, matching: MatchMode) -> Vec<usize> {
        let texts = ["two gates", "Compare the gates", "the second one"];
        let mut narrowed = FilteredList::default();
        narrowed.set(typed);
        narrowed.narrow(texts.into_iter(), matching);
        narrowed.matches().to_vec()
    }

    #[test]
    fn letters_find_the_best_and_words_keep_the_order() {
        assert_eq!(left("", MatchMode::Letters), [0, 1, 2]);
        assert_eq!(left("cmpgts", MatchMode::Letters), [1]);
        assert_eq!(left("gates", MatchMode::Words), [0, 1]);
        assert_eq!(left("gates THE", MatchMode::Words), [1]);
        assert_eq!(left("cmpgts", MatchMode::Words), [0; 0]);
    }

    #[test]
    fn a_line_is_edited_at_its_end() {
        let mut line = "two gates".to_owned();
        let press =
            |line: &mut String, code, modifiers| type_into(line, KeyEvent::new(code, modifiers));
        assert!(press(&mut line, KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(line, "two ");
        assert!(press(&mut line, KeyCode::Backspace, KeyModifiers::NONE));
        assert!(press(&mut line, KeyCode::Char('É'), KeyModifiers::SHIFT));
        assert_eq!(line, "twoÉ");
        assert!(!press(&mut line, KeyCode::Char('x'), KeyModifiers::CONTROL));
        assert!(press(&mut line, KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(line, "");
    }
}
