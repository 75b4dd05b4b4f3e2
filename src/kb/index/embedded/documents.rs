//! The documents of one commit, and which of their chunks say the same.
//!
//! A commit shares what it did not change with the one before, so that one saved file among a
//! hundred thousand costs a handful of steps and searches go on over what they began with.

use std::ops::Bound;
use std::sync::Arc;

use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, OrdMap};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::domain::LineRange;
use crate::kb::index::port::{ChunkId, ChunkKey, Document, KeyHash};
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

    /// Its chunks with their keys.
    pub fn keys(&self) -> impl Iterator<Item = (ChunkId, ChunkKey)> {
        let chunks = (0_u32..).zip(&self.chunks);
        chunks.map(|(at, entry)| (ChunkId::new(self.number, at), entry.key))
    }

    /// How many of its chunks are found by their words only.
    fn words_only(&self) -> usize {
        let keys = self.keys().filter(|(_, key)| *key == ChunkKey::WORDS_ONLY);
        keys.count()
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

type ByNumber = GenericHashMap<u32, Arc<StoredDocument>, FxBuildHasher, DefaultSharedPtr>;

/// All documents of one commit, ordered by name; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Documents {
    by_name: OrdMap<String, Arc<StoredDocument>>,
    by_number: ByNumber,
    /// The number that the next document gets.
    pub next_number: u32,
    /// The number of chunks of all documents.
    pub chunks: usize,
    /// The number of chunks that are found by their words only.
    pub words_only: usize,
}

impl Documents {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Iterates over the documents in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<StoredDocument>> {
        self.by_name.values()
    }

    /// The document of that name.
    pub fn get(&self, source: &str) -> Option<&Arc<StoredDocument>> {
        self.by_name.get(source)
    }

    /// A chunk's document and its place there.
    pub fn place_of(&self, chunk: ChunkId) -> Option<(&StoredDocument, usize)> {
        let document = self.by_number.get(&chunk.document())?;
        let at = chunk.ordinal() as usize;
        (at < document.chunks.len()).then_some((document, at))
    }

    /// The documents whose name comes after `source`, in order; all where that is `None`.
    pub fn after_name(&self, source: Option<&str>) -> impl Iterator<Item = &Arc<StoredDocument>> {
        let from = source.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.by_name.range::<_, str>((from, Bound::Unbounded));
        rest.map(|(_, document)| document)
    }

    /// Whether documents lie in a folder of that name.
    pub fn lie_in(&self, folder: &str) -> bool {
        let within = format!("{folder}/");
        let from = (Bound::Included(within.as_str()), Bound::Unbounded);
        let mut rest = self.by_name.range::<_, str>(from);
        rest.next()
            .is_some_and(|(name, _)| name.starts_with(&within))
    }

    /// Inserts a document; returns the one of the same name that it replaces.
    pub fn insert(&mut self, document: Arc<StoredDocument>) -> Option<Arc<StoredDocument>> {
        let before = self.remove(&document.document.source);
        self.chunks += document.chunks.len();
        self.words_only += document.words_only();
        self.by_number
            .insert(document.number, Arc::clone(&document));
        self.by_name
            .insert(document.document.source.clone(), document);
        before
    }

    /// Removes the document of that name and returns it.
    pub fn remove(&mut self, source: &str) -> Option<Arc<StoredDocument>> {
        let gone = self.by_name.remove(source)?;
        self.by_number.remove(&gone.number);
        self.chunks -= gone.chunks.len();
        self.words_only -= gone.words_only();
        Some(gone)
    }
}

/// A document before and after a commit.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub before: Option<Arc<StoredDocument>>,
    pub after: Option<Arc<StoredDocument>>,
}

impl Change {
    /// The keys of what the document says and of what it said.
    pub fn keys(&self) -> impl Iterator<Item = ChunkKey> {
        let documents = self.before.iter().chain(&self.after);
        documents.flat_map(|document| document.chunks.iter().map(|chunk| chunk.key))
    }
}

/// The chunks of each text, by the key of the text. Documents that repeat each other share a vector; chunks
/// that are found by their words only are not here. Made when first needed, and from then on follows each
/// commit by what it changes.
#[derive(Clone, Default)]
pub(crate) struct ChunksByKey(GenericHashMap<ChunkKey, Vec<ChunkId>, KeyHash, DefaultSharedPtr>);

impl ChunksByKey {
    /// Collects the chunks of all documents.
    pub fn new(documents: &Documents) -> Self {
        let mut all = Self::default();
        documents.iter().for_each(|document| all.add(document));
        all
    }

    /// Returns a copy with these changes applied.
    pub fn with_changes(&self, changes: &[Change]) -> Self {
        let mut all = self.clone();
        for change in changes {
            change.before.iter().for_each(|before| all.drop(before));
            change.after.iter().for_each(|after| all.add(after));
        }
        all
    }

    /// The chunks with this key.
    pub fn chunks(&self, key: &ChunkKey) -> &[ChunkId] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// The texts, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &ChunkKey> {
        self.0.keys()
    }

    /// How many texts there are, each counted once.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn add(&mut self, document: &StoredDocument) {
        for (chunk, key) in document.keys() {
            if key != ChunkKey::WORDS_ONLY {
                self.0.entry(key).or_default().push(chunk);
            }
        }
    }

    fn drop(&mut self, document: &StoredDocument) {
        for (chunk, key) in document.keys() {
            let Some(held) = self.0.get_mut(&key) else {
                continue;
            };
            held.retain(|held| *held != chunk);
            if held.is_empty() {
                self.0.remove(&key);
            }
        }
    }
}
