//! The documents of the base as a client lists, names and reads them.

use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents};
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::domain::{FileFormat, FileKind, LineRange};
use crate::kb::{Document, Extraction, KnowledgeBase};
use crate::text::{extension, one_line, sanitize};

/// What stands before the path of a document in its address.
const SCHEME: &str = "kb:///";
/// The address of any document.
pub(super) const TEMPLATE: &str = "kb:///{+path}";
/// What stands in the path of an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// Documents of one page of a list, unless a client asks for another number.
pub(super) const PAGE: usize = 100;
/// How much of a document is sent as a resource, bytes.
const MOST_BYTES_OF_RESOURCE: usize = 1 << 20;
/// What one call brings takes no more, in bytes.
pub(super) const MOST_BYTES: usize = 40_000;
/// Most lines that are returned at once.
const MOST_LINES: usize = 400;

/// The address of a document.
pub(super) fn address_of(source: &str) -> String {
    format!("{SCHEME}{}", utf8_percent_encode(source, PLAIN))
}

/// The document of an address; `None` where it is none of ours.
fn source_of(address: &str) -> Option<String> {
    let path = address.strip_prefix(SCHEME)?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    (!path.is_empty()).then(|| path.into_owned())
}

/// Documents behind the one that the page before ended with, and the cursor of the next page.
pub(super) fn page(
    base: &KnowledgeBase,
    prefix: &str,
    cursor: Option<&str>,
    limit: usize,
    cancel: &CancellationToken,
) -> Result<(Vec<Arc<Document>>, Option<String>), String> {
    let cursor = cursor.map(|at| source_of(at).unwrap_or_else(|| at.to_owned()));
    let mut found = base
        .documents_beginning(prefix, cursor.as_deref(), limit + 1, cancel)
        .map_err(error_line)?;
    let mut bytes = 0;
    // A listed document takes its name four times, twice of them as an address.
    let fitting = found.iter().take(limit).take_while(|document| {
        bytes += 4 * document.source.len() + 2 * document.title.len() + 150;
        bytes <= MOST_BYTES
    });
    let fitting = fitting.count().max(1);
    let has_more = found.len() > fitting;
    found.truncate(fitting);
    let last = found.last().filter(|_| has_more);
    let next = last.map(|document| document.source.clone());
    Ok((found, next))
}

/// A page of documents as resources.
pub(super) fn resources(
    base: &KnowledgeBase,
    cursor: Option<&str>,
    cancel: &CancellationToken,
) -> Result<ListResourcesResult, String> {
    let (documents, next) = page(base, "", cursor, PAGE, cancel)?;
    let resource = |document: &Arc<Document>| {
        let source = &document.source;
        Resource::new(address_of(source), source.clone())
            .with_title(one_line(&document.title, 200))
            .with_mime_type(mime_type(source))
    };
    let mut list = ListResourcesResult::with_all_items(documents.iter().map(resource).collect());
    list.next_cursor = next;
    Ok(list)
}

/// A document as a resource.
pub(super) fn resource(
    base: &KnowledgeBase,
    address: &str,
    cancel: &CancellationToken,
) -> Result<ReadResourceResult, String> {
    let source = source_of(address).ok_or_else(|| {
        let address = one_line(address, 200);
        format!("{address} is no address of a document: they look like {TEMPLATE}")
    })?;
    let document = read_document(base, &source, cancel)?;
    let (shown, rest) = beginning(
        &document.text,
        MOST_BYTES_OF_RESOURCE,
        TextPosition::of_line(1),
    );
    let mut text = sanitize(shown).into_owned();
    if let Some(next) = rest.arguments() {
        text.push_str(&format!(
            "\n[cut here: the tool read goes on with {next}]\n"
        ));
    }
    let contents = ResourceContents::text(text, address).with_mime_type(mime_type(&source));
    Ok(ReadResourceResult::new(vec![contents]))
}

fn mime_type(source: &str) -> &'static str {
    let format = FileFormat::by_ending(&extension(source));
    let is_markdown = |format: &FileFormat| {
        matches!(
            format.kind,
            FileKind::Markdown | FileKind::ReStructuredText | FileKind::ManualPage
        )
    };
    if format.is_some_and(is_markdown) {
        "text/markdown"
    } else {
        "text/plain"
    }
}

