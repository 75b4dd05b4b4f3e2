//! Rich text (RTF), a paragraph apart from the next.

use std::path::Path;

use rtf_parser_tt::RtfDocument;

use crate::kb::extract::draft::Draft;
use crate::kb::extract::{Extraction, SkipReason, TextLayout};

/// Groups that are open where a file is cut off.
const MAX_OPEN: usize = 1000;

/// Reads a document of rich text; one that is cut off, as far as it goes.
pub(crate) fn document(_: &Path, bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let begin = memchr::memchr(b'{', bytes).unwrap_or(0);
    let bytes = &bytes[begin..];
    let mut draft = Draft::default();
    let document = RtfDocument::from_bytes(bytes).or_else(|_| {
        draft.note_missing("its end: the file is cut off");
        RtfDocument::from_bytes(&closed(bytes))
    });
    let document = document.map_err(|error| SkipReason::Damaged(error.to_string()))?;
    for paragraph in document.get_text().split('\n') {
        draft.push_apart(paragraph);
    }
    draft.finish(
        TextLayout::Plain,
        document.info.title,
        "its pages are empty or pictures",
    )
}

/// The bytes with an end for each group that has none.
fn closed(bytes: &[u8]) -> Vec<u8> {
    let mut open = 0_usize;
    let mut is_escaped = false;
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    let end = b"}".repeat(open.min(MAX_OPEN));
    [bytes, &end].concat()
}
