//! Breaking rows at a width, for scripts with and without spaces.
//!
//! The unit is the grapheme, measured in cells, so a wide character is never cut in half. A line
//! may break after a space and beside a wide character, but not before closing punctuation.

use unicode_segmentation::UnicodeSegmentation;

use super::ink::{Emphasis, Ink, Row, cells};

/// `row` in lines of at most `width` cells: the first begins with `first`, the others with `rest`.
pub fn wrap(row: &Row, first: &Row, rest: &Row, width: usize) -> Vec<Row> {
    let mut lines = Vec::new();
    let mut line = WrappedLine::new(first, width);
    for piece in &row.pieces {
        let mut accept = |text, cells| {
            let cell = Cell {
                text,
                width: cells,
                ink: piece.ink,
                emphasis: piece.emphasis,
            };
            lines.extend(line.accept(cell, rest, width));
        };
        if piece.text.is_ascii() {
            // Every character is a grapheme.
            for at in 0..piece.text.len() {
                accept(&piece.text[at..=at], 1);
            }
        } else {
            for grapheme in piece.text.graphemes(true) {
                accept(grapheme, cells(grapheme));
            }
        }
    }
    lines.push(line.finish());
    lines
}

#[derive(Clone, Copy)]
struct Cell<'a> {
    text: &'a str,
    width: usize,
    ink: Ink,
    emphasis: Emphasis,
}

impl Cell<'_> {
    fn is_space(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    fn closes(&self) -> bool {
        matches!(
            self.text,
            "，" | "。"
                | "！"
                | "？"
                | "；"
                | "："
                | "、"
                | "）"
                | "」"
                | "』"
                | "》"
                | "】"
                | "”"
                | "…"
        )
    }
}

struct WrappedLine<'a> {
    prefix: Row,
    room: usize,
    cells: Vec<Cell<'a>>,
    used: usize,
    /// After how many cells the line may be broken.
    last_break: usize,
}

impl<'a> WrappedLine<'a> {
    fn new(prefix: &Row, width: usize) -> Self {
        let prefix = if prefix.width() * 2 > width {
            Row::default()
        } else {
            prefix.clone()
        };
        Self {
            room: width.saturating_sub(prefix.width()).max(1),
            prefix,
            cells: Vec::new(),
            used: 0,
            last_break: 0,
        }
    }

    fn accept(&mut self, cell: Cell<'a>, rest: &Row, width: usize) -> Option<Row> {
        if cell.width > self.room {
            return None;
        }
        let mut full = None;
        if self.used + cell.width > self.room {
            // A wide character may begin a line wherever it stands, closing punctuation never may.
            let at = match self.cells.len() {
                count if cell.is_space() || (cell.width > 1 && !cell.closes()) => count,
                count if cell.closes() && self.last_break == count => count - 1,
                _ => self.last_break,
            };
            let carried = if at > 0 {
                self.cells.split_off(at)
            } else {
                Vec::new()
            };
            let mut next = WrappedLine::new(rest, width);
            for moved in carried {
                next.push(moved);
            }
            full = Some(std::mem::replace(self, next).finish());
            if cell.is_space() {
                return full;
            }
        }
        self.push(cell);
        full
    }

    fn push(&mut self, cell: Cell<'a>) {
        if cell.width > 1 && !cell.closes() && !self.cells.is_empty() {
            self.last_break = self.cells.len();
        }
        self.used += cell.width;
        let breaks_after = cell.is_space() || cell.width > 1;
        self.cells.push(cell);
        if breaks_after && !self.cells.iter().all(Cell::is_space) {
            self.last_break = self.cells.len();
        }
    }

    fn finish(mut self) -> Row {
        while self.cells.last().is_some_and(Cell::is_space) {
            self.cells.pop();
        }
        let mut row = self.prefix;
        for cell in self.cells {
            row.push_emphatic(cell.ink, cell.emphasis, cell.text);
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