/// A document by its path, its address, or a name that only it has, and how the base calls it.
pub(super) fn read_named(
    base: &KnowledgeBase,
    name: &str,
    cancel: &CancellationToken,
) -> Result<(String, Extraction), String> {
    let source = source_of(name).unwrap_or_else(|| name.to_owned());
    let why = match read_document(base, &source, cancel) {
        Ok(document) => return Ok((source, document)),
        Err(why) => why,
    };
    // A client may have changed blanks and letters of the name that it was told.
    let called = base.documents_called(&source, cancel).unwrap_or_default();
    let near = base.find_documents(&source, cancel).unwrap_or_default();
    let is_same = |near: &&String| one_line(near, usize::MAX) == one_line(&source, usize::MAX);
    let meant = match called.as_slice() {
        [only] => Some(only),
        _ => near.iter().find(is_same),
    };
    if let Some(meant) = meant {
        return read_document(base, meant, cancel).map(|document| (meant.clone(), document));
    }
    let near: Vec<String> = near.iter().take(3).map(|near| shown_name(near)).collect();
    Err(match near.as_slice() {
        [] => why,
        near => format!("{why}; did you mean {}?", near.join(", ")),
    })
}

/// A document's name in a text: its address where it holds what a text does not keep.
pub(super) fn shown_name(source: &str) -> String {
    let is_kept = !source.contains(['&', '<', '>', '"']) && one_line(source, 300) == source;
    if is_kept {
        source.to_owned()
    } else {
        address_of(source)
    }
}

/// The text of a document: of its file, or out of the shared index where that is elsewhere.
fn read_document(
    base: &KnowledgeBase,
    source: &str,
    cancel: &CancellationToken,
) -> Result<Extraction, String> {
    let error = match base.whole_document(source, cancel) {
        Ok(whole) => return Ok(whole.extraction),
        Err(error) => error,
    };
    let stored = base.stored_document(source, cancel);
    stored.map_err(error_line)?.ok_or_else(|| error_line(error))
}

/// An error as a client is told of it.
pub(super) fn error_line(error: impl std::fmt::Display) -> String {
    one_line(&error.to_string(), 400)
}

/// A line of a document and a character of that line, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextPosition {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl TextPosition {
    /// The beginning of a line.
    pub(super) const fn of_line(line: usize) -> Self {
        Self { line, column: 1 }
    }
}

/// Where a text goes on that is shown in part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Rest {
    /// The line to go on with, where there are more
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_line: Option<usize>,
    /// The character of that line to go on with, where the line is cut
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_column: Option<usize>,
}

impl Rest {
    /// The arguments by which `read` goes on; `None` where nothing is left.
    pub(super) fn arguments(self) -> Option<String> {
        let line = self.next_line?;
        Some(match self.next_column {
            Some(column) => format!("start_line {line} and start_column {column}"),
            None => format!("start_line {line}"),
        })
    }
}

/// Lines of a document.
pub(super) struct Lines {
    /// The lines that are returned.
    pub(super) range: LineRange,
    /// Their text.
    pub(super) text: String,
    /// How many the document has.
    pub(super) total: usize,
    /// What follows them.
    pub(super) rest: Rest,
}

/// The lines of a document from one on, as many as fit; the first of them from a character on.
pub(super) fn lines(
    document: &Extraction,
    from: TextPosition,
    end: Option<usize>,
) -> Result<Lines, String> {
    let TextPosition {
        line: start,
        column,
    } = from;
    let all: Vec<&str> = document.text.lines().collect();
    let total = all.len();
    if end.is_some_and(|end| end < start) {
        return Err(format!(
            "end_line lies before start_line {start}: give them in order"
        ));
    }
    if start > total.max(1) {
        return Err(format!(
            "start_line {start} lies beyond the end: the document has {total} lines"
        ));
    }
    let end = end.unwrap_or(total).min(total).min(start + MOST_LINES - 1);
    let wanted = all[start - 1..end.max(start - 1)].join("\n");
    let mut columns = wanted
        .char_indices()
        .map(|(at, _)| at)
        .chain([wanted.len()]);
    let at = columns
        .nth(column - 1)
        .filter(|at| !wanted[..*at].contains('\n'));
    let at =
        at.ok_or_else(|| format!("start_column {column} lies beyond the end of line {start}"))?;
    let (shown, mut rest) = beginning(&wanted[at..], MOST_BYTES, from);
    let end = start + shown.matches('\n').count();
    if rest.next_line.is_none() && end < total {
        rest.next_line = Some(end + 1);
    }
    Ok(Lines {
        range: LineRange { start, end },
        text: sanitize(shown).into_owned(),
        total,
        rest,
    })
}

