//! What a file is, how it is read, and how its places are named: one row a format.
//!
//! Names lie: a report saved as `.xls` is often HTML, a renamed picture is no text. What the bytes
//! say plainly decides; the name decides between things that begin alike, such as kinds of text.
//! Source code keeps its lines whatever it begins with: a template that starts with `<html>` is
//! looked up by line.

use std::path::Path;

use super::limits::{MAX_DOCUMENT_BYTES, MAX_FILE_BYTES};
use super::sheet::records;
use super::text::{agenda, html, json, mail, markdown, notebook, outline, rich, subtitles};
use super::{Extraction, SkipReason, TextLayout, office, pdf};
use crate::domain::PlaceUnit;

type Made = Result<Extraction, SkipReason>;

/// How the files of a format are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reading {
    /// Decoded, line by line; the function takes out of sight what readers do not see, and keeps
    /// every line in its place.
    Lines(TextLayout, Option<fn(&str) -> String>),
    /// Decoded, then taken apart.
    Text(fn(&Path, &str) -> Made),
    /// Taken apart as bytes.
    Bytes(fn(&Path, Vec<u8>) -> Made),
    /// Not read; says what it is and what to do.
    Not(&'static str),
}

/// One format: adding one is a row here and a file that reads it.
#[derive(Debug)]
pub struct Format {
    /// What people call it.
    pub name: &'static str,
    /// The endings of its files' names, in lower case.
    pub endings: &'static [&'static str],
    /// What its citations count; lines where there is nothing else.
    pub unit: Option<PlaceUnit>,
    /// How its files begin, where that tells.
    signatures: &'static [&'static [u8]],
    /// How many bytes a file may have.
    pub(super) limit: u64,
    pub(super) reading: Reading,
}

/// JSON whose first line is longer is not meant to be read by lines.
const MAX_JSON_LINE: usize = 1000;

const ZIP: &[&[u8]] = &[b"PK\x03\x04", b"PK\x05\x06"];
const OFFICE: &[&[u8]] = &[
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
];
const WORKBOOK: &[&[u8]] = &[
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"\x09\x00\x04\x00",
    b"\x09\x02\x06\x00",
    b"\x09\x04\x06\x00",
];
const COMPOUND: &[&[u8]] = &[b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"];

/// A format that is taken apart as bytes.
const fn document(
    name: &'static str,
    endings: &'static [&'static str],
    unit: PlaceUnit,
    signatures: &'static [&'static [u8]],
    read: fn(&Path, Vec<u8>) -> Made,
) -> Format {
    Format {
        name,
        endings,
        unit: Some(unit),
        signatures,
        limit: MAX_DOCUMENT_BYTES,
        reading: Reading::Bytes(read),
    }
}

/// A format that is text.
const fn text(
    name: &'static str,
    endings: &'static [&'static str],
    unit: Option<PlaceUnit>,
    reading: Reading,
) -> Format {
    Format {
        name,
        endings,
        unit,
        signatures: &[],
        limit: MAX_FILE_BYTES,
        reading,
    }
}

const fn unread(
    name: &'static str,
    endings: &'static [&'static str],
    signatures: &'static [&'static [u8]],
    why: &'static str,
) -> Format {
    Format {
        name,
        endings,
        unit: None,
        signatures,
        limit: MAX_DOCUMENT_BYTES,
        reading: Reading::Not(why),
    }
}

static HTML: Format = text(
    "web page",
    &["html", "htm", "xhtml", "shtml"],
    Some(PlaceUnit::Section),
    Reading::Text(html::document),
);
static RECORDS: Format = text(
    "table of records",
    &["csv", "tsv", "tab"],
    Some(PlaceUnit::Row),
    Reading::Text(records::document),
);
static MAILBOX: Format = document(
    "mailbox",
    &["mbox", "mbx"],
    PlaceUnit::Message,
    &[],
    mail::mailbox,
);
static PACKED_JSON: Format = text("JSON on one line", &[], None, Reading::Text(json::document));
static JSON: Format = text(
    "JSON",
    &["json", "geojson", "webmanifest"],
    None,
    Reading::Lines(TextLayout::Code, None),
);
static PLAIN: Format = text(
    "plain text",
    &["", "txt", "text", "log", "adoc", "asciidoc", "tex"],
    None,
    Reading::Lines(TextLayout::Plain, None),
);
static CODE: Format = text(
    "source code and configuration",
    &[],
    None,
    Reading::Lines(TextLayout::Code, None),
);

