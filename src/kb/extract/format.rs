//! What a file is: by what it begins with first, by its name second.
//!
//! Names lie: a report saved as `.xls` is often HTML, a renamed picture is no text. What the bytes
//! say plainly decides; the name decides between things that begin alike, such as kinds of text.
//! Source code keeps its lines whatever it begins with: a template that starts with `<html>` is
//! looked up by line.

use std::path::Path;

use super::TextLayout;

/// How a file has to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Decoded, line by line.
    Lines(TextLayout),
    /// JSON without line breaks.
    PackedJson,
    /// Records with separators.
    Records,
    Html,
    Notebook,
    Mail,
    Pdf,
    /// DOCX, PPTX, XLSX, the formats of OpenDocument, EPUB: what is in it decides.
    Archive,
    /// The compound files of Office 97 to 2003; only its workbooks are read.
    Compound,
    /// A known format that is not read: what it is, and what to do.
    Unread(&'static str),
}

/// JSON whose first line is longer is not meant to be read by lines.
const MAX_JSON_LINE: usize = 1000;

impl Format {
    /// `head` is how the file begins.
    pub fn of(path: &Path, head: &[u8]) -> Self {
        by_magic(head).unwrap_or_else(|| by_name(path, head))
    }

    /// Whether what the name promises is text, though not line by line.
    pub fn is_text(self) -> bool {
        match self {
            Self::Lines(_)
            | Self::PackedJson
            | Self::Records
            | Self::Html
            | Self::Notebook
            | Self::Mail => true,
            Self::Pdf | Self::Archive | Self::Compound | Self::Unread(_) => false,
        }
    }
}

fn by_magic(head: &[u8]) -> Option<Format> {
    // The standard lets some bytes stand before the mark of a PDF.
    let pdf = memchr::memmem::find(&head[..head.len().min(1024)], b"%PDF-");
    if pdf.is_some_and(|at| {
        at == 0
            || head
                .first()
                .is_none_or(|byte| !byte.is_ascii_alphanumeric())
    }) {
        return Some(Format::Pdf);
    }
    let known: &[(&[u8], Format)] = &[
        (b"PK\x03\x04", Format::Archive),
        (b"PK\x05\x06", Format::Archive),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Format::Compound),
        (
            b"{\\rtf",
            Format::Unread("rich text (RTF) is not read: save it as DOCX or PDF"),
        ),
        (
            b"\x1f\x8b",
            Format::Unread("a compressed file: unpack it into the folder"),
        ),
        (
            b"7z\xbc\xaf\x27\x1c",
            Format::Unread("an archive: unpack it into the folder"),
        ),
        (
            b"Rar!\x1a\x07",
            Format::Unread("an archive: unpack it into the folder"),
        ),
        (
            b"%!PS-Adobe",
            Format::Unread("PostScript is not read: save it as PDF"),
        ),
        (
            b"AT&TFORM",
            Format::Unread("DjVu is not read: save it as PDF"),
        ),
    ];
    known
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|(_, format)| *format)
}

fn by_name(path: &Path, head: &[u8]) -> Format {
    let extension = extension(path);
    match extension.as_str() {
        "html" | "htm" | "xhtml" | "shtml" => Format::Html,
        "csv" | "tsv" | "tab" => promised(head, Format::Records),
        "ipynb" => promised(head, Format::Notebook),
        "eml" => promised(head, Format::Mail),
        "json" | "geojson" | "webmanifest" => {
            if is_html(head) {
                Format::Html
            } else if memchr::memchr(b'\n', head).unwrap_or(head.len()) > MAX_JSON_LINE {
                Format::PackedJson
            } else {
                Format::Lines(TextLayout::Code)
            }
        }
        // Their bytes would have said so.
        "pdf" | "docx" | "docm" | "dotx" | "pptx" | "pptm" | "potx" | "ppsx" | "xlsx" | "xlsm"
        | "xltx" | "xlsb" | "odt" | "ott" | "ods" | "ots" | "odp" | "otp" | "epub" | "doc"
        | "xls" | "ppt" | "rtf" => {
            if is_html(head) {
                Format::Html
            } else if matches!(extension.as_str(), "xls" | "xlsx") {
                Format::Records
            } else {
                Format::Lines(TextLayout::Plain)
            }
        }
        _ => match TextLayout::of(path) {
            TextLayout::Code => Format::Lines(TextLayout::Code),
            shape => promised(head, Format::Lines(shape)),
        },
    }
}

fn promised(head: &[u8], format: Format) -> Format {
    if is_html(head) { Format::Html } else { format }
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
    matches!(
        extension(path).as_str(),
        "pdf"
            | "docx"
            | "docm"
            | "dotx"
            | "pptx"
            | "pptm"
            | "potx"
            | "ppsx"
            | "xlsx"
            | "xlsm"
            | "xltx"
            | "xls"
            | "odt"
            | "ott"
            | "ods"
            | "ots"
            | "odp"
            | "otp"
            | "epub"
            | "eml"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bytes_say_plainly_decides() {
        let of = |name: &str, head: &[u8]| Format::of(Path::new(name), head);
        assert_eq!(of("a.docx", b"%PDF-1.7\n"), Format::Pdf);
        assert_eq!(of("a.txt", b"PK\x03\x04rest"), Format::Archive);
        assert_eq!(of("a.xls", b"\n<HTML><body>"), Format::Html);
        assert_eq!(of("a.md", b"<!DOCTYPE html>"), Format::Html);
        assert_eq!(
            of("a.php", b"<!DOCTYPE html>"),
            Format::Lines(TextLayout::Code)
        );
        assert_eq!(
            of("a.docx", b"plain words"),
            Format::Lines(TextLayout::Plain)
        );
        assert_eq!(
            of("a.md", b"On the %PDF- mark"),
            Format::Lines(TextLayout::Markdown)
        );
        assert_eq!(
            of("a.json", b"{\n  \"a\": 1\n}"),
            Format::Lines(TextLayout::Code)
        );
        assert_eq!(of("a.json", &[b'['; 2000]), Format::PackedJson);
    }
}
