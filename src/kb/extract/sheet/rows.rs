//! Tables of data, one line a row: `Header: value; Header: value`.
//!
//! A row of numbers means nothing without its header, and a search finds rows, not tables. So each
//! row says itself what its values are. A header is recognised, not assumed: many sheets begin
//! with a title, and some have no header at all.

use crate::domain::PlaceUnit;
use crate::kb::extract::draft;
use crate::kb::extract::draft::{Draft, MAX_TEXT_BYTES};
use crate::kb::extract::{Extraction, SkipReason, TextLayout};
use crate::text::one_line;

/// How far down a header is looked for.
const HEADER_WITHIN: usize = 10;
/// How many rows tell how wide a table is.
const SAMPLE: usize = 50;
/// No name of a column is longer.
const MAX_HEADER_CHARS: usize = 80;
/// Four times what Excel takes.
const MAX_SHEET_NAME_CHARS: usize = 124;

/// Cells of one workbook, however small; more than fit on any screen.
const MAX_CELLS: usize = 4_000_000;
/// Sheets of one workbook that are read.
const MAX_SHEETS: usize = 10_000;

/// The cells of all sheets of a workbook that hold something.
///
/// A few bytes of a workbook can ask for very many cells, or for one long text in very many of
/// them. So cells are kept in one place, in few bytes each, and counted as they come.
#[derive(Debug, Default)]
pub(crate) struct Workbook {
    sheets: Vec<Sheet>,
    cells: Vec<SheetCell>,
    text: String,
    missing: Vec<String>,
}

#[derive(Debug)]
struct Sheet {
    name: Option<String>,
    /// The first of its cells.
    from: usize,
}

#[derive(Debug, Clone, Copy)]
struct SheetCell {
    /// Row number, counted from 1 like the spreadsheet program does.
    row: u32,
    /// Column number, counted from 0.
    column: u32,
    /// Where in the text its value is.
    from: u32,
    to: u32,
}

impl Workbook {
    /// The cells that follow are of a sheet of that name, if any.
    pub fn begin(&mut self, name: &str) -> Result<(), SkipReason> {
        if self.sheets.len() == MAX_SHEETS {
            return Err(too_many(MAX_SHEETS, "sheets"));
        }
        self.sheets.push(Sheet {
            name: Some(one_line(name, MAX_SHEET_NAME_CHARS)).filter(|name| !name.is_empty()),
            from: self.cells.len(),
        });
        Ok(())
    }

    /// Adds a value, by its row from 1 and its column from 0, in any order; an empty one is not
    /// kept.
    pub fn push(&mut self, row: usize, column: usize, value: &str) -> Result<(), SkipReason> {
        if value.trim().is_empty() {
            return Ok(());
        }
        if self.cells.len() == MAX_CELLS {
            return Err(too_many(MAX_CELLS, "cells"));
        }
        if self.text.len() + value.len() > MAX_TEXT_BYTES {
            return Err(draft::too_much_text());
        }
        let from = self.text.len() as u32;
        self.text.push_str(value);
        self.cells.push(SheetCell {
            row: u32::try_from(row).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            from,
            to: self.text.len() as u32,
        });
        Ok(())
    }

    /// Notes something that the workbook holds and its rows do not.
    pub fn note_missing(&mut self, what: String) {
        self.missing.push(what);
    }

    /// All sheets as one document.
    pub fn document(mut self, title: Option<String>) -> Result<Extraction, SkipReason> {
        let mut draft = Draft::default();
        self.missing
            .iter()
            .for_each(|line| draft.note_missing(line));
        let ends: Vec<usize> = self.sheets.iter().skip(1).map(|next| next.from).collect();
        let ends = ends.into_iter().chain([self.cells.len()]);
        for (sheet, end) in self.sheets.iter().zip(ends) {
            let cells = &mut self.cells[sheet.from..end];
            cells.sort_by_key(|cell| (cell.row, cell.column));
            add(&mut draft, sheet.name.as_deref(), cells, &self.text);
        }
        draft.finish(TextLayout::Rows, title, "its cells are empty")
    }
}

fn too_many(most: usize, what: &str) -> SkipReason {
    SkipReason::UnpacksTooMuch(format!("over {most} {what}"))
}

/// Adds a sheet, its cells in order, row by row.
fn add(draft: &mut Draft, name: Option<&str>, cells: &[SheetCell], text: &str) {
    let rows = cells.chunk_by(|cell, next| cell.row == next.row);
    let rows = rows.map(|cells| SheetRow::new(cells, text));
    let sample: Vec<SheetRow<'_>> = rows.clone().take(SAMPLE).collect();
    let header = header(&sample);
    for (at, row) in rows.enumerate() {
        draft.begin(PlaceUnit::Row, name, row.number);
        let line = match header {
            Some(header) if at > header => row.under(&sample[header]),
            _ => row.joined(),
        };
        draft.push(&line);
        if draft.is_full() {
            break;
        }
    }
}

