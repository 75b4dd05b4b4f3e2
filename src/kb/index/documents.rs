//! The documents of one commit, by name.
//!
//! A commit shares what it did not change with the one before, so that one saved file among a
//! hundred thousand costs a handful of steps and searches go on over what they began with.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use imbl::OrdSet;

use super::chunk_key::ChunkKey;
use crate::domain::LineRange;
use crate::kb::links::Link;
use crate::kb::source::Stamp;

/// One document of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its file, as evidence names it.
    pub source: String,
    /// Its first heading, or the file's name.
    pub title: String,
    /// BLAKE3 of what was read from it.
    pub hash: [u8; 32],
    /// The file when it was read.
    pub(in crate::kb) stamp: Stamp,
    /// Whether the file was old enough when it was read that a later change shows in the stamp.
    pub(in crate::kb) mtime_is_reliable: bool,
    /// Names its rows in the lexical index; never used twice.
    pub(in crate::kb) number: u32,
    /// Its chunks, in order.
    pub(in crate::kb) chunks: Vec<ChunkEntry>,
    /// The references it makes, as JSON.
    pub(in crate::kb) links: Box<[u8]>,
}

impl Document {
    /// The references it makes.
    pub fn links(&self) -> Vec<Link> {
        serde_json::from_slice(&self.links).unwrap_or_default()
    }

    /// The size of its file in bytes, when it was read.
    pub fn bytes(&self) -> u64 {
        self.stamp.size
    }

    /// When its file was written.
    pub fn modified(&self) -> SystemTime {
        let since = Duration::from_nanos(self.stamp.modified);
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }
}

/// What the manifest knows about a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kb) struct ChunkEntry {
    /// Names its vector.
    pub key: ChunkKey,
    /// Where in the file.
    pub lines: LineRange,
}

/// All documents of one commit, ordered by name; cheap to clone.
#[derive(Clone, Default)]
pub struct Documents {
    by_name: OrdSet<Named>,
    chunks: usize,
}

impl Documents {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// In the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Document> {
        self.shared().map(|document| &**document)
    }

    /// The one of that name.
    pub fn get(&self, source: &str) -> Option<&Document> {
        self.by_name.get(source).map(|named| &*named.0)
    }

    /// How many chunks they have together.
    pub(in crate::kb) fn chunks(&self) -> usize {
        self.chunks
    }

    pub(in crate::kb) fn shared(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.by_name.iter().map(|named| &named.0)
    }

    pub(in crate::kb) fn get_shared(&self, source: &str) -> Option<&Arc<Document>> {
        self.by_name.get(source).map(|named| &named.0)
    }

    /// Whether some lie in a folder of that name.
    pub(in crate::kb) fn lie_in(&self, folder: &str) -> bool {
        let within = format!("{folder}/");
        let from = (Bound::Included(within.as_str()), Bound::Unbounded);
        let first = self.by_name.range::<_, str>(from).next();
        first.is_some_and(|named| named.0.source.starts_with(&within))
    }

    /// Takes one up, in place of one of that name, which is returned.
    pub(in crate::kb) fn insert(&mut self, document: Arc<Document>) -> Option<Arc<Document>> {
        self.chunks += document.chunks.len();
        let before = self.by_name.insert(Named(document))?.0;
        self.chunks -= before.chunks.len();
        Some(before)
    }

    /// Drops the one of that name and returns it.
    pub(in crate::kb) fn remove(&mut self, source: &str) -> Option<Arc<Document>> {
        let gone = self.by_name.remove(source)?.0;
        self.chunks -= gone.chunks.len();
        Some(gone)
    }
}

impl FromIterator<Document> for Documents {
    fn from_iter<I: IntoIterator<Item = Document>>(documents: I) -> Self {
        let mut all = Self::default();
        for document in documents {
            all.insert(Arc::new(document));
        }
        all
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// What became of one document from one commit to the next.
#[derive(Debug, Clone)]
pub(in crate::kb) struct Change {
    pub before: Option<Arc<Document>>,
    pub after: Option<Arc<Document>>,
}

/// Known by its name alone; that is what the set is ordered by.
#[derive(Clone)]
struct Named(Arc<Document>);

impl Borrow<str> for Named {
    fn borrow(&self) -> &str {
        &self.0.source
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.source == other.0.source
    }
}

impl Eq for Named {}

impl PartialOrd for Named {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Named {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.source.cmp(&other.0.source)
    }
}
