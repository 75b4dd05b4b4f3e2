//! Workbooks of Excel 5 to 2003: the cells of every sheet, in the order of the file.
//!
//! The old format says twice how large a sheet is, and both may lie: by a record of its own and by
//! where its cells are. Neither is asked here. A cell at the far corner is one cell, every record
//! is looked at once, and what the cells say is counted as it comes. Layout: [MS-XLS], Excel
//! Binary File Format.
//!
//! [MS-XLS]: https://learn.microsoft.com/en-us/openspecs/office_file_formats/ms-xls/

use calamine::{CellErrorType, ExcelDateTime, ExcelDateTimeType};

use super::compound::Compound;
use super::rows::Workbook;
use super::xlsx;
use crate::kb::extract::{Extraction, SkipReason};
use format::NumberFormat;
use record::{Record, Records, damaged};
use strings::{SharedStrings, Strings};

mod format;
mod record;
mod strings;

/// What records are, by their numbers in [MS-XLS] 2.3.
mod kind {
    pub const FORMULA: u16 = 0x0006;
    pub const END: u16 = 0x000a;
    pub const EPOCH: u16 = 0x0022;
    pub const ENCRYPTION: u16 = 0x002f;
    pub const CODE_PAGE: u16 = 0x0042;
    pub const SHEET: u16 = 0x0085;
    pub const NUMBERS: u16 = 0x00bd;
    pub const RICH_TEXT: u16 = 0x00d6;
    pub const CELL_STYLE: u16 = 0x00e0;
    pub const SHARED_TEXTS: u16 = 0x00fc;
    pub const SHARED_TEXT: u16 = 0x00fd;
    pub const NUMBER: u16 = 0x0203;
    pub const TEXT: u16 = 0x0204;
    pub const TRUTH_OR_ERROR: u16 = 0x0205;
    pub const TEXT_OF_FORMULA: u16 = 0x0207;
    pub const SHORT_NUMBER: u16 = 0x027e;
    pub const FORMAT: u16 = 0x041e;
    pub const BEGIN: u16 = 0x0809;
}

/// Reads a workbook from the parts of its file.
pub(in crate::kb::extract) fn document(file: &mut Compound<'_>) -> Result<Extraction, SkipReason> {
    let stream = match file.part("Workbook")? {
        Some(stream) => stream,
        None => file
            .part("Book")?
            .ok_or_else(|| damaged("there is no workbook in it"))?,
    };
    let book = Book::of(&stream)?;
    let mut rows = Workbook::default();
    let mut left = stream.len();
    for sheet in &book.sheets {
        let begins = stream
            .get(sheet.at..)
            .ok_or_else(|| damaged("a sheet is missing"))?;
        rows.begin(&sheet.name)?;
        let read = book.read(begins, &mut rows)?;
        // Sheets that begin within each other can make few bytes many.
        left = left
            .checked_sub(read)
            .ok_or_else(|| damaged("its sheets lie within each other"))?;
    }
    rows.document(None)
}

/// What holds for all sheets.
struct Book {
    strings: Strings,
    shared: SharedStrings,
    /// By the number of a style.
    styles: Vec<NumberFormat>,
    /// Days are counted from 1904, not from 1900.
    from_1904: bool,
    sheets: Vec<XlsSheet>,
}

struct XlsSheet {
    name: String,
    /// Where in the stream it begins.
    at: usize,
}

impl Book {
    fn of(stream: &[u8]) -> Result<Self, SkipReason> {
        let mut book = Self {
            strings: Strings::default(),
            shared: SharedStrings::default(),
            styles: Vec::new(),
            from_1904: false,
            sheets: Vec::new(),
        };
        let mut formats = Vec::new();
        let mut numbers = Vec::new();
        for record in Records::of(stream) {
            let record = record?;
            match record.kind {
                kind::BEGIN => book.strings.are_of(record.u16(0)?),
                kind::ENCRYPTION => return Err(SkipReason::Encrypted),
                kind::CODE_PAGE => book.strings.are_in(record.u16(0)?),
                kind::EPOCH => book.from_1904 = record.u16(0)? == 1,
                kind::FORMAT => {
                    let code = book.strings.format(&record)?;
                    formats.push((record.u16(0)?, NumberFormat::of_code(&code)));
                }
                kind::CELL_STYLE => numbers.push(record.u16(2)?),
                // Charts and programs have no cells.
                kind::SHEET if record.u8(5)? <= 1 => book.sheets.push(XlsSheet {
                    name: book.strings.short(record.from(6)?)?,
                    at: record.u32(0)? as usize,
                }),
                kind::SHARED_TEXTS => book.shared = SharedStrings::of(&record)?,
                kind::END => break,
                _ => {}
            }
        }
        let format = |number: &u16| {
            let own = formats.iter().find(|(of, _)| of == number);
            own.map_or_else(|| NumberFormat::built_in(*number), |(_, format)| *format)
        };
        book.styles = numbers.iter().map(format).collect();
        Ok(book)
    }