/// The cells of a row that hold something.
struct SheetRow<'a> {
    number: usize,
    /// Column and value, in order.
    cells: Vec<(u32, &'a str)>,
}

impl<'a> SheetRow<'a> {
    fn new(cells: &[SheetCell], text: &'a str) -> Self {
        let value = |cell: &SheetCell| &text[cell.from as usize..cell.to as usize];
        Self {
            number: cells.first().map_or(1, |cell| cell.row as usize),
            cells: cells
                .iter()
                .map(|cell| (cell.column, value(cell)))
                .collect(),
        }
    }

    fn joined(&self) -> String {
        let values: Vec<String> = self
            .cells
            .iter()
            .map(|(_, value)| on_one_line(value))
            .collect();
        values.join("; ")
    }

    /// Each value with the name of its column before it.
    fn under(&self, header: &Self) -> String {
        let mut line = String::new();
        let mut names = header.cells.iter().peekable();
        for (column, value) in &self.cells {
            while names.next_if(|(named, _)| named < column).is_some() {}
            if !line.is_empty() {
                line.push_str("; ");
            }
            if let Some((_, name)) = names.next_if(|(named, _)| named == column) {
                line.push_str(on_one_line(name).trim_end_matches(':'));
                line.push_str(": ");
            }
            line.push_str(&on_one_line(value));
        }
        line
    }
}

/// Which row names the columns: the first that is as wide as the table and says only words, each
/// once, with data below it.
fn header(sample: &[SheetRow<'_>]) -> Option<usize> {
    let width = sample.iter().map(|row| row.cells.len()).max()?;
    let at = sample.iter().take(HEADER_WITHIN).position(|row| {
        let wide = row.cells.len() >= 2 && row.cells.len() * 10 >= width * 6;
        let names: Vec<&str> = row.cells.iter().map(|(_, value)| value.trim()).collect();
        let mut distinct = names.clone();
        distinct.sort_unstable();
        distinct.dedup();
        wide && distinct.len() == names.len() && names.iter().all(|name| is_name(name))
    });
    at.filter(|at| at + 1 < sample.len())
}

fn is_name(value: &str) -> bool {
    let words = value.chars().any(char::is_alphabetic);
    // A year may name a column; an amount, a date or an address does not.
    let year = value.len() == 4 && value.bytes().all(|byte| byte.is_ascii_digit());
    let data = value.contains(['@', '\n']) || value.contains("://");
    (words && !data || year) && value.chars().count() <= MAX_HEADER_CHARS
}

fn on_one_line(value: &str) -> String {
    let words: Vec<&str> = value.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workbook(rows: &[&[&str]]) -> Workbook {
        let mut workbook = Workbook::default();
        workbook.begin("Costs").unwrap();
        for (at, cells) in rows.iter().enumerate() {
            for (column, value) in cells.iter().enumerate() {
                workbook.push(at + 1, column, value).unwrap();
            }
        }
        workbook
    }

    #[test]
    fn each_row_says_what_its_values_are() {
        let workbook = workbook(&[
            &["Budget of the year"],
            &[],
            &["Project", "Owner", "2024"],
            &["Atlas", "", "12"],
            &["Borealis", "Two\nlines", "7"],
        ]);
        let document = workbook.document(None).unwrap();
        let lines: Vec<&str> = document.text.lines().collect();
        assert_eq!(
            lines,
            [
                "Budget of the year",
                "Project; Owner; 2024",
                "Project: Atlas; 2024: 12",
                "Project: Borealis; Owner: Two lines; 2024: 7",
            ]
        );
        assert_eq!(document.places[3].place.to_string(), "Costs row 5");
    }

    #[test]
    fn data_without_a_header_stays_as_it_is() {
        let workbook = workbook(&[&["1", "2.5"], &["3", "x"]]);
        assert_eq!(workbook.document(None).unwrap().text, "1; 2.5\n3; x\n");
    }

    #[test]
    fn cells_out_of_order_are_put_in_order_within_their_sheet() {
        let mut workbook = Workbook::default();
        for (name, cells) in [
            ("A", [(9, 1, "d"), (2, 0, "a")]),
            ("B", [(1, 3, "y"), (1, 0, "x")]),
        ] {
            workbook.begin(name).unwrap();
            for (row, column, value) in cells {
                workbook.push(row, column, value).unwrap();
            }
        }
        let document = workbook.document(None).unwrap();
        assert_eq!(document.text, "a\nd\nx; y\n");
        assert_eq!(document.places[2].place.to_string(), "B row 1");
    }

    #[test]
    fn one_text_in_many_cells_is_counted_as_often() {
        let mut workbook = Workbook::default();
        workbook.begin("").unwrap();
        let value = "x".repeat(MAX_TEXT_BYTES / 4);
        let pushed = (1..=5).map(|row| workbook.push(row, 0, &value).is_ok());
        assert_eq!(pushed.collect::<Vec<_>>(), [true, true, true, true, false]);
    }
}
