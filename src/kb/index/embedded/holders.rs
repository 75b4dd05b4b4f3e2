//! Which chunks say what a vector was made of, and which of them have none yet.
//!
//! Both are made when first needed, and from then on follow each commit and each batch of
//! vectors by what these change. Documents that repeat each other share a vector; chunks that are
//! found by their words only are in neither.

use std::sync::Arc;

use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, GenericHashSet};

use super::documents::{Change, Documents, StoredDocument};
use super::vectors::Vectors;
use crate::kb::index::chunk_key::{ChunkKey, KeyHash};
use crate::kb::index::matches::ChunkId;

/// The chunks of each text, by the key of the text.
#[derive(Clone, Default)]
pub(crate) struct ChunksByKey {
    by_key: GenericHashMap<ChunkKey, KeyChunks, KeyHash, DefaultSharedPtr>,
}

/// Nearly every text stands in one place only.
#[derive(Clone)]
enum KeyChunks {
    One(ChunkId),
    More(Arc<[ChunkId]>),
}

impl KeyChunks {
    fn chunks(&self) -> &[ChunkId] {
        match self {
            Self::One(chunk) => std::slice::from_ref(chunk),
            Self::More(chunks) => chunks,
        }
    }
}

impl ChunksByKey {
    /// Collects the chunks of all documents.
    pub fn new(documents: &Documents) -> Self {
        let mut all = Self::default();
        for document in documents.iter() {
            all.add(document);
        }
        all
    }

    /// Returns a copy with these changes applied.
    pub fn with_changes(&self, changes: &[Change]) -> Self {
        let mut all = self.clone();
        for change in changes {
            if let Some(before) = &change.before {
                all.drop(before);
            }
            if let Some(after) = &change.after {
                all.add(after);
            }
        }
        all
    }

    /// The chunks with this key.
    pub fn chunks(&self, key: &ChunkKey) -> &[ChunkId] {
        self.by_key.get(key).map_or(&[], KeyChunks::chunks)
    }

    /// Whether any chunk has this key.
    pub fn contains(&self, key: &ChunkKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// How many texts there are, each counted once.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    fn add(&mut self, document: &StoredDocument) {
        for (key, chunk) in chunks_of(document) {
            // Looked up once for nearly all texts.
            if let Some(known) = self.by_key.insert(key, KeyChunks::One(chunk)) {
                let more = known.chunks().iter().copied().chain([chunk]).collect();
                self.by_key.insert(key, KeyChunks::More(more));
            }
        }
    }

    fn drop(&mut self, document: &StoredDocument) {
        for (key, chunk) in chunks_of(document) {
            let known = self.chunks(&key).iter().copied();
            let left: Arc<[ChunkId]> = known.filter(|held| *held != chunk).collect();
            match &*left {
                [] => self.by_key.remove(&key),
                [only] => self.by_key.insert(key, KeyChunks::One(*only)),
                _ => self.by_key.insert(key, KeyChunks::More(left)),
            };
        }
    }
}

fn chunks_of(document: &StoredDocument) -> impl Iterator<Item = (ChunkKey, ChunkId)> {
    let chunks = (0_u32..).zip(&document.chunks);
    let chunks = chunks.filter(|(_, entry)| entry.key != ChunkKey::WORDS_ONLY);
    chunks.map(|(at, entry)| (entry.key, ChunkId::new(document.number, at)))
}

/// The texts without a vector.
#[derive(Clone)]
pub(crate) struct PendingKeys {
    /// The rows that were looked at: which, and how many.
    lineage: u64,
    rows: usize,
    keys: GenericHashSet<ChunkKey, KeyHash, DefaultSharedPtr>,
    /// Keys of new commits whose vectors were not looked up yet.
    unchecked: Vec<ChunkKey>,
}

impl PendingKeys {
    /// Collects the texts of all documents that have no vector.
    pub fn new(documents: &Documents, vectors: &Vectors) -> Self {
        let texts = documents.iter().flat_map(|document| &document.chunks);
        let texts = texts.map(|entry| entry.key);
        let texts = texts.filter(|key| *key != ChunkKey::WORDS_ONLY);
        Self {
            lineage: vectors.lineage(),
            rows: vectors.len(),
            keys: texts.filter(|key| vectors.row_of(key).is_none()).collect(),
            unchecked: Vec::new(),
        }
    }

    /// Whether these are the rows that were looked at before, possibly with more behind them.
    pub fn knows(&self, vectors: &Vectors) -> bool {
        self.lineage == vectors.lineage() && self.rows <= vectors.len()
    }

    /// Removes the keys whose vectors were added since the last look.
    pub fn catch_up(&mut self, holders: &ChunksByKey, vectors: &Vectors) {
        for key in vectors.keys_from(self.rows) {
            self.keys.remove(key);
        }
        self.rows = vectors.len();
        for key in self.unchecked.drain(..) {
            if holders.contains(&key) && vectors.row_of(&key).is_none() {
                self.keys.insert(key);
            }
        }
    }

    /// Returns a copy with these changes applied; `holders` are the chunks after them.
    pub fn with_changes(&self, changes: &[Change], holders: &ChunksByKey) -> Self {
        let mut all = self.clone();
        for change in changes {
            let gone = change.before.iter().flat_map(|before| &before.chunks);
            for entry in gone.filter(|entry| !holders.contains(&entry.key)) {
                all.keys.remove(&entry.key);
            }
            let come = change.after.iter().flat_map(|after| &after.chunks);
            all.unchecked.extend(come.map(|entry| entry.key));
        }
        all
    }

    /// The number of keys without a vector.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// All keys without a vector, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &ChunkKey> {
        self.keys.iter()
    }
}
