//! Markdown tables as aligned text.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

use super::ink::with_citations;
use super::ink::{Ink, Row, pad};
use super::wrap::wrap;

/// A table as it is read.
#[derive(Default)]
pub struct Table {
    /// Alignment of each column.
    pub alignments: Vec<Alignment>,
    /// Rows of the table, its head first.
    pub rows: Vec<Vec<String>>,
    /// The cell being read.
    pub cell: String,
}

impl Table {
    const GAP: usize = 2;

    /// Lays the table out in lines of at most `width` cells: the widest columns are narrowed, and
    /// their cells take more lines.
    pub fn layout(self, width: usize) -> Vec<Row> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1_usize; columns];
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                widths[column] = widths[column].max(cell.width());
            }
        }
        let room = width.saturating_sub(Self::GAP * columns.saturating_sub(1));
        while widths.iter().sum::<usize>() > room.max(columns) {
            if let Some(widest) = widths.iter_mut().max() {
                *widest -= 1;
            }
        }
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let ink = if at == 0 { Ink::Heading } else { Ink::Text };
            let none = Row::default();
            let cells = row.iter().zip(&widths);
            let cells: Vec<Vec<Row>> = cells
                .map(|(cell, width)| wrap(&Row::new(ink, cell.as_str()), &none, &none, *width))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for below in 0..height {
                let mut line = Row::default();
                for (column, cell) in cells.iter().enumerate() {
                    let text = cell.get(below).map(Row::text).unwrap_or_default();
                    let text = text.trim_end();
                    let blank = widths[column].saturating_sub(text.width());
                    let text = match self.alignments.get(column) {
                        Some(Alignment::Right) => format!("{}{text}", " ".repeat(blank)),
                        Some(Alignment::Center) => {
                            pad(&format!("{}{text}", " ".repeat(blank / 2)), widths[column])
                        }
                        _ => pad(text, widths[column]),
                    };
                    let gap = if column == 0 { 0 } else { Self::GAP };
                    line.push(ink, format!("{}{text}", " ".repeat(gap)));
                }
                lines.push(with_citations(line).fit(width));
            }
            if at == 0 {
                let rule = widths
                    .iter()
                    .map(|&width| "─".repeat(width))
                    .collect::<Vec<_>>()
                    .join(&" ".repeat(Self::GAP));
                lines.push(Row::new(Ink::Border, rule).fit(width));
            }
        }
        lines
    }
}
