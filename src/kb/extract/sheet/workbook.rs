//! Workbooks of Excel, row by row, with the row numbers and the values that Excel shows.
//!
//! `office_oxide` reads the cells. Added to what it gives: a merged cell belongs to all its rows,
//! codes keep their leading zeros, and a formula whose result is not in the file is named.

use office_oxide::xls::{self, XlsDocument};
use office_oxide::xlsx::{Cell, CellRef, CellValue, Worksheet, XlsxDocument};

use super::rows::Workbook;
use crate::kb::extract::{Extraction, SkipReason};
use crate::text::plural;

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
