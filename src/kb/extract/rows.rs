//! Tables of data, one line a row: `Header: value; Header: value`.
//!
//! A row of numbers means nothing without its header, and a search finds rows, not tables. So each
//! row says itself what its values are. A header is recognised, not assumed: many sheets begin
//! with a title, and some have no header at all.

use super::draft::Draft;
use super::{Extraction, Shape, SkipReason};
use crate::domain::PlaceUnit;

/// How far down a header is looked for.
const HEADER_WITHIN: usize = 10;
/// How many rows tell how wide a table is.
const SAMPLE: usize = 50;
/// No name of a column is longer.
const MAX_HEADER_CHARS: usize = 80;

/// Rows under one name.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    name: Option<String>,
    rows: Vec<Row>,
}

/// The cells of a row that hold something.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// As the program that made it counts, from 1.
    number: usize,
    /// Column, from 0, and value; in order.
    cells: Vec<(usize, String)>,
}

impl Sheet {
    pub fn named(name: String) -> Self {
        Self {
            name: Some(name).filter(|name| !name.is_empty()),
            rows: Vec::new(),
        }
    }

    /// Empty rows are not kept.
    pub fn push(&mut self, row: Row) {
        if !row.cells.is_empty() {
            self.rows.push(row);
        }
    }
}

impl Row {
    pub fn at(number: usize) -> Self {
        Self {
            number,
            cells: Vec::new(),
        }
    }

    pub fn number(&self) -> usize {
        self.number
    }

    /// Adds a value; empty ones are not kept.
    pub fn push(&mut self, column: usize, value: String) {
        if !value.trim().is_empty() {
            self.cells.push((column, value));
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
}

/// All sheets as one document.
pub(super) fn document(
    sheets: Vec<Sheet>,
    title: Option<String>,
) -> Result<Extraction, SkipReason> {
    let mut draft = Draft::default();
    for sheet in sheets {
        let header = header(&sheet.rows);
        let name = sheet.name.as_deref();
        for (at, row) in sheet.rows.iter().enumerate() {
            draft.begin(PlaceUnit::Row, name, row.number);
            let line = match header {
                Some(header) if at > header => with_header(&sheet.rows[header], row),
                _ => row.joined(),
            };
            draft.push(&line);
            if draft.is_full() {
                break;
            }
        }
    }
    draft.finish(Shape::Rows, title, "its cells are empty")
}

fn with_header(header: &Row, row: &Row) -> String {
    let mut line = String::new();
    let mut names = header.cells.iter().peekable();
    for (column, value) in &row.cells {
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

/// Which row names the columns: the first that is as wide as the table and says only words, each
/// once, with data below it.
fn header(rows: &[Row]) -> Option<usize> {
    let sample = &rows[..rows.len().min(SAMPLE)];
    let width = sample.iter().map(|row| row.cells.len()).max()?;
    let at = sample.iter().take(HEADER_WITHIN).position(|row| {
        let wide = row.cells.len() >= 2 && row.cells.len() * 10 >= width * 6;
        let names: Vec<&str> = row.cells.iter().map(|(_, value)| value.trim()).collect();
        let mut distinct = names.clone();
        distinct.sort_unstable();
        distinct.dedup();
        wide && distinct.len() == names.len() && names.iter().all(|name| is_name(name))
    });
    at.filter(|at| at + 1 < rows.len())
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

    fn sheet(rows: &[&[&str]]) -> Sheet {
        let mut sheet = Sheet::named("Costs".to_owned());
        for (at, cells) in rows.iter().enumerate() {
            let mut row = Row::at(at + 1);
            for (column, value) in cells.iter().enumerate() {
                row.push(column, (*value).to_owned());
            }
            sheet.push(row);
        }
        sheet
    }

    #[test]
    fn each_row_says_what_its_values_are() {
        let sheet = sheet(&[
            &["Budget of the year"],
            &[],
            &["Project", "Owner", "2024"],
            &["Atlas", "", "12"],
            &["Borealis", "Two\nlines", "7"],
        ]);
        let document = document(vec![sheet], None).unwrap();
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
        let sheet = sheet(&[&["1", "2.5"], &["3", "x"]]);
        assert_eq!(document(vec![sheet], None).unwrap().text, "1; 2.5\n3; x\n");
    }
}
