//! What the bytes of a document say, by its format.

use std::path::Path;

use super::draft::Draft;
use super::format::Format;
use super::sheet::records;
use super::text::{decode, html, json, mail, notebook};
use super::{Extraction, SkipReason, TextLayout, office, pdf};

/// What the bytes of a document say that has to be taken apart.
pub(super) fn convert(
    name: &Path,
    format: Format,
    bytes: Vec<u8>,
) -> Result<Extraction, SkipReason> {
    match format {
        Format::Pdf => pdf::document(bytes),
        Format::Mail => mail::document(&bytes),
        Format::Archive => office::document(&bytes),
        Format::Compound => office::old_document(&bytes),
        Format::Html => html::document(name, &decode::decode(bytes)?),
        Format::Records => records::document(name, &decode::decode(bytes)?),
        Format::Notebook => notebook::document(&decode::decode(bytes)?),
        Format::PackedJson => {
            let mut draft = Draft::default();
            draft.push(&json::laid_out(&decode::decode(bytes)?));
            draft.finish(TextLayout::Data, None, "the file is empty")
        }
        Format::Lines(_) | Format::Unread(_) => Err(SkipReason::Binary),
    }
}
