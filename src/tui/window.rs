//! What can lie above the panes: windows, some to choose from, and some of these narrowed by what is
//! typed.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::protocol::{RunHistory, RunId, Timestamp};
use crate::text::one_line;

use super::keymap::KeyContext;
use super::lists::{ModelList, PaletteRow, SessionList};
use super::pane_state::{List, PathItem};
use super::sliders::Sliders;

/// The longest text that is looked for, in characters.
const LONGEST: usize = 120;

/// A window above the panes.
#[derive(Debug, Clone)]
pub struct Window {
    /// What it shows.
    pub shown: Overlay,
    /// The selected row, or how far it is scrolled.
    pub list: List,
    /// What is typed, where it is a list that is narrowed.
    pub typed: String,
    /// What is looked into for each item of such a list, clean.
    texts: Vec<String>,
    /// The items that match, in the order of their rows.
    matches: Vec<usize>,
}

/// What lies above the panes.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// Help with all keys.
    Help,
    /// An event as the log holds it.
    Event {
        /// Key of the event: its time and its number.
        key: (Timestamp, u64),
        /// Its place among the events, and when it was.
        about: String,
        /// Lines of its JSON.
        lines: Vec<String>,
    },
    /// Which route to ask again by.
    Retry,
    /// Which sample question to ask.
    Samples,
    /// What to do, of all that can be done.
    Palette(Vec<PaletteRow>),
    /// Recorded conversations.
    Sessions(SessionList),
    /// Models to choose from.
    Models(ModelList),
    /// Earlier questions, the newest first.
    Recall(Vec<String>),
    /// A page of text.
    Page(Page),
    /// What all recorded runs came to; nothing while it is being read. Where it is not known, one
    /// clean line says why.
    Statistics(Option<Result<Box<RunHistory>, String>>),
    /// What went on in a node, or where the calls of the meter come from.
    Detail {
        /// The item that the window is about.
        item: PathItem,
        /// The parts that are unfolded.
        unfolded: BTreeSet<usize>,
    },
    /// Two runs side by side.
    Compare {
        /// The run on the left.
        left: RunId,
        /// The run on the right.
        right: RunId,
    },
    /// What a run would have done within other limits.
    WhatIf(Sliders),
}

/// A window that only shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// What is indexed and what is not.
    Index,
    /// What the knowledge base is made of.
    Sources,
    /// Which engine answers.
    Engine,
}

impl Overlay {
    /// Whether it is a list that is narrowed by what is typed.
    pub fn is_typed(&self) -> bool {
        matches!(
            self,
            Self::Palette(_) | Self::Sessions(_) | Self::Models(_) | Self::Recall(_)
        )
    }

    /// Whether one of its rows is selected; else it is only scrolled.
    pub fn is_choice(&self) -> bool {
        self.is_typed() || matches!(self, Self::Retry | Self::Samples | Self::Detail { .. })
    }

    /// Where keys are looked up while it has them.
    pub fn places(&self) -> &'static [KeyContext] {
        match self {
            Self::Detail { .. } => &[KeyContext::Detail, KeyContext::Overlay],
            Self::Event { .. } => &[KeyContext::Event, KeyContext::Overlay],
            Self::WhatIf(_) => &[KeyContext::WhatIf, KeyContext::Overlay],
            Self::Sessions(_) => &[KeyContext::Sessions, KeyContext::Menu],
            Self::Models(_) => &[KeyContext::Models, KeyContext::Menu],
            Self::Recall(_) => &[KeyContext::Recall, KeyContext::Menu],
            Self::Palette(_) => &[KeyContext::Menu],
            _ => &[KeyContext::Overlay],
        }
    }
}

impl Window {
    /// A window at its beginning.
    pub fn new(shown: Overlay) -> Self {
        Self {
            shown,
            list: List::default(),
            typed: String::new(),
            texts: Vec::new(),
            matches: Vec::new(),
        }
    }

    /// Gives it the items to look into; what is typed stays, and the row that is selected.
    pub fn set_texts(&mut self, texts: Vec<String>) {
        self.texts = texts;
        self.narrow();
    }

    /// Replaces what is typed.
    pub fn set_typed(&mut self, text: &str) {
        self.typed = one_line(text, LONGEST);
        self.list = List::default();
        self.narrow();
    }

    /// A key that means text; says whether the text is another now.
    pub fn type_key(&mut self, event: KeyEvent) -> bool {
        let is_changed = type_into(&mut self.typed, event);
        if is_changed {
            self.list = List::default();
            self.narrow();
        }
        is_changed
    }

    /// How many items there are to look into.
    pub fn count(&self) -> usize {
        self.texts.len()
    }

    /// The items that match, in the order of their rows.
    pub fn matches(&self) -> &[usize] {
        &self.matches
    }

    /// The place of the selected item among all.
    pub fn selected(&self) -> Option<usize> {
        if !self.shown.is_typed() {
            return Some(self.list.selected);
        }
        let last = self.matches.len().checked_sub(1)?;
        self.matches.get(self.list.selected.min(last)).copied()
    }

    /// Selects the item at this place, if it matches.
    pub fn select(&mut self, place: usize) {
        if let Some(row) = self.matches.iter().position(|left| *left == place) {
            self.list.selected = row;
        }
    }

    /// Leaves the items that match: earlier questions by each of the words, in their order; all else
    /// by letters with others between them, the best match first.
    fn narrow(&mut self) {
        let (ignore, smart) = (CaseMatching::Ignore, Normalization::Smart);
        let are_words = matches!(self.shown, Overlay::Recall(_));
        let pattern = if are_words {
            Pattern::new(&self.typed, ignore, smart, AtomKind::Substring)
        } else {
            Pattern::parse(&self.typed, ignore, smart)
        };
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let scored = self.texts.iter().enumerate().filter_map(|(place, text)| {
            let score = pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher)?;
            Some((score, place))
        });
        let mut scored: Vec<(u32, usize)> = scored.collect();
        if !are_words {
            scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
        self.matches = scored.into_iter().map(|(_, place)| place).collect();
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

    fn left(typed: &str, shown: Overlay) -> Vec<usize> {
        let texts = ["two gates", "Compare the gates", "the second one"];
        let mut window = Window::new(shown);
        window.set_texts(texts.map(str::to_owned).to_vec());
        window.set_typed(typed);
        window.matches().to_vec()
    }

    #[test]
    fn letters_find_the_best_and_words_keep_the_order() {
        assert_eq!(left("", Overlay::Palette(Vec::new())), [0, 1, 2]);
        assert_eq!(left("cmpgts", Overlay::Palette(Vec::new())), [1]);
        assert_eq!(left("gates", Overlay::Recall(Vec::new())), [0, 1]);
        assert_eq!(left("gates THE", Overlay::Recall(Vec::new())), [1]);
        assert_eq!(left("cmpgts", Overlay::Recall(Vec::new())), [0; 0]);
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
