//! Which files that were left out have been reported.
//!
//! What cannot be indexed is worth a line once, not before every answer. So the base remembers
//! what was reported, beside its index and for all processes, as one short hash a line. Losing that
//! costs a line printed twice, so nothing that goes wrong with it is an error.

use std::collections::HashSet;

use super::base::KnowledgeBase;
use super::source::Skipped;
use crate::files::{read_text_bounded, write_atomic};

const FILE: &str = "left-out";
/// The largest file that is read, in bytes: the lines of a million files.
const LARGEST: u64 = 17_000_000;

impl KnowledgeBase {
    /// The files that no process has reported before. From now on all of `skipped` count as reported, and
    /// no others.
    pub fn new_among(&self, skipped: &[Skipped]) -> Vec<Skipped> {
        let path = self.home().join(FILE);
        let before = read_text_bounded(&path, LARGEST).unwrap_or_default();
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
}

/// The line for a file and the reason; a new reason makes another line, so it is reported.
fn mark(skipped: &Skipped) -> String {
    let key = format!("{}\0{}", skipped.path, skipped.reason);
    blake3::hash(key.as_bytes()).to_hex()[..16].to_owned()
}
