//! Workbooks of Excel 2007 and later: every sheet, row by row, with the row numbers that Excel
//! shows.
//!
//! Cells are read one after the other: a sheet with one value at its far corner is one cell to us
//! and sixteen thousand million to who asks for a range.

use std::io::Cursor;

use calamine::{Data, DataRef, DataType, ExcelDateTime, Reader, Xlsx, XlsxError};

use super::rows::Workbook;
use crate::kb::extract::{Extraction, SkipReason};

/// Reads a workbook.
pub(in crate::kb::extract) fn xlsx(bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let broken = |error: XlsxError| match error {
        XlsxError::Password => SkipReason::Encrypted,
        error => SkipReason::Damaged(error.to_string()),
    };
    let mut book: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(bytes)).map_err(broken)?;
    let names = book.sheet_names();
    let mut workbook = Workbook::default();
    for name in names {
        // A sheet that is a chart has no cells.
        let Ok(mut reader) = book.worksheet_cells_reader(&name) else {
            continue;
        };
        workbook.begin(&name)?;
        while let Some(cell) = reader.next_cell().map_err(broken)? {
            let (row, column) = cell.get_position();
            let value = shown(cell.get_value());
            workbook.push(row as usize + 1, column as usize, &value)?;
        }
    }
    workbook.document(None)
}

/// A value as Excel shows it, as far as it can be known without the format of its cell.
fn shown(value: &DataRef<'_>) -> String {
    if let Some(number) = value.get_float() {
        return plain(number);
    }
    match value.get_datetime() {
        Some(time) => date(time),
        None => Data::from(value.clone()).to_string(),
    }
}

/// Sums in binary end in ...0000001; fifteen digits are what Excel keeps.
pub(in crate::kb::extract) fn plain(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return "0".to_owned();
    }
    let digits = 14 - number.abs().log10().floor() as i32;
    let rounded = format!("{number:.*}", digits.clamp(0, 17) as usize);
    if rounded.contains('.') {
        rounded
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    } else {
        rounded
    }
}

/// `2024-05-01`, with the time where there is one; a duration in hours.
pub(in crate::kb::extract) fn date(time: ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let clock = if second == 0 {
        format!("{hour:02}:{minute:02}")
    } else {
        format!("{hour:02}:{minute:02}:{second:02}")
    };
    if time.is_duration() {
        let minutes = (time.as_f64() * 24.0 * 60.0).round();
        return format!("{}:{:02} h", (minutes / 60.0).floor(), minutes % 60.0);
    }
    if time.as_f64() < 1.0 {
        return clock;
    }
    let day = format!("{year:04}-{month:02}-{day:02}");
    if (hour, minute, second) == (0, 0, 0) {
        day
    } else {
        format!("{day} {clock}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_excel_shows_them() {
        for (number, expected) in [
            (0.1 + 0.2, "0.3"),
            (1_234_567.0, "1234567"),
            (-2.50, "-2.5"),
            (0.0, "0"),
            (1e20, "100000000000000000000"),
        ] {
            assert_eq!(plain(number), expected);
        }
    }
}