/// Every format. Of those that begin alike, the first stands for a file whose name tells nothing.
pub static FORMATS: &[&Format] = &[
    &document("PDF", &["pdf"], PlaceUnit::Page, &[b"%PDF-"], pdf::document),
    &document(
        "Word",
        &["docx", "docm", "dotx", "dotm", "doc", "dot"],
        PlaceUnit::Section,
        OFFICE,
        office::document,
    ),
    &document(
        "PowerPoint",
        &[
            "pptx", "pptm", "potx", "potm", "ppsx", "ppsm", "ppt", "pot", "pps",
        ],
        PlaceUnit::Slide,
        OFFICE,
        office::document,
    ),
    &document(
        "Excel",
        &["xlsx", "xlsm", "xltx", "xltm", "xlsb", "xls", "xlt"],
        PlaceUnit::Row,
        WORKBOOK,
        office::document,
    ),
    &document(
        "OpenDocument text",
        &["odt", "ott"],
        PlaceUnit::Section,
        ZIP,
        office::document,
    ),
    &document(
        "OpenDocument presentation",
        &["odp", "otp"],
        PlaceUnit::Slide,
        ZIP,
        office::document,
    ),
    &document(
        "OpenDocument spreadsheet",
        &["ods", "ots"],
        PlaceUnit::Row,
        ZIP,
        office::document,
    ),
    &document(
        "e-book",
        &["epub"],
        PlaceUnit::Section,
        ZIP,
        office::document,
    ),
    &document(
        "rich text",
        &["rtf"],
        PlaceUnit::Section,
        &[b"{\\rtf"],
        rich::document,
    ),
    &document(
        "Outlook message",
        &["msg", "oft"],
        PlaceUnit::Message,
        COMPOUND,
        office::document,
    ),
    &document(
        "mail",
        &["eml", "emlx"],
        PlaceUnit::Message,
        &[],
        mail::document,
    ),
    &MAILBOX,
    &document(
        "saved web page",
        &["mht", "mhtml"],
        PlaceUnit::Section,
        &[],
        mail::saved_page,
    ),
    &HTML,
    &RECORDS,
    &text(
        "notebook",
        &["ipynb"],
        Some(PlaceUnit::Cell),
        Reading::Text(notebook::document),
    ),
    &text(
        "calendar",
        &["ics"],
        Some(PlaceUnit::Section),
        Reading::Text(agenda::document),
    ),
    &text(
        "contacts",
        &["vcf", "vcard"],
        Some(PlaceUnit::Section),
        Reading::Text(agenda::document),
    ),
    &text(
        "subtitles",
        &["srt", "vtt", "sbv"],
        None,
        Reading::Lines(TextLayout::Plain, Some(subtitles::readable)),
    ),
    &text(
        "Markdown",
        &["md", "markdown", "mdown", "mkd", "mdx", "qmd"],
        None,
        Reading::Lines(TextLayout::Markdown, Some(markdown::readable)),
    ),
    &text(
        "Org",
        &["org"],
        None,
        Reading::Lines(TextLayout::Org, Some(outline::readable)),
    ),
    &text(
        "reStructuredText",
        &["rst", "rest"],
        None,
        Reading::Lines(TextLayout::Rst, None),
    ),
    &JSON,
    &PACKED_JSON,
    &PLAIN,
    &CODE,
    &unread(
        "compressed file",
        &["gz", "tgz"],
        &[b"\x1f\x8b"],
        "a compressed file: unpack it into the folder",
    ),
    &unread(
        "archive",
        &["7z", "rar"],
        &[b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07"],
        "an archive: unpack it into the folder",
    ),
    &unread(
        "PostScript",
        &["ps", "eps"],
        &[b"%!PS-Adobe"],
        "PostScript is not read: save it as PDF",
    ),
    &unread(
        "DjVu",
        &["djvu", "djv"],
        &[b"AT&TFORM"],
        "DjVu is not read: save it as PDF",
    ),
];

impl Format {
    /// What a file is; `head` is how it begins.
    pub(super) fn of(path: &Path, head: &[u8]) -> &'static Self {
        let extension = extension(path);
        let named = FORMATS
            .iter()
            .copied()
            .find(|format| format.endings.contains(&extension.as_str()));
        if let Some(format) = by_signature(named, head) {
            return format;
        }
        let format = match named {
            Some(format) if !format.signatures.is_empty() && is_html(head) => return &HTML,
            // Its bytes would have said so: programs save other things under these names.
            Some(_) if matches!(extension.as_str(), "xls" | "xlsx") => &RECORDS,
            Some(format) if !format.signatures.is_empty() => &PLAIN,
            Some(format) => format,
            None => &CODE,
        };
        let keeps_lines = matches!(format.reading, Reading::Lines(TextLayout::Code, _));
        if std::ptr::eq(format, &raw const JSON) {
            let first = memchr::memchr(b'\n', head).unwrap_or(head.len());
            return match is_html(head) {
                true => &HTML,
                false if first > MAX_JSON_LINE => &PACKED_JSON,
                false => format,
            };
        }
        if !keeps_lines && is_html(head) {
            return &HTML;
        }
        if std::ptr::eq(format, &raw const PLAIN) && is_mailbox(head) {
            return &MAILBOX;
        }
        format
    }

    /// Whether its files are text, though perhaps not read line by line.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.reading, Reading::Lines(..) | Reading::Text(_))
    }

    /// The layout of files that are read line by line.
    pub(super) fn lines(&self) -> Option<TextLayout> {
        match self.reading {
            Reading::Lines(layout, _) => Some(layout),
            _ => None,
        }
    }
}

