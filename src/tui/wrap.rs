//! Breaking rows at a width, for scripts with and without spaces.
//!
//! The unit is the grapheme, measured in cells, so a wide character is never cut in half. A line
//! may break after a space and beside a wide character, but not before closing punctuation.

use unicode_segmentation::UnicodeSegmentation;

use super::ink::{Piece, Row, cells};

/// Punctuation that no line begins with.
const CLOSING: &str = "，。！？；：、）」』》】”…";

/// `row` in lines of at most `width` cells: the first begins with `first`, the others with `rest`.
pub fn wrap(row: &Row, first: &Row, rest: &Row, width: usize) -> Vec<Row> {
    let cells = cells_of(row);
    let mut lines = Vec::new();
    let mut left = &cells[..];
    while lines.is_empty() || !left.is_empty() {
        let prefix = if lines.is_empty() { first } else { rest };
        let prefix = Some(prefix).filter(|prefix| prefix.width() * 2 <= width);
        let mut line = prefix.cloned().unwrap_or_default();
        let room = width.saturating_sub(line.width()).max(1);
        let (end, next) = line_end(left, room);
        let is_text = |cell: &Cell<'_>| !cell.is_space;
        let end = left[..end].iter().rposition(is_text).map_or(0, |at| at + 1);
        let has_room = |cell: &Cell<'_>| cell.width <= room;
        // What stands together in a piece goes over as a whole.
        let is_together = |one: &Cell<'_>, next: &Cell<'_>| {
            std::ptr::eq(one.piece, next.piece) && has_room(one) && has_room(next)
        };
        for cells in left[..end].chunk_by(is_together) {
            let (piece, first, last) = (cells[0].piece, &cells[0], &cells[cells.len() - 1]);
            if has_room(first) {
                let text = &piece.text[first.start..last.end];
                line.push_emphatic(piece.ink, piece.emphasis, text);
            }
        }
        lines.push(line);
        left = &left[next..];
    }
    lines
}

/// `row` in lines of at most `width` cells.
pub fn wrap_plain(row: &Row, width: usize) -> Vec<Row> {
    wrap(row, &Row::default(), &Row::default(), width)
}

struct Cell<'a> {
    piece: &'a Piece,
    /// Where it begins and ends in the text of its piece.
    start: usize,
    end: usize,
    width: usize,
    is_space: bool,
}

impl Cell<'_> {
    fn closes(&self) -> bool {
        !self.piece.text.is_ascii() && CLOSING.contains(&self.piece.text[self.start..self.end])
    }

    /// Whether a line may begin with it wherever it stands.
    fn is_wide(&self) -> bool {
        self.width > 1 && !self.closes()
    }
}

fn cells_of(row: &Row) -> Vec<Cell<'_>> {
    let mut all = Vec::new();
    for piece in &row.pieces {
        let text = piece.text.as_str();
        if text.is_ascii() {
            // Every character is a grapheme.
            all.extend(text.bytes().enumerate().map(|(start, byte)| Cell {
                piece,
                start,
                end: start + 1,
                width: 1,
                is_space: byte.is_ascii_whitespace(),
            }));
        } else {
            all.extend(text.grapheme_indices(true).map(|(start, text)| Cell {
                piece,
                start,
                end: start + text.len(),
                width: cells(text),
                is_space: text.chars().all(char::is_whitespace),
            }));
        }
    }
    all
}

/// How many cells the next line takes, and where the one below it begins. What is wider than a line is
/// left out.
fn line_end(cells: &[Cell<'_>], room: usize) -> (usize, usize) {
    let (mut used, mut last_break, mut is_blank) = (0, 0, true);
    for (at, cell) in cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.width <= room)
    {
        if used + cell.width > room {
            let end = match at {
                _ if cell.is_space || cell.is_wide() => at,
                _ if cell.closes() && last_break == at => at - 1,
                _ => last_break,
            };
            let end = if end == 0 { at } else { end };
            return (end, end + usize::from(cell.is_space));
        }
        if cell.is_wide() && at > 0 {
            last_break = at;
        }
        used += cell.width;
        is_blank &= cell.is_space;
        if (cell.is_space || cell.width > 1) && !is_blank {
            last_break = at + 1;
        }
    }
    (cells.len(), cells.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::ink::Ink;

    fn lines(text: &str, width: usize) -> Vec<String> {
        wrap(
            &Row::new(Ink::Text, text),
            &Row::default(),
            &Row::default(),
            width,
        )
        .iter()
        .map(Row::text)
        .collect()
    }

    #[test]
    fn words_stay_whole_and_long_ones_are_cut() {
        assert_eq!(lines("the query engine", 9), ["the query", "engine"]);
        assert_eq!(lines("see abcdefghijk", 5), ["see", "abcde", "fghij", "k"]);
        assert_eq!(lines("", 5), [""]);
    }

    #[test]
    fn wide_characters_are_never_halved() {
        assert_eq!(lines("比较索引与查询", 5), ["比较", "索引", "与查", "询"]);
        assert_eq!(lines("对 query 的比较。", 8), ["对 query", "的比较。"]);
        assert_eq!(lines("比", 1), [""]);
    }

    #[test]
    fn continued_lines_hang() {
        let rows = wrap(
            &Row::new(Ink::Text, "one two three"),
            &Row::new(Ink::Dim, "- "),
            &Row::new(Ink::Dim, "  "),
            9,
        );
        let rows: Vec<_> = rows.iter().map(Row::text).collect();
        assert_eq!(rows, ["- one two", "  three"]);
    }
}
