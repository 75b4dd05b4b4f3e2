//! Tables: every row a line that says what its values are.

use std::path::Path;

use office_oxide::xls;
use office_oxide::xls::XlsDocument;
use office_oxide::xlsx::{Cell, CellRef, CellValue, Worksheet, XlsxDocument};

use super::draft::{Draft, MAX_TEXT_BYTES};
use super::{Extraction, SkipReason, TextLayout, draft};
use crate::domain::PlaceUnit;
use crate::text::{extension, one_line, plural};

// Tables of data, one line a row: `Header: value; Header: value`.
//
// A row of numbers means nothing without its header, and a search finds rows, not tables. So each
// row says itself what its values are. A header is recognised, not assumed: many sheets begin
// with a title, and some have no header at all.

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

// Records with separators: CSV, TSV and their relatives.

/// How much tells the separator.
const SAMPLE_BYTES: usize = 16 * 1024;
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Reads every record; a broken one is passed over.
pub(crate) fn read_records(path: &Path, text: &str) -> Result<Extraction, SkipReason> {
    let separator = match extension(&path.to_string_lossy()).as_str() {
        "tsv" | "tab" => b'\t',
        _ => separator(text),
    };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut rows = Workbook::default();
    rows.begin("")?;
    for (at, record) in reader.records().enumerate() {
        let Ok(record) = record else { continue };
        for (column, value) in record.iter().enumerate() {
            rows.push(at + 1, column, value)?;
        }
    }
    rows.document(None)
}

/// The one that parts the first lines into the same number of fields, and the most of them.
fn separator(text: &str) -> u8 {
    let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    let best = SEPARATORS.into_iter().max_by_key(|separator| {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(*separator)
            .has_headers(false)
            .flexible(true)
            .from_reader(sample.as_bytes());
        let widths: Vec<usize> = reader
            .records()
            .take(20)
            .filter_map(Result::ok)
            .map(|record| record.len())
            .collect();
        let first = widths.first().copied().unwrap_or(1);
        let alike = widths.iter().filter(|width| **width == first).count();
        if first < 2 { (0, 0) } else { (alike, first) }
    });
    best.unwrap_or(b',')
}

// Workbooks of Excel, row by row, with the row numbers and the values that Excel shows.
//
// `office_oxide` reads the cells. Added to what it gives: a merged cell belongs to all its rows,
// codes keep their leading zeros, and a formula whose result is not in the file is named.

/// Reads a workbook of Excel 2007 or later, XLSX or XLSB.
pub(crate) fn xlsx(book: &XlsxDocument) -> Result<Extraction, SkipReason> {
    let mut rows = Workbook::default();
    for (name, error) in &book.unreadable_sheets {
        rows.note_missing(format!("sheet {name} cannot be read ({error})"));
    }
    let dates = book.date_style_indices();
    let mut shown = String::new();
    for sheet in &book.worksheets {
        rows.begin(&sheet.name)?;
        let mut without_result = Vec::new();
        for row in &sheet.rows {
            for cell in &row.cells {
                shown.clear();
                match padded(book, cell) {
                    Some(code) => shown.push_str(&code),
                    None => book.write_cell_value_fast(cell, &mut shown, &dates),
                }
                if let CellValue::Number(number) = cell.value
                    && let Some(span) = span(number, &shown)
                {
                    shown = span;
                }
                if cell.formula().is_some() && (shown.is_empty() || shown.starts_with('=')) {
                    without_result.push(cell.reference.to_string());
                }
                rows.push(row.index as usize, cell.reference.col as usize, &shown)?;
            }
        }
        fill_merged(&mut rows, book, sheet)?;
        for comment in sheet.comments.iter() {
            if let Some(cell) = CellRef::parse(&comment.cell_ref) {
                let author = comment.author.as_deref().unwrap_or_default();
                let said = format!("Comment ({author}): {}", comment.text);
                rows.push(cell.row as usize + 1, cell.col as usize, &said)?;
            }
        }
        note_missing(&mut rows, sheet, &without_result);
    }
    rows.document(title(book))
}

fn title(book: &XlsxDocument) -> Option<String> {
    let properties = book.core_properties.as_ref()?;
    properties
        .title
        .clone()
        .filter(|title| !title.trim().is_empty())
}

fn note_missing(rows: &mut Workbook, sheet: &Worksheet, without_result: &[String]) {
    let name = &sheet.name;
    if let Some(first) = without_result.first() {
        rows.note_missing(format!(
            "sheet {name}: {} without a stored result, the first in {first}: open and save it once in \
             a spreadsheet program",
            plural(without_result.len(), "formula")
        ));
    }
    if let Some(damage) = &sheet.damage {
        rows.note_missing(format!("sheet {name}: {damage}"));
    }
    if !sheet.text_shapes.is_empty() {
        rows.note_missing(format!(
            "sheet {name}: text in {}",
            plural(sheet.text_shapes.len(), "shape")
        ));
    }
    if !sheet.images.is_empty() {
        let pictures = plural(sheet.images.len(), "picture");
        rows.note_missing(format!("sheet {name}: {pictures}"));
    }
}