/// The beginning of a text that takes no more than `most` bytes: whole lines, or a part of the
/// first. The text begins there in its document.
pub(super) fn beginning(text: &str, most: usize, from: TextPosition) -> (&str, Rest) {
    if text.len() <= most {
        return (text, Rest::default());
    }
    let fitting = &text[..text.floor_char_boundary(most)];
    let (shown, next_line, next_column) = match fitting.rfind('\n') {
        Some(end) => {
            let shown = &text[..end];
            (shown, from.line + shown.matches('\n').count() + 1, None)
        }
        None => (
            fitting,
            from.line,
            Some(from.column + fitting.chars().count()),
        ),
    };
    let next_line = Some(next_line);
    let rest = Rest {
        next_line,
        next_column,
    };
    (shown, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize, column: usize) -> TextPosition {
        TextPosition { line, column }
    }

    #[test]
    fn an_address_leads_back_to_its_document() {
        for source in ["a.md", "notes/Ä ö?#%.md", "表/一.txt", "a\u{1b}[2J.md"] {
            let address = address_of(source);
            assert!(address.is_ascii() && !address.contains([' ', '?', '#']));
            assert_eq!(source_of(&address).as_deref(), Some(source));
        }
        assert_eq!(address_of("a/b-c.md"), "kb:///a/b-c.md");
        for address in ["kb:///", "file:///etc/passwd", "kb:///%ff"] {
            assert_eq!(source_of(address), None);
        }
    }

    #[test]
    fn lines_are_bounded_and_say_what_is_left() {
        let text: Vec<String> = (1..=1000).map(|line| format!("line {line}")).collect();
        let document = Extraction::of_text("a.txt", text.join("\n"));
        let first = lines(&document, TextPosition::of_line(1), None).unwrap();
        assert_eq!((first.range.end, first.total), (400, 1000));
        assert_eq!(first.rest.arguments().unwrap(), "start_line 401");
        let some = lines(&document, at(998, 6), Some(2000)).unwrap();
        assert_eq!((some.range.start, some.range.end), (998, 1000));
        assert_eq!(
            (&*some.text, some.rest),
            ("998\nline 999\nline 1000", Rest::default())
        );
        for (start, end) in [(at(1001, 1), None), (at(5, 1), Some(4)), (at(5, 8), None)] {
            assert!(lines(&document, start, end).is_err(), "{start:?}");
        }
        let empty = Extraction::of_text("e.txt", String::new());
        assert_eq!(lines(&empty, at(1, 1), None).unwrap().text, "");
    }

    #[test]
    fn a_line_that_is_too_long_is_read_piece_by_piece_to_its_end() {
        let long = format!("{}END\nlast", "ä".repeat(50_000));
        let document = Extraction::of_text("l.txt", format!("first\n{long}"));
        let (mut from, mut read, mut calls) = (at(1, 1), String::new(), 0);
        loop {
            let part = lines(&document, from, None).unwrap();
            assert!(part.text.len() <= MOST_BYTES);
            read.push_str(&part.text);
            calls += 1;
            let Rest {
                next_line: Some(line),
                next_column,
            } = part.rest
            else {
                break;
            };
            if next_column.is_none() {
                read.push('\n');
            }
            from = at(line, next_column.unwrap_or(1));
        }
        assert_eq!((read, calls), (document.text.clone(), 4));
    }

    #[test]
    fn a_name_that_a_text_would_change_is_shown_as_its_address() {
        for (source, shown) in [
            ("sub/ö b.md", "sub/ö b.md"),
            ("a  b.md", "kb:///a%20%20b.md"),
            ("9\u{202f}AM.md", "kb:///9%E2%80%AFAM.md"),
            ("a&b.md", "kb:///a%26b.md"),
        ] {
            assert_eq!(shown_name(source), shown);
        }
    }
}
