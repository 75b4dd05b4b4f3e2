//! The documents of the base as a client lists, names and reads them.

use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents};
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
/// The longest name of a file, in characters.
pub(super) const LONGEST_NAME: usize = 4096;
/// How much of a document is sent as a resource, bytes.
const MOST_BYTES: usize = 1 << 20;

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
        .map_err(|error| one_line(&error.to_string(), 400))?;
    let has_more = found.len() > limit;
    found.truncate(limit);
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
        Resource::new(address_of(source), one_line(source, LONGEST_NAME))
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
) -> Result<ReadResourceResult, ErrorData> {
    let unknown = |why: String| ErrorData::resource_not_found(why, None);
    let source = source_of(address).ok_or_else(|| {
        unknown(format!(
            "{} is no address of a document: they look like {TEMPLATE}",
            one_line(address, 200)
        ))
    })?;
    let document = read_document(base, &source, cancel).map_err(unknown)?;
    let mut text = sanitize(&document.text).into_owned();
    if text.len() > MOST_BYTES {
        let end = text[..text.floor_char_boundary(MOST_BYTES)].rfind('\n');
        text.truncate(end.map_or(0, |end| end + 1));
        let shown = text.lines().count();
        text.push_str(&format!(
            "[cut behind line {shown} of {}: the tool read gives the others]\n",
            document.text.lines().count()
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
    match called.as_slice() {
        [only] => read_document(base, only, cancel).map(|document| (only.clone(), document)),
        _ => Err(why),
    }
}

/// The text of a document: of its file, or out of the shared index where that is elsewhere.
pub(super) fn read_document(
    base: &KnowledgeBase,
    source: &str,
    cancel: &CancellationToken,
) -> Result<Extraction, String> {
    let error = match base.whole_document(source, cancel) {
        Ok(whole) => return Ok(whole.extraction),
        Err(error) => error,
    };
    let stored = base.stored_document(source, cancel);
    let stored = stored.map_err(|error| one_line(&error.to_string(), 400))?;
    stored.ok_or_else(|| one_line(&error.to_string(), 400))
}

/// Most lines that are returned at once.
const MOST_LINES: usize = 400;
/// Most bytes of lines that are returned at once.
const MOST_BYTES_OF_LINES: usize = 40_000;

/// What stands at the end of a line that is cut.
const CUT: &str = " [cut here: the line goes on]";

/// Lines of a document.
pub(super) struct Lines {
    /// The lines that are returned.
    pub(super) range: LineRange,
    /// Their text; of a single endless line only the beginning.
    pub(super) text: String,
    /// How many the document has.
    pub(super) total: usize,
}

/// The lines of a document from one on, as many as fit.
pub(super) fn lines(
    document: &Extraction,
    start: Option<usize>,
    end: Option<usize>,
) -> Result<Lines, String> {
    let all: Vec<&str> = document.text.lines().collect();
    let (total, start) = (all.len(), start.unwrap_or(1).max(1));
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
    let wanted = &all[start.min(total + 1) - 1..end.unwrap_or(total).min(total)];
    let mut bytes = 0;
    let fitting = wanted.iter().take(MOST_LINES).take_while(|line| {
        bytes += line.len() + 1;
        bytes <= MOST_BYTES_OF_LINES
    });
    let count = fitting.count().max(1).min(wanted.len());
    let mut text = sanitize(&wanted[..count].join("\n")).into_owned();
    if text.len() > MOST_BYTES_OF_LINES {
        text.truncate(text.floor_char_boundary(MOST_BYTES_OF_LINES - CUT.len()));
        text.push_str(CUT);
    }
    let end = start + count.max(1) - 1;
    Ok(Lines {
        range: LineRange { start, end },
        text,
        total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let first = lines(&document, None, None).unwrap();
        assert_eq!((first.range.end, first.total), (400, 1000));
        let some = lines(&document, Some(998), Some(2000)).unwrap();
        assert_eq!((some.range.start, some.range.end), (998, 1000));
        assert_eq!(some.text, "line 998\nline 999\nline 1000");
        assert!(lines(&document, Some(1001), None).is_err());
        assert!(lines(&document, Some(5), Some(4)).is_err());
        let empty = Extraction::of_text("e.txt", String::new());
        assert_eq!(lines(&empty, None, None).unwrap().text, "");
        let endless = Extraction::of_text("l.txt", "ä".repeat(100_000));
        let cut = lines(&endless, None, None).unwrap().text;
        assert!(cut.len() <= 40_000 && cut.ends_with(CUT));
    }
}
