//! What a document is about: how it begins, and its headings.

use super::base::KnowledgeBase;
use super::error::KbError;
use super::index::Passage;

/// What stands between a heading and the one above it.
const BELOW: &str = " > ";

impl KnowledgeBase {
    /// The first passage of a document.
    pub(crate) fn opening(&self, source: &str) -> Result<Option<Passage>, KbError> {
        let snapshot = self.store().snapshot();
        let Some(first) = snapshot.chunk(source, 0) else {
            return Ok(None);
        };
        Ok(snapshot.passages(&[first])?.pop())
    }

    /// The headings above the first `passages` passages of a document, each once and in order, as
    /// they are written there; the first is its title where it has one.
    pub fn headings(&self, source: &str, passages: usize) -> Result<Vec<String>, KbError> {
        let snapshot = self.store().snapshot();
        let chunks: Vec<_> = (0..passages)
            .map_while(|at| snapshot.chunk(source, at))
            .collect();
        let mut headings: Vec<String> = Vec::new();
        for passage in snapshot.passages(&chunks)? {
            let parts = passage.heading.split(BELOW);
            for part in parts.filter(|part| !part.is_empty() && *part != source) {
                if headings.iter().all(|known| known != part) {
                    headings.push(part.to_owned());
                }
            }
        }
        Ok(headings)
    }

    /// Which commit of the index is searched: another number after each change.
    pub fn revision(&self) -> u64 {
        self.store().snapshot().commit()
    }
}