    /// Adds the cells of the sheet that begins a part of the stream; gives how many bytes it has.
    fn read(&self, sheet: &[u8], rows: &mut Workbook) -> Result<usize, SkipReason> {
        // A chart within a sheet has cells of its own, which are not the sheet's.
        let mut depth = 0_usize;
        let mut formula = None;
        let mut records = Records::of(sheet);
        for record in records.by_ref() {
            let record = record?;
            match record.kind {
                kind::BEGIN => depth += 1,
                kind::END if depth <= 1 => break,
                kind::END => depth -= 1,
                _ if depth > 1 => {}
                kind::TEXT_OF_FORMULA => {
                    if let Some((row, column)) = formula.take() {
                        let text = self.strings.long(record.from(0)?)?;
                        rows.push(row, column, &text)?;
                    }
                }
                kind::FORMULA => {
                    formula = None;
                    let value: [u8; 8] = record.bytes(6)?;
                    if value[6..] != [0xff, 0xff] {
                        self.number(&record, f64::from_le_bytes(value), rows)?;
                        continue;
                    }
                    match value[0] {
                        0 => formula = Some(cell(&record)?),
                        1 => truth(&record, value[2], rows)?,
                        2 => error(&record, value[2], rows)?,
                        _ => {}
                    }
                }
                _ => self.cell(&record, rows)?,
            }
        }
        Ok(records.read())
    }

    fn cell(&self, record: &Record<'_>, rows: &mut Workbook) -> Result<(), SkipReason> {
        match record.kind {
            kind::NUMBER => {
                let value = f64::from_le_bytes(record.bytes(6)?);
                self.number(record, value, rows)
            }
            kind::SHORT_NUMBER => self.number(record, short_number(record.u32(6)?), rows),
            kind::NUMBERS => {
                let (row, first) = cell(record)?;
                let several = record.len().saturating_sub(6) / 6;
                for at in 0..several {
                    let style = record.u16(4 + at * 6)?;
                    let value = short_number(record.u32(6 + at * 6)?);
                    rows.push(row, first + at, &self.shown(value, style))?;
                }
                Ok(())
            }
            kind::TEXT | kind::RICH_TEXT => {
                let (row, column) = cell(record)?;
                rows.push(row, column, &self.strings.long(record.from(6)?)?)
            }
            kind::SHARED_TEXT => {
                let (row, column) = cell(record)?;
                let text = self.shared.text(record.u32(6)? as usize);
                rows.push(row, column, text.unwrap_or_default())
            }
            kind::TRUTH_OR_ERROR if record.u8(7)? == 0 => truth(record, record.u8(6)?, rows),
            kind::TRUTH_OR_ERROR => error(record, record.u8(6)?, rows),
            _ => Ok(()),
        }
    }

    fn number(
        &self,
        record: &Record<'_>,
        value: f64,
        rows: &mut Workbook,
    ) -> Result<(), SkipReason> {
        let (row, column) = cell(record)?;
        rows.push(row, column, &self.shown(value, record.u16(4)?))
    }

    fn shown(&self, value: f64, style: u16) -> String {
        let time = |kind| xlsx::date(ExcelDateTime::new(value, kind, self.from_1904));
        match self.styles.get(usize::from(style)) {
            Some(NumberFormat::Date) => time(ExcelDateTimeType::DateTime),
            Some(NumberFormat::Duration) => time(ExcelDateTimeType::TimeDelta),
            _ => xlsx::plain(value),
        }
    }
}

/// Row, from 1, and column, from 0.
fn cell(record: &Record<'_>) -> Result<(usize, usize), SkipReason> {
    Ok((usize::from(record.u16(0)?) + 1, usize::from(record.u16(2)?)))
}

fn truth(record: &Record<'_>, value: u8, rows: &mut Workbook) -> Result<(), SkipReason> {
    let (row, column) = cell(record)?;
    rows.push(row, column, if value == 0 { "false" } else { "true" })
}

fn error(record: &Record<'_>, value: u8, rows: &mut Workbook) -> Result<(), SkipReason> {
    let (row, column) = cell(record)?;
    let error = match value {
        0x00 => CellErrorType::Null,
        0x07 => CellErrorType::Div0,
        0x0f => CellErrorType::Value,
        0x17 => CellErrorType::Ref,
        0x1d => CellErrorType::Name,
        0x24 => CellErrorType::Num,
        _ => CellErrorType::NA,
    };
    rows.push(row, column, &error.to_string())
}

/// A number in 30 bits: a whole number or the upper half of a float, either times a hundred.
fn short_number(bits: u32) -> f64 {
    let value = if bits & 2 == 0 {
        f64::from_bits(u64::from(bits & !3) << 32)
    } else {
        f64::from(bits.cast_signed() >> 2)
    };
    if bits & 1 == 0 { value } else { value / 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_whole_or_not_and_hundredths_or_not() {
        for (bits, expected) in [
            (0x3ff0_0000, 1.0),
            (0x3ff0_0001, 0.01),
            (0x0000_04d2 << 2 | 2, 1234.0),
            (0x0000_04d2 << 2 | 3, 12.34),
            (0xffff_fffe, -1.0),
        ] {
            assert_eq!(short_number(bits).to_bits(), f64::to_bits(expected));
        }
    }
}
