//! The documents of one commit, by name.
//!
//! A commit shares what it did not change with the one before, so that one saved file among a
//! hundred thousand costs a handful of steps and searches go on over what they began with.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdSet;
use serde::{Deserialize, Serialize};

use crate::domain::LineRange;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::document::Document;
use crate::kb::links::Link;

/// One document as this engine keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredDocument {
    /// The document as the rest of the program sees it.
    pub document: Arc<Document>,
    /// The number of its rows in the lexical index; never used twice.
    pub number: u32,
    /// Its chunks, in order.
    pub chunks: Vec<ChunkEntry>,
    /// The references it makes, as JSON.
    pub links: Box<str>,
}

impl StoredDocument {
    /// The references it makes.
    pub fn links(&self) -> Vec<Link> {
        serde_json::from_str(&self.links).unwrap_or_default()
    }

    /// How many of its chunks are found by their words only.
    fn words_only(&self) -> usize {
        let keys = self.chunks.iter().map(|entry| entry.key);
        keys.filter(|key| *key == ChunkKey::WORDS_ONLY).count()
    }
}

/// The stored properties of a chunk, besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChunkEntry {
    /// The key of its vector.
    pub key: ChunkKey,
    /// Where in the file.
    pub lines: LineRange,
}

/// All documents of one commit, ordered by name; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Documents {
    by_name: OrdSet<DocumentByName>,
    /// The number that the next document gets.
    pub next_number: u32,
    chunks: usize,
    words_only: usize,
}

impl Documents {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Iterates over the documents in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<StoredDocument>> {
        self.by_name.iter().map(|named| &named.0)
    }

    /// The document of that name.
    pub fn get(&self, source: &str) -> Option<&Arc<StoredDocument>> {
        self.by_name.get(source).map(|named| &named.0)
    }

    /// The number of chunks of all documents.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks
    }

    /// The number of chunks that are found by their words only.
    pub(crate) fn words_only(&self) -> usize {
        self.words_only
    }

    /// The documents whose name comes after `source`, in order; all where that is `None`.
    pub(crate) fn after_name(
        &self,
        source: Option<&str>,
    ) -> impl Iterator<Item = &Arc<StoredDocument>> {
        let from = source.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.by_name.range::<_, str>((from, Bound::Unbounded));
        rest.map(|named| &named.0)
    }

    /// Whether documents lie in a folder of that name.
    pub(crate) fn lie_in(&self, folder: &str) -> bool {
        let within = format!("{folder}/");
        let from = (Bound::Included(within.as_str()), Bound::Unbounded);
        let first = self.by_name.range::<_, str>(from).next();
        first.is_some_and(|named| named.0.document.source.starts_with(&within))
    }

    /// Inserts a document; returns the one of the same name that it replaces.
    pub(crate) fn insert(&mut self, document: Arc<StoredDocument>) -> Option<Arc<StoredDocument>> {
        self.chunks += document.chunks.len();
        self.words_only += document.words_only();
        let before = self.by_name.insert(DocumentByName(document))?.0;
        self.chunks -= before.chunks.len();
        self.words_only -= before.words_only();
        Some(before)
    }

    /// Removes the document of that name and returns it.
    pub(crate) fn remove(&mut self, source: &str) -> Option<Arc<StoredDocument>> {
        let gone = self.by_name.remove(source)?.0;
        self.chunks -= gone.chunks.len();
        self.words_only -= gone.words_only();
        Some(gone)
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A document before and after a commit.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub before: Option<Arc<StoredDocument>>,
    pub after: Option<Arc<StoredDocument>>,
}

/// A document that is compared and ordered by its name.
#[derive(Clone)]
struct DocumentByName(Arc<StoredDocument>);

impl Borrow<str> for DocumentByName {
    fn borrow(&self) -> &str {
        &self.0.document.source
    }
}

impl PartialEq for DocumentByName {
    fn eq(&self, other: &Self) -> bool {
        self.0.document.source == other.0.document.source
    }
}

impl Eq for DocumentByName {}

impl PartialOrd for DocumentByName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DocumentByName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.document.source.cmp(&other.0.document.source)
    }
}
