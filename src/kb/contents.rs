//! The documents of the index, by name and by source: their references, openings and headings.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::base::{KnowledgeBase, call};
use super::error::KbError;
use super::index::{Document, Limits, NameQuery, Passage, for_each_document};
use super::links::{Link, LinkTargets};

/// The text between a heading and the one above it.
const BELOW: &str = " > ";

/// What the index holds of one folder or file that the base is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// The path of the folder or file.
    pub path: PathBuf,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks of them.
    pub chunks: usize,
}

impl KnowledgeBase {
    /// The indexed document of that name.
    pub fn document(&self, source: &str) -> Result<Option<Arc<Document>>, KbError> {
        let mut found = self.reader().look_up(&[source], call())?;
        Ok(found.pop().and_then(|contents| contents.document))
    }

    /// Does something with each indexed document, in the order of their names. Blocks, and ends soon
    /// after `stop` is raised.
    pub fn for_each_document(
        &self,
        stop: &AtomicBool,
        each: impl FnMut(&Arc<Document>),
    ) -> Result<(), KbError> {
        for_each_document(self.reader().as_ref(), stop, each)
    }

    /// The documents of these names, as far as they are indexed.
    pub(crate) fn documents_of(&self, sources: &[&str]) -> Result<Vec<Arc<Document>>, KbError> {
        let found = self.reader().look_up(sources, call())?;
        let found = found.into_iter();
        Ok(found.filter_map(|contents| contents.document).collect())
    }

    /// The references that these documents make, in the order of their names.
    pub fn links_of(&self, sources: &[&str]) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        self.reader().links_of(sources, call())
    }

    /// The references that lead there, by the documents that make them.
    pub(crate) fn links_to(
        &self,
        targets: &LinkTargets,
        stop: &AtomicBool,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        self.reader().links_to(targets, Limits::of_a_call(stop))
    }

    /// The names of all indexed documents below a folder, or the file itself.
    pub(crate) fn sources_under(&self, resolved: &Path) -> Result<HashSet<String>, KbError> {
        let Some(source) = self.source_of(resolved) else {
            return Ok(HashSet::new());
        };
        let found = self.reader().find(&NameQuery::Under(&source), call())?;
        Ok(found.sources.into_iter().collect())
    }

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

    /// The folders and files that it is made of, in the order in which they were given.
    pub fn source_paths(&self) -> Vec<PathBuf> {
        self.roots().paths().map(Path::to_owned).collect()
    }

    /// What the index holds of each folder and file, in the order in which they were given.
    pub fn sources(&self, stop: &AtomicBool) -> Result<Vec<SourceStatus>, KbError> {
        let labels: Vec<(&Path, &str)> = self.roots().labelled().collect();
        let mut found: Vec<SourceStatus> = labels
            .iter()
            .map(|(path, _)| SourceStatus {
                path: path.to_path_buf(),
                documents: 0,
                chunks: 0,
            })
            .collect();
        self.for_each_document(stop, |document| {
            for ((_, label), status) in labels.iter().zip(&mut found) {
                let below = document.source.strip_prefix(label);
                let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                if label.is_empty() || is_below {
                    status.documents += 1;
                    status.chunks += document.chunks;
                }
            }
        })?;
        Ok(found)
    }
}
