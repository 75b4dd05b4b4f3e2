//! What a document is about: how it begins, and its headings.

use std::sync::atomic::AtomicBool;

use super::base::KnowledgeBase;
use super::error::KbError;
use super::index::{Limits, Passage};

/// What stands between a heading and the one above it.
const BELOW: &str = " > ";

impl KnowledgeBase {
    /// The first passage of each of these documents that has one, in this order.
    pub(crate) fn openings(
        &self,
        sources: &[&str],
        stop: &AtomicBool,
    ) -> Result<Vec<Passage>, KbError> {
        let limits = Limits::of_a_call(stop);
        self.reader().openings(sources, 1, limits)
    }

    /// The headings above the first `passages` passages of a document, each once and in order, as
    /// they are written there; the first is its title where it has one.
    pub fn headings(
        &self,
        source: &str,
        passages: usize,
        stop: &AtomicBool,
    ) -> Result<Vec<String>, KbError> {
        let limits = Limits::of_a_call(stop);
        let mut headings: Vec<String> = Vec::new();
        for passage in self.reader().openings(&[source], passages, limits)? {
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
        self.reader().generation()
    }
}
