//! What is being typed, and what was typed before.

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use tui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_width::UnicodeWidthStr;

use crate::domain::{FilterName, begins_mention, open_filter};
use crate::text::sanitize;

use super::caret::{grapheme_after, grapheme_before, line_at_caret, move_within_line};

/// The largest question that is sent, bytes.
pub const MAX_QUESTION: usize = 16 * 1024;

/// Rows that the prompt grows to.
pub const MAX_ROWS: u16 = 6;

/// The text being edited and the questions before it.
#[derive(Debug, Clone)]
pub struct Prompt {
    area: TextArea<'static>,
    history: Vec<String>,
    /// Which question of the history is shown, and what was typed before it.
    recalled: Option<(usize, String)>,
}

impl Default for Prompt {
    fn default() -> Self {
        Self {
            area: area_of(""),
            history: Vec::new(),
            recalled: None,
        }
    }
}

impl Prompt {
    /// The text.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        // Without a look at bytes: this is asked for every event.
        matches!(self.area.lines(), [line] if line.is_empty())
    }

    /// The line of a command, if one is being typed.
    pub fn slash(&self) -> Option<&str> {
        match self.area.lines() {
            [line] if line.starts_with('/') => Some(line),
            _ => None,
        }
    }

    /// What stands before the caret from an `@` on that begins a name, the mark included.
    pub fn mention(&self) -> Option<&str> {
        let (before, _) = line_at_caret(&self.area);
        let begins = |at: &usize| begins_mention(&before[..*at]);
        let at = before.match_indices('@').map(|(at, _)| at).rfind(begins)?;
        let name = &before[at + 1..];
        let is_open = match name.strip_prefix('"') {
            Some(quoted) => !quoted.contains('"'),
            None => !name.contains(char::is_whitespace),
        };
        is_open.then_some(&before[at..])
    }

    /// What stands before the caret from the name of a filter on, and which filter that is.
    pub fn filter(&self) -> Option<(&str, &'static FilterName)> {
        open_filter(line_at_caret(&self.area).0)
    }

    /// Writes this in the place of what [`Prompt::mention`] says, or [`Prompt::filter`].
    pub fn complete(&mut self, text: &str) {
        let typed = self.mention().or_else(|| Some(self.filter()?.0));
        let Some(typed) = typed.map(|typed| typed.chars().count()) else {
            return;
        };
        self.recalled = None;
        for _ in 0..typed {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    /// The editor, to be drawn.
    pub fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    /// Rows wanted at this width.
    pub fn rows(&self, width: u16) -> u16 {
        let width = usize::from(width.max(1));
        let mut rows = 0;
        for line in self.area.lines() {
            // The caret needs a cell behind the last character.
            rows += line.width() / width + 1;
            if rows >= usize::from(MAX_ROWS) {
                return MAX_ROWS;
            }
        }
        rows as u16
    }

    /// Which line the caret is in, where these rows do not show all of them: what does not fit is not
    /// lost, and who pasted it wants to know.
    pub fn counter(&self, rows: u16) -> Option<String> {
        let (line, lines) = (self.area.cursor().0 + 1, self.area.lines().len());
        (lines > usize::from(rows)).then(|| format!(" line {line} of {lines} "))
    }

    /// A key that means text.
    pub fn key(&mut self, key: KeyEvent) {
        self.recalled = None;
        let ctrl = key.modifiers == KeyModifiers::CONTROL;
        match key.code {
            // As in a shell; the editor would undo.
            KeyCode::Char('u') if ctrl => {
                self.area.delete_line_by_head();
            }
            KeyCode::Char('z') if ctrl => {
                self.area.undo();
            }
            // The editor takes one code point at a time, and would leave a part of an emoji.
            KeyCode::Char('h') if ctrl => self.delete_before(),
            KeyCode::Backspace if key.modifiers.is_empty() => self.delete_before(),
            KeyCode::Delete if key.modifiers.is_empty() && self.emoji_after() > 1 => {
                self.move_by(self.emoji_after().cast_signed());
                self.delete_before();
            }
            KeyCode::Left if key.modifiers.is_empty() && self.emoji_before() > 1 => {
                self.move_by(-self.emoji_before().cast_signed());
            }
            KeyCode::Right if key.modifiers.is_empty() && self.emoji_after() > 1 => {
                self.move_by(self.emoji_after().cast_signed());
            }
            _ => {
                self.area.input(key);
            }
        }
    }

    /// Deletes the character before the caret, or the emoji with all its code points.
    fn delete_before(&mut self) {
        for _ in 0..self.emoji_before() {
            self.area.delete_char();
        }
    }

    /// Moves the caret this many code points within its line.
    fn move_by(&mut self, by: isize) {
        move_within_line(&mut self.area, by);
    }

    /// Code points of the emoji before the caret; 1 where there is none.
    fn emoji_before(&self) -> usize {
        emoji_length(grapheme_before(&self.area))
    }

    /// Code points of the emoji after the caret; 1 where there is none.
    fn emoji_after(&self) -> usize {
        emoji_length(grapheme_after(&self.area))
    }

    /// Inserts a line break.
    pub fn newline(&mut self) {
        self.recalled = None;
        self.area.insert_newline();
    }

    /// Pasted text, as one edit.
    pub fn paste(&mut self, text: &str) {
        self.recalled = None;
        self.area.insert_str(sanitize(text));
    }

    /// Replaces the text.
    pub fn set(&mut self, text: &str) {
        self.area = area_of(text);
        self.recalled = None;
    }

    /// Remembers a question that was sent.
    pub fn remember(&mut self, question: &str) {
        if self.history.last().is_none_or(|last| last != question) {
            self.history.push(question.to_owned());
        }
        self.recalled = None;
    }

    /// Questions of earlier conversations, the newest last; they come before those of this one.
    pub fn remember_earlier(&mut self, questions: &[String]) {
        let here: HashSet<&String> = self.history.iter().collect();
        let known = |question: &String| !here.contains(question);
        let clean = questions
            .iter()
            .map(|question| sanitize(question).into_owned());
        let mut history: Vec<String> = clean.filter(known).collect();
        if let Some((at, _)) = &mut self.recalled {
            *at += history.len();
        }
        history.append(&mut self.history);
        self.history = history;
    }

    /// The questions before, the newest first, each once.
    pub fn earlier(&self) -> Vec<String> {
        let mut known = HashSet::new();
        let newest_first = self.history.iter().rev();
        let once = newest_first.filter(|question| known.insert(question.as_str()));
        once.cloned().collect()
    }

    /// Recalls the previous question if the caret is in the first row.
    pub fn history_previous(&mut self, key: KeyEvent) {
        if self.area.screen_cursor().row > 0 {
            self.area.input(key);
            return;
        }
        let at = self.recalled.as_ref().map_or(self.history.len(), |r| r.0);
        let Some(before) = at.checked_sub(1) else {
            return;
        };
        let Some(question) = self.history.get(before).cloned() else {
            return;
        };
        let typed = self.recalled.take().map_or_else(|| self.text(), |r| r.1);
        self.area = area_of(&question);
        self.recalled = Some((before, typed));
    }

    /// Recalls the next question if the caret is in the last row.
    pub fn history_next(&mut self, key: KeyEvent) {
        if self.area.cursor().0 + 1 < self.area.lines().len() {
            self.area.input(key);
            return;
        }
        let Some((at, typed)) = self.recalled.take() else {
            self.area.input(key);
            return;
        };
        match self.history.get(at + 1).cloned() {
            Some(question) => {
                self.area = area_of(&question);
                self.recalled = Some((at + 1, typed));
            }
            None => self.area = area_of(&typed),
        }
    }
}

/// Code points of an emoji that is written with several; 1 for any other character, whose marks are
/// taken back one by one.
fn emoji_length(grapheme: &str) -> usize {
    let is_part = |c| {
        matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{20e3}' | '\u{1f1e6}'..='\u{1f1ff}'
            | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
    };
    // A joiner within a script that joins is a mark too.
    let begins_with_letter = grapheme.starts_with(char::is_alphabetic);
    if begins_with_letter || !grapheme.chars().any(is_part) {
        return 1;
    }
    grapheme.chars().count()
}

fn area_of(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    area.set_cursor_line_style(Style::new());
    // The terminal's own cursor stands at the caret, so that input methods open there.
    area.set_cursor_style(Style::new());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_deleted_whole_and_marks_one_by_one() {
        let pressed = |text: &str, keys: &[KeyCode]| {
            let mut prompt = Prompt::default();
            prompt.set(text);
            for code in keys {
                prompt.key(KeyEvent::new(*code, KeyModifiers::NONE));
            }
            prompt.text()
        };
        let backspace = [KeyCode::Backspace];
        for emoji in [
            "👨\u{200d}👩\u{200d}👧",
            "👍🏽",
            "🇩🇪",
            "⚠\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "🔥",
        ] {
            assert_eq!(pressed(&format!("a{emoji}"), &backspace), "a", "{emoji}");
            let moved = [
                KeyCode::Left,
                KeyCode::Left,
                KeyCode::Right,
                KeyCode::Delete,
            ];
            assert_eq!(pressed(&format!("a{emoji}"), &moved), "a", "{emoji}");
        }
        assert_eq!(pressed("e\u{301}", &backspace), "e");
        assert_eq!(pressed("नि", &backspace), "न");
        assert_eq!(pressed("क्\u{200d}ष", &backspace), "क्\u{200d}");
        assert_eq!(pressed("한", &backspace), "");
    }
}
