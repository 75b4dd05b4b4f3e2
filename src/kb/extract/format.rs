//! What a file is and which reader it gets: by what it begins with first, by its name second.
//!
//! Names lie: a report saved as `.xls` is often HTML, a renamed picture is no text. What the bytes
//! say plainly decides; the name decides between things that begin alike, such as kinds of text.
//! Source code keeps its lines whatever it begins with: a template that starts with `<html>` is
//! looked up by line.

use std::path::Path;

use super::extraction::{MAX_DOCUMENT_BYTES, MAX_FILE_BYTES};
use super::{
    Extraction, SkipReason, TextLayout, agenda, html, mail, markdown, notebook, office, pdf,
    readable, rst, sheet, troff,
};
use crate::domain::{FILE_FORMATS, FileFormat, FileKind};
use crate::text::extension;

type Made = Result<Extraction, SkipReason>;
/// Makes a text readable and keeps its lines in their places.
type Readable = fn(&str) -> String;

/// How the files of a format are read.
#[derive(Clone, Copy)]
pub(super) enum Reading {
    /// Decoded, line by line; the function takes out of sight what readers do not see, and keeps
    /// every line in its place.
    Lines(TextLayout, Option<Readable>),
    /// Decoded, then written as Markdown of as many lines.
    Rewritten(Readable),
    /// Decoded, then taken apart.
    Text(fn(&Path, &str) -> Made),
    /// Taken apart as bytes.
    Bytes(fn(&Path, Vec<u8>) -> Made),
    /// Not read; says what it is and what to do.
    Not(&'static str),
}

/// The reader of each format.
pub(super) fn reading(kind: FileKind) -> Reading {
    match kind {
        FileKind::Pdf => Reading::Bytes(|name, bytes| pdf::document(name, &bytes)),
        // Only text recognition reads it.
        FileKind::Picture => Reading::Bytes(|_, _| Err(SkipReason::Picture)),
        FileKind::Office => Reading::Bytes(office::document),
        FileKind::RichText => Reading::Bytes(|name, bytes| office::read_rich_text(name, &bytes)),
        FileKind::Mail => Reading::Bytes(mail::document),
        FileKind::Mailbox => Reading::Bytes(|name, bytes| mail::mailbox(name, &bytes)),
        FileKind::SavedPage => Reading::Bytes(|name, bytes| mail::saved_page(name, &bytes)),
        FileKind::Html => Reading::Text(html::document),
        FileKind::Records => Reading::Text(sheet::read_records),
        FileKind::Notebook => Reading::Text(notebook::read_notebook),
        FileKind::Agenda => Reading::Text(agenda::document),
        FileKind::PackedJson => Reading::Text(notebook::read_packed_json),
        FileKind::Subtitles => {
            Reading::Lines(TextLayout::Plain, Some(readable::readable_subtitles))
        }
        FileKind::Markdown => Reading::Lines(TextLayout::Markdown, Some(markdown::readable)),
        FileKind::Org => Reading::Lines(TextLayout::Org, Some(readable::readable_org)),
        FileKind::ReStructuredText => Reading::Rewritten(rst::to_markdown),
        FileKind::ManualPage => Reading::Rewritten(troff::to_markdown),
        FileKind::Plain => Reading::Lines(TextLayout::Plain, None),
        FileKind::Json | FileKind::Code => Reading::Lines(TextLayout::Code, None),
        FileKind::Unread(what) => Reading::Not(what),
    }
}

impl Reading {
    /// The layout of what is read line by line, and what makes it readable.
    pub fn of_lines(self) -> Option<(TextLayout, Option<Readable>)> {
        match self {
            Self::Lines(layout, readable) => Some((layout, readable)),
            Self::Rewritten(readable) => Some((TextLayout::Markdown, Some(readable))),
            Self::Text(_) | Self::Bytes(_) | Self::Not(_) => None,
        }
    }
}

/// JSON whose first line is longer is not meant to be read by lines.
const MAX_JSON_LINE: usize = 1000;

/// What a file is; `head` is how it begins.
pub(super) fn kind_of(path: &Path, head: &[u8]) -> FileKind {
    let extension = extension(&path.to_string_lossy());
    let named = FileFormat::by_ending(&extension);
    if let Some(format) = by_signature(named, head) {
        return format.kind;
    }
    let kind = match named {
        // Its bytes would have said so: programs save other things under these names.
        Some(format) if !format.signatures.is_empty() => match extension.as_str() {
            _ if is_html(head) => FileKind::Html,
            "xls" | "xlsx" => FileKind::Records,
            _ => FileKind::Plain,
        },
        // Programs number old logs and versions, too.
        Some(format) if format.kind == FileKind::ManualPage && !is_manual_page(head) => {
            FileKind::Code
        }
        Some(format) => format.kind,
        None if extension.is_empty() => FileKind::Plain,
        None => FileKind::Code,
    };
    match kind {
        FileKind::Code => kind,
        _ if is_html(head) => FileKind::Html,
        FileKind::Json if first_line(head) > MAX_JSON_LINE => FileKind::PackedJson,
        FileKind::Plain if is_mailbox(head) => FileKind::Mailbox,
        kind => kind,
    }
}

fn first_line(head: &[u8]) -> usize {
    memchr::memchr(b'\n', head).unwrap_or(head.len())
}

/// Whether files of this kind are read line by line.
pub(super) fn is_lines(kind: FileKind) -> bool {
    reading(kind).of_lines().is_some()
}

/// Whether files of this kind say other words than their bytes do.
pub(super) fn is_rewritten(kind: FileKind) -> bool {
    matches!(reading(kind), Reading::Rewritten(_))
}

/// How many bytes a file of this kind may have.
pub(super) fn limit(kind: FileKind) -> u64 {
    match FileFormat::by_kind(kind) {
        Some(format) if !format.is_text() => MAX_DOCUMENT_BYTES,
        _ => MAX_FILE_BYTES,
    }
}

/// Whether a file of that name is one of the formats that are mostly not text.
pub(super) fn is_document(path: &Path) -> bool {
    FileFormat::by_ending(&extension(&path.to_string_lossy()))
        .is_some_and(|format| !format.is_text() && format.is_read())
}

impl TextLayout {
    /// Returns the layout of text in a file of this name.
    pub(crate) fn for_path(path: &Path) -> Self {
        let lines = reading(kind_of(path, b"")).of_lines();
        lines.map_or(Self::Code, |(layout, _)| layout)
    }
}

/// The format that begins so; of several, the one that the name tells.
fn by_signature(named: Option<&'static FileFormat>, head: &[u8]) -> Option<&'static FileFormat> {
    let begins = |format: &&FileFormat| {
        let mut signatures = format.signatures.iter();
        signatures.any(|signature| match *signature {
            b"%PDF-" => is_pdf(head),
            b"{\\rtf" => without_mark(head).starts_with(b"{\\rtf"),
            signature => head.starts_with(signature),
        })
    };
    named
        .filter(|format| begins(format))
        .or_else(|| FILE_FORMATS.iter().find(|format| begins(format)))
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

/// Whether it begins with a request or a comment of troff, or nothing is known of it.
fn is_manual_page(head: &[u8]) -> bool {
    match without_mark(head) {
        [b'.' | b'\'', next, ..] => next.is_ascii_alphabetic() || b"\\ ".contains(next),
        text => text.is_empty(),
    }
}

/// Strips blanks and a UTF-8 byte order mark from the beginning.
fn without_mark(head: &[u8]) -> &[u8] {
    let head = head.trim_ascii_start();
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    head.trim_ascii_start()
}

fn is_html(head: &[u8]) -> bool {
    let text = without_mark(head);
    let starts = |mark: &[u8]| {
        text.get(..mark.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(mark))
    };
    starts(b"<!doctype html") || starts(b"<html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bytes_say_plainly_decides() {
        let of = |name: &str, head: &[u8]| kind_of(Path::new(name), head);
        for (name, head, expected) in [
            ("a.docx", &b"%PDF-1.7\n"[..], FileKind::Pdf),
            ("a.txt", b"PK\x03\x04rest", FileKind::Office),
            ("a.xls", b"\n<HTML><body>", FileKind::Html),
            ("a.xls", b"a\tb\n", FileKind::Records),
            ("a.md", b"<!DOCTYPE html>", FileKind::Html),
            ("a.php", b"<!DOCTYPE html>", FileKind::Code),
            ("a.docx", b"plain words", FileKind::Plain),
            ("a.md", b"On the %PDF- mark", FileKind::Markdown),
            ("a.json", b"{\n  \"a\": 1\n}", FileKind::Json),
            ("a.1", b".\\\" A comment\n.TH A 1\n", FileKind::ManualPage),
            ("a.log.1", b"12:30 started\n", FileKind::Code),
            ("a.json", &[b'['; 2000], FileKind::PackedJson),
            ("Inbox", b"From x\nFrom: a\nSubject: b\n", FileKind::Mailbox),
        ] {
            assert_eq!(of(name, head), expected, "{name}");
        }
    }
}