/// A span of time, which is shown as a day of 1900 by `office_oxide`.
fn span(number: f64, shown: &str) -> Option<String> {
    let is_span = shown.starts_with("1900-") && (0.0..366.0).contains(&number);
    is_span.then(|| {
        let minutes = (number * 24.0 * 60.0).round() as u32;
        format!("{}:{:02} h", minutes / 60, minutes % 60)
    })
}

/// A number whose format is nothing but zeros, as postal codes have it: with its leading zeros.
fn padded(book: &XlsxDocument, cell: &Cell) -> Option<String> {
    let CellValue::Number(number) = cell.value else {
        return None;
    };
    let code = book
        .styles
        .as_ref()?
        .number_format_override_for(cell.style_index?)?;
    let is_code = code.len() > 1 && code.bytes().all(|digit| digit == b'0');
    is_code.then(|| format!("{number:0width$.0}", width = code.len()))
}

/// Repeats what a merged cell says in each row that it covers.
fn fill_merged(
    rows: &mut Workbook,
    book: &XlsxDocument,
    sheet: &Worksheet,
) -> Result<(), SkipReason> {
    for area in &sheet.merged_cells {
        let Some((first, last)) = area.split_once(':') else {
            continue;
        };
        let (Some(first), Some(last)) = (CellRef::parse(first), CellRef::parse(last)) else {
            continue;
        };
        let from = sheet.rows.partition_point(|row| row.index <= first.row);
        let to = sheet.rows.partition_point(|row| row.index <= last.row + 1);
        let Some((top, below)) = sheet.rows.get(from..to).and_then(<[_]>::split_first) else {
            continue;
        };
        let Some(cell) = top
            .cells
            .iter()
            .find(|cell| cell.reference.col == first.col)
        else {
            continue;
        };
        let value = book.format_cell_value(cell);
        for row in below {
            rows.push(row.index as usize, first.col as usize, &value)?;
        }
    }
    Ok(())
}

/// Reads a workbook of Excel 97 to 2003, or an older one.
pub(crate) fn xls(book: &XlsDocument) -> Result<Extraction, SkipReason> {
    let mut rows = Workbook::default();
    let mut missing = book.notices().iter().chain(book.warnings());
    if book.sheets.iter().all(|sheet| sheet.rows.is_empty())
        && let Some(what) = missing.next()
    {
        return Err(SkipReason::Damaged(what.clone()));
    }
    missing.for_each(|line| rows.note_missing(line.clone()));
    for sheet in &book.sheets {
        rows.begin(&sheet.name)?;
        let value = |row: usize, column: usize| {
            let value = sheet.rows.get(row)?.get(column)?;
            let style = sheet.xf.get(row).and_then(|row| row.get(column)).copied();
            let shown = sheet.formats.display(value, style.unwrap_or(0));
            let span = match value {
                xls::CellValue::Number(number) => span(*number, &shown),
                _ => None,
            };
            Some(span.map_or(shown, Into::into))
        };
        for (row, cells) in sheet.rows.iter().enumerate() {
            for column in 0..cells.len() {
                if let Some(shown) = value(row, column) {
                    rows.push(row + 1, column, &shown)?;
                }
            }
        }
        for comment in &sheet.comments {
            let author = comment.author.as_deref().unwrap_or_default();
            let said = format!("Comment ({author}): {}", comment.text);
            rows.push(
                usize::from(comment.row) + 1,
                usize::from(comment.col),
                &said,
            )?;
        }
        for &(first, last, column, _) in &sheet.merged_cells {
            let Some(shown) = value(first.into(), column.into()) else {
                continue;
            };
            let last = usize::from(last).min(sheet.rows.len().saturating_sub(1));
            for row in usize::from(first) + 1..=last {
                rows.push(row + 1, column.into(), &shown)?;
            }
        }
    }
    rows.document(None)
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

#[cfg(test)]
mod tests_of_records {
    use super::*;

    #[test]
    fn the_separator_is_found_out() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("name;price\nx;1,50\ny;2,75\n", b';'),
            ("a\tb\n1, 2\t3\n", b'\t'),
            ("\"x; y\",z\n\"p; q\",r\n", b','),
            ("one column\n", b'|'),
        ] {
            assert_eq!(separator(text) as char, expected as char, "{text}");
        }
    }

    #[test]
    fn records_are_numbered_and_quoted_breaks_stay_within() {
        let document = read_records(
            Path::new("a.csv"),
            "Name,Note\nAda,\"first\nsecond\"\nBo,x\n",
        )
        .unwrap();
        assert_eq!(
            document.text,
            "Name; Note\nName: Ada; Note: first second\nName: Bo; Note: x\n"
        );
        assert_eq!(document.places[2].place.to_string(), "row 3");
    }
}
