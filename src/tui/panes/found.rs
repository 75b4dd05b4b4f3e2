//! What the search finds in the conversation: where, and how it is marked.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::tui::find::{Find, FoundRange};
use crate::tui::ink::{Ink, Piece, Row};
use crate::tui::model::{Model, TurnView};

use super::turn_rows::GUTTER;

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
            found.push(FoundRange {
                turn,
                parts: parts(here),
            });
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
pub fn mark(model: &mut Model) {
    let Some(find) = &model.find else {
        return;
    };
    let chat = &mut model.chat;
    let (first, skipped) = chat.from;
    let mut place = (first, skipped);
    for (row, turn) in chat.visible.iter_mut().zip(&chat.turns) {
        if *turn != place.0 {
            place = (*turn, 0);
        }
        let before = find.matches.partition_point(|found| found.turn < place.0);
        let of_turn = find.matches[before..].iter();
        let of_turn = of_turn.take_while(|found| found.turn == place.0);
        for (at, found) in of_turn.enumerate() {
            let ink = if find.at == Some(before + at) {
                Ink::Chosen
            } else {
                Ink::Match
            };
            for (_, range) in found.parts.iter().filter(|(row, _)| *row == place.1) {
                *row = inked(std::mem::take(row), range, ink);
            }
        }
        place.1 += 1;
    }
}

/// The row, those characters in that ink.
fn inked(row: Row, range: &Range<usize>, ink: Ink) -> Row {
    let mut marked = Row::default();
    let mut at = 0;
    for Piece {
        text,
        ink: own,
        emphasis,
    } in row.pieces
    {
        let length = text.chars().count();
        let cut = |column: usize| {
            let column = column.clamp(at, at + length) - at;
            let end = text.char_indices().nth(column);
            end.map_or(text.len(), |(byte, _)| byte)
        };
        let (from, to) = (cut(range.start), cut(range.end));
        marked.push_emphatic(own, emphasis, &text[..from]);
        marked.push_emphatic(ink, emphasis, &text[from..to]);
        marked.push_emphatic(own, emphasis, &text[to..]);
        at += length;
    }
    marked
}

#[cfg(test)]
mod tests {
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
