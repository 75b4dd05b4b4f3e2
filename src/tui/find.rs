//! The search in the conversation: what is looked for and which match is shown.

use std::ops::Range;

use crossterm::event::KeyEvent;
use unicode_width::UnicodeWidthChar;

use super::ink::{Ink, Row};
use super::keymap::Action;
use super::pane_state::ChatScroll;
use super::turns::{GUTTER, TurnView};
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

// What the search finds in the conversation: where, and how it is marked.

/// A conversation that holds more of them is searched for something longer.
const MOST_MATCHES: usize = 10_000;

/// Finds what is looked for, of what was searched before only what may have changed. `text_of` gives
/// the rows of a turn as they are laid out at this width, one a line.
pub fn search(
    find: &mut Find,
    turns: &[TurnView],
    text_of: impl Fn(&TurnView) -> String,
    width: usize,
) {
    let searched = &mut find.searched;
    if searched.width != width || turns.len() < searched.texts.len() {
        (searched.width, searched.done) = (width, 0);
        searched.texts.clear();
    }
    if searched.typed != find.typed {
        searched.typed.clone_from(&find.typed);
        searched.done = 0;
    }
    let has_ended = |turn: &&TurnView| turn.exchange().finish.is_some();
    let more = turns[searched.texts.len()..].iter().take_while(has_ended);
    let more = more.map(|turn| text_of(turn).into_boxed_str());
    searched.texts.extend(more);
    let first = searched.done;
    let known = find.matches.partition_point(|found| found.turn < first);
    find.matches.truncate(known);
    let wanted = folded(&find.typed);
    if wanted.is_empty() {
        return;
    }
    for (at, turn) in turns.iter().enumerate().skip(first) {
        match searched.texts.get(at) {
            Some(text) => matches(at, text, &wanted, &mut find.matches),
            None => matches(at, &text_of(turn), &wanted, &mut find.matches),
        }
    }
    searched.done = searched.texts.len();
}

/// Where these rows hold the text: letters of either case are the same, and the end of a row is a
/// space.
fn matches(turn: usize, rows: &str, wanted: &[char], found: &mut Vec<FoundRange>) {
    if found.len() >= MOST_MATCHES {
        return;
    }
    let text = letters(rows);
    let mut from = 0;
    while found.len() < MOST_MATCHES && from + wanted.len() <= text.len() {
        let here = &text[from..from + wanted.len()];
        if here.iter().zip(wanted).all(|(at, c)| at.letter == *c) {
            let parts = parts(here);
            found.push(FoundRange { turn, parts });
            from += wanted.len();
        } else {
            from += 1;
        }
    }
}

/// A letter and where it stands; a space between two rows stands nowhere.
struct PlacedLetter {
    letter: char,
    place: Option<(usize, usize)>,
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn folded(typed: &str) -> Vec<char> {
    let words: Vec<&str> = typed.split_whitespace().collect();
    words.join(" ").chars().map(lower).collect()
}

fn letters(rows: &str) -> Vec<PlacedLetter> {
    let mut text: Vec<PlacedLetter> = Vec::new();
    let is_wide = |c: char| c.width() == Some(2);
    for (at, line) in rows.lines().enumerate() {
        let line = line.trim_end();
        let mut begun = false;
        for (column, c) in line.chars().enumerate().skip(GUTTER) {
            if c.is_whitespace() && !begun {
                continue;
            }
            let last = text.last().map(|last| last.letter);
            // Scripts without spaces are broken anywhere.
            if !begun && last.is_some_and(|last| !(is_wide(last) && is_wide(c))) {
                text.push(PlacedLetter {
                    letter: ' ',
                    place: None,
                });
            }
            begun = true;
            let is_double = c.is_whitespace() && text.last().is_some_and(|last| last.letter == ' ');
            if !is_double {
                text.push(PlacedLetter {
                    letter: if c.is_whitespace() { ' ' } else { lower(c) },
                    place: Some((at, column)),
                });
            }
        }
    }
    text
}

fn parts(letters: &[PlacedLetter]) -> Vec<(usize, Range<usize>)> {
    let mut parts: Vec<(usize, Range<usize>)> = Vec::new();
    for (row, column) in letters.iter().filter_map(|letter| letter.place) {
        match parts.last_mut() {
            Some((last, range)) if *last == row => range.end = column + 1,
            _ => parts.push((row, column..column + 1)),
        }
    }
    parts
}

/// Marks the matches in the rows that are seen; the one that is shown stands out.
pub fn mark(find: &Find, chat: &mut ChatScroll) {
    let mut place = chat.from;
    for (row, turn) in chat.visible.iter_mut().zip(&chat.turns) {
        if *turn != place.0 {
            place = (*turn, 0);
        }
        for (at, found) in find.matches.iter().enumerate() {
            let parts = found.parts.iter();
            let here = parts.filter(|part| (found.turn, part.0) == place);
            let is_shown = find.at == Some(at);
            let ink = if is_shown { Ink::Chosen } else { Ink::Match };
            for (_, range) in here {
                *row = inked(std::mem::take(row), range, ink);
            }
        }
        place.1 += 1;
    }
}

/// The row, those characters in that ink.
fn inked(row: Row, range: &Range<usize>, ink: Ink) -> Row {
    let mut at = 0;
    row.mark(ink, |piece| {
        let bytes = piece.text.char_indices().map(|(byte, _)| byte);
        let bytes: Vec<usize> = bytes.chain([piece.text.len()]).collect();
        let length = bytes.len() - 1;
        let byte = |column: usize| bytes[column.clamp(at, at + length) - at];
        let stretch = byte(range.start)..byte(range.end);
        at += length;
        vec![stretch]
    })
}

#[cfg(test)]
mod found_tests {
    use super::*;

    fn rows(lines: &[&str]) -> String {
        let rows = lines.iter().map(|line| format!("       {line}\n"));
        rows.collect::<Vec<_>>().concat()
    }

    #[test]
    fn matches_go_over_the_end_of_a_row() {
        let turns = [
            rows(&["The Query", "  engine reads"]),
            rows(&["比较两个查", "询引擎 query engine"]),
        ];
        let find = |typed| {
            let mut found = Vec::new();
            for (turn, rows) in turns.iter().enumerate() {
                matches(turn, rows, &folded(typed), &mut found);
            }
            found
        };
        let found = find("query  ENGINE");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].parts, [(0, 11..16), (1, 9..15)]);
        assert_eq!(
            (found[1].turn, &found[1].parts[..]),
            (1, &[(1, 11..23)][..])
        );
        assert_eq!(find("查询")[0].parts, [(0, 11..12), (1, 7..8)]);
        assert!(find("enginereads").is_empty() && folded(" ").is_empty());
    }

    #[test]
    fn only_what_matches_is_marked() {
        let row = Row::new(Ink::Text, "       a wide ").add(Ink::Code, "word here");
        let marked = inked(row.clone(), &(9..16), Ink::Match);
        assert_eq!(marked.text(), row.text());
        let of = |ink| {
            let pieces = marked.pieces.iter().filter(move |piece| piece.ink == ink);
            pieces.map(|piece| piece.text.as_str()).collect::<String>()
        };
        assert_eq!(of(Ink::Match), "wide wo");
        assert_eq!(of(Ink::Code), "rd here");
    }
}
