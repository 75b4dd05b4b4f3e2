//! The marks of an answer's citations: which is selected, and what is under the mouse.

use unicode_width::UnicodeWidthStr;

use crate::tui::ink::{Ink, Piece, Row};
use crate::tui::model::Model;

/// The turn that the panes show and the number of its citation that is selected.
pub fn selected(model: &Model) -> Option<(usize, usize)> {
    let turn = model.shown_at()?;
    let citations = &model.turns.get(turn)?.exchange().citations;
    let citation = citations.get(model.chat.citation?)?;
    Some((turn, citation.n))
}

/// Whether the row holds a mark of this citation.
pub fn marks(row: &Row, n: usize) -> bool {
    let mark = format!("[{n}]");
    let mut pieces = row.pieces.iter();
    pieces.any(|piece| piece.ink == Ink::Citation && piece.text.contains(&mark))
}

/// The row, each mark of this citation in the ink of what is chosen.
pub fn chosen(row: Row, n: usize) -> Row {
    let mark = format!("[{n}]");
    let mut marked = Row::default();
    for Piece {
        text,
        ink,
        emphasis,
    } in row.pieces
    {
        if ink != Ink::Citation {
            marked.push_emphatic(ink, emphasis, text);
            continue;
        }
        for (at, part) in text.split(&mark).enumerate() {
            if at > 0 {
                marked.push_emphatic(Ink::Chosen, emphasis, mark.as_str());
            }
            marked.push_emphatic(ink, emphasis, part);
        }
    }
    marked
}

/// The number of the citation whose mark is at that column of a row.
pub fn at_column(row: &Row, column: usize) -> Option<usize> {
    let mut left = 0;
    for piece in &row.pieces {
        let width = piece.text.width();
        if column >= left + width {
            left += width;
            continue;
        }
        if !matches!(piece.ink, Ink::Citation | Ink::Chosen) {
            return None;
        }
        // Marks are ASCII: cells are bytes.
        let before = piece.text.get(..=column - left)?;
        let rest = &piece.text[before.rfind('[')? + 1..];
        return rest[..rest.find(']')?].parse().ok();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_and_chosen_one_by_one() {
        let row = Row::new(Ink::Text, "比较 [2] ")
            .add(Ink::Citation, "[1][12]")
            .add(Ink::Text, " end");
        assert!(marks(&row, 12) && marks(&row, 1) && !marks(&row, 2));
        for (column, n) in [
            (4, None),
            (9, Some(1)),
            (11, Some(1)),
            (12, Some(12)),
            (15, Some(12)),
            (16, None),
            (90, None),
        ] {
            assert_eq!(at_column(&row, column), n, "column {column}");
        }
        let chosen = chosen(row.clone(), 1);
        assert_eq!(chosen.text(), row.text());
        let inks: Vec<_> = chosen
            .pieces
            .iter()
            .map(|piece| (piece.ink, piece.text.as_str()))
            .collect();
        assert_eq!(inks[1..3], [(Ink::Chosen, "[1]"), (Ink::Citation, "[12]")]);
    }
}
