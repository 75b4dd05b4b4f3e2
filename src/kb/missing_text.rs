//! What the documents of an index hold and their texts do not.
//!
//! A document is read once and listed at every update after that, so what was missing from its
//! text is kept beside the index, by its path. A file that cannot be read or written costs the
//! listing and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::update::{MissingText, UpdateReport};
use crate::files::{read_text_bounded, write_atomic};

const FILE: &str = "gaps.json";
/// Twenty sentences for each of some ten thousand documents.
const LARGEST: u64 = 50_000_000;

/// Forgets what was missing: everything is going to be read again.
pub(super) fn forget(home: &Path) {
    if let Err(error) = fs::remove_file(home.join(FILE))
        && error.kind() != ErrorKind::NotFound
    {
        tracing::debug!(%error, "what was missing from documents is listed until they change");
    }
}

/// Adds what this update found to what is kept in `home`, and gives the report all of it.
pub(super) fn keep(home: &Path, report: &mut UpdateReport) {
    let path = home.join(FILE);
    let kept = read_text_bounded(&path, LARGEST).unwrap_or_default();
    let before: BTreeMap<String, Vec<String>> = serde_json::from_str(&kept).unwrap_or_default();
    let mut lines = before.clone();
    for found in report.missing_texts.drain(..) {
        if found.missing.is_empty() {
            lines.remove(&found.path);
        } else {
            lines.insert(found.path, found.missing);
        }
    }
    if lines != before
        && let Ok(json) = serde_json::to_vec(&lines)
        && let Err(error) = write_atomic(&path, &json)
    {
        tracing::debug!(%error, "what is missing from documents is not listed next time");
    }
    let all = lines.into_iter();
    report.missing_texts = all
        .map(|(path, missing)| MissingText { path, missing })
        .collect();
}
