//! Records with separators: CSV, TSV and their relatives.

use std::path::Path;

use super::rows::Workbook;
use crate::kb::extract::{Extraction, SkipReason};
use crate::text::extension;

/// How much tells the separator.
const SAMPLE_BYTES: usize = 16 * 1024;
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Reads every record; a broken one is passed over.
pub(crate) fn document(path: &Path, text: &str) -> Result<Extraction, SkipReason> {
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

#[cfg(test)]
mod tests {
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
        let document = document(
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