impl TextLayout {
    /// Of text in a file of that name.
    pub(in crate::kb) fn of(path: &Path) -> Self {
        let extension = extension(path);
        let named = FORMATS
            .iter()
            .find(|format| format.endings.contains(&extension.as_str()));
        match named.map(|format| (format.lines(), format.signatures.is_empty())) {
            Some((Some(layout), _)) => layout,
            Some((None, false)) => Self::Plain,
            _ => Self::Code,
        }
    }
}

/// The format that begins so; of several, the one that the name tells.
fn by_signature(named: Option<&'static Format>, head: &[u8]) -> Option<&'static Format> {
    let begins = |format: &&Format| {
        let mut signatures = format.signatures.iter();
        signatures.any(|signature| match *signature {
            b"%PDF-" => is_pdf(head),
            signature => head.starts_with(signature),
        })
    };
    named
        .filter(|format| begins(format))
        .or_else(|| FORMATS.iter().copied().find(|format| begins(format)))
}

/// The standard lets some bytes stand before the mark of a PDF.
fn is_pdf(head: &[u8]) -> bool {
    let at = memchr::memmem::find(&head[..head.len().min(1024)], b"%PDF-");
    let first = head.first();
    at.is_some_and(|at| at == 0 || first.is_none_or(|byte| !byte.is_ascii_alphanumeric()))
}

/// Mailboxes of mail programs often have no ending.
fn is_mailbox(head: &[u8]) -> bool {
    let has = |mark: &[u8]| memchr::memmem::find(head, mark).is_some();
    head.starts_with(b"From ") && has(b"\nFrom: ") && has(b"\nSubject: ")
}

fn is_html(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let starts = |mark: &[u8]| {
        text.get(..mark.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(mark))
    };
    starts(b"<!doctype html") || starts(b"<html")
}

/// In lower case.
pub(super) fn extension(path: &Path) -> String {
    path.extension()
        .map(|extension| extension.to_string_lossy().to_lowercase())
        .unwrap_or_default()
}

/// Whether a file of that name is one of the formats that are mostly not text.
pub(super) fn is_document(path: &Path) -> bool {
    let extension = extension(path);
    let is_it = |format: &&Format| {
        format.limit == MAX_DOCUMENT_BYTES && format.endings.contains(&extension.as_str())
    };
    FORMATS.iter().copied().any(|format| is_it(&format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bytes_say_plainly_decides() {
        let of = |name: &str, head: &[u8]| Format::of(Path::new(name), head).name;
        for (name, head, expected) in [
            ("a.docx", &b"%PDF-1.7\n"[..], "PDF"),
            ("a.txt", b"PK\x03\x04rest", "Word"),
            ("a.epub", b"PK\x03\x04rest", "e-book"),
            ("a.xls", b"\n<HTML><body>", "web page"),
            ("a.xls", b"a\tb\n", "table of records"),
            ("a.md", b"<!DOCTYPE html>", "web page"),
            ("a.php", b"<!DOCTYPE html>", "source code and configuration"),
            ("a.docx", b"plain words", "plain text"),
            ("a.md", b"On the %PDF- mark", "Markdown"),
            ("a.json", b"{\n  \"a\": 1\n}", "JSON"),
            ("Inbox", b"From x\nFrom: a\nSubject: b\n", "mailbox"),
        ] {
            assert_eq!(of(name, head), expected, "{name}");
        }
        assert_eq!(of("a.json", &[b'['; 2000]), "JSON on one line");
    }

    #[test]
    fn an_ending_names_one_format() {
        let mut endings: Vec<_> = FORMATS.iter().flat_map(|format| format.endings).collect();
        let all = endings.len();
        endings.sort_unstable();
        endings.dedup();
        assert_eq!(endings.len(), all);
    }
}
