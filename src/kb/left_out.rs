//! What the index leaves out, kept beside it: which files that were left out have been reported, and what
//! the texts of documents lack.
//!
//! What cannot be indexed is worth a line once, not before every answer. So the base remembers
//! what was reported, beside its index and for all processes, as one short hash a line. Losing that
//! costs a line printed twice, so nothing that goes wrong with it is an error.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::source::Skipped;
use super::update::{MissingText, UpdateReport};
use crate::files::{read_text_bounded, write_atomic};

const REPORTED_FILE: &str = "left-out";
/// The largest file that is read, in bytes: the lines of a million files.
const LARGEST_REPORTED: u64 = 17_000_000;

/// The files that no process has reported before. From now on all of `skipped` count as reported, and
/// no others.
pub(super) fn new_among(home: &Path, skipped: &[Skipped]) -> Vec<Skipped> {
    let path = home.join(REPORTED_FILE);
    let before = read_text_bounded(&path, LARGEST_REPORTED).unwrap_or_default();
    let reported: HashSet<&str> = before.lines().collect();
    let marks: Vec<String> = skipped.iter().map(mark).collect();
    let new = skipped.iter().zip(&marks);
    let new = new
        .filter(|(_, mark)| !reported.contains(mark.as_str()))
        .map(|(skipped, _)| skipped.clone())
        .collect::<Vec<_>>();
    if (!new.is_empty() || reported.len() != skipped.len())
        && let Err(error) = write_atomic(&path, marks.join("\n").as_bytes())
    {
        tracing::debug!(%error, "what is left out will be reported again");
    }
    new
}

/// The line for a file and the reason; a new reason makes another line, so it is reported.
fn mark(skipped: &Skipped) -> String {
    let key = format!("{}\0{}", skipped.path, skipped.reason);
    blake3::hash(key.as_bytes()).to_hex()[..16].to_owned()
}

// A document is read once and listed at every update after that, so what was missing from its
// text is kept beside the index, by its path. A file that cannot be read or written costs the
// listing and nothing else.

const MISSING_TEXT_FILE: &str = "gaps.json";
/// Twenty sentences for each of some ten thousand documents.
const LARGEST_MISSING_TEXT: u64 = 50_000_000;

/// Forgets what was missing: everything is going to be read again.
pub(super) fn forget_missing_text(home: &Path) {
    if let Err(error) = fs::remove_file(home.join(MISSING_TEXT_FILE))
        && error.kind() != ErrorKind::NotFound
    {
        tracing::debug!(%error, "what was missing from documents is listed until they change");
    }
}

/// Adds what this update found to what is kept in `home`, and gives the report all of it.
pub(super) fn keep_missing_text(home: &Path, report: &mut UpdateReport) {
    let path = home.join(MISSING_TEXT_FILE);
    let kept = read_text_bounded(&path, LARGEST_MISSING_TEXT).unwrap_or_default();
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
