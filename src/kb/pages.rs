//! All documents of an index, a page at a time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::error::KbError;
use super::index::{Document, Limits, Reader};

/// Documents in one answer of the index.
const PAGE: usize = 4096;

/// Does something with each document, in the order of their names.
pub(super) fn for_each_document(
    reader: &dyn Reader,
    stop: &AtomicBool,
    mut each: impl FnMut(&Arc<Document>),
) -> Result<(), KbError> {
    let mut last: Option<Arc<Document>> = None;
    loop {
        let after = last.as_ref().map(|document| document.source.as_str());
        let page = reader.page(after, PAGE, Limits::of_a_call(stop))?;
        page.iter().for_each(&mut each);
        if page.len() < PAGE {
            return Ok(());
        }
        last = page.into_iter().next_back();
    }
}
