//! Rich text (RTF), a paragraph apart from the next.

use std::path::Path;

use rtf_parser_tt::RtfDocument;

use crate::kb::extract::draft::Draft;
use crate::kb::extract::{Extraction, SkipReason, TextLayout};

/// Reads a document of rich text.
pub(in crate::kb::extract) fn document(_: &Path, bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let begin = memchr::memchr(b'{', bytes).unwrap_or(0);
    let document = RtfDocument::from_bytes(&bytes[begin..])
        .map_err(|error| SkipReason::Damaged(error.to_string()))?;
    let mut draft = Draft::default();
    for paragraph in document.get_text().split('\n') {
        draft.push_apart(paragraph);
    }
    draft.finish(
        TextLayout::Plain,
        document.info.title,
        "its pages are empty or pictures",
    )
}
