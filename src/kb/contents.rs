//! What is indexed, asked by name: documents and the references between them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::base::{KnowledgeBase, call};
use super::error::KbError;
use super::index::{Document, Limits, NameQuery};
use super::links::{Link, LinkTargets};
use super::pages::for_each_document;

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
}
