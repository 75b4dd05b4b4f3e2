//! Which row of the vectors belongs to which chunk.
//!
//! Chunks are numbered through all documents. Documents that repeat each other share a row, so
//! from a row a chain leads through all its chunks. Made when somebody asks, and again when the
//! rows have changed.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use super::{ChunkId, ChunkKey, KeyHash};
use crate::kb::manifest::{ChunkEntry, Document};
use crate::kb::vectors::Vectors;

/// Stands for no row and no chunk.
const NONE: u32 = u32::MAX;

/// The rows of one epoch and the chunks of one commit.
pub(super) struct Join {
    /// Of the rows.
    pub epoch: u64,
    row_of: Vec<u32>,
    first_of: Vec<u32>,
    next_of: Vec<u32>,
    pending: OnceLock<Arc<[(ChunkId, ChunkKey)]>>,
}

impl Join {
    /// Of these documents' chunks with these rows.
    pub fn of(documents: &[Document], chunks: usize, vectors: &Vectors) -> Self {
        let mut join = Self {
            epoch: vectors.epoch(),
            row_of: vec![NONE; chunks],
            first_of: vec![NONE; vectors.len()],
            next_of: vec![NONE; chunks],
            pending: OnceLock::new(),
        };
        let keys = documents.iter().rev().flat_map(|d| d.chunks.iter().rev());
        for (chunk, entry) in (0..chunks).rev().zip(keys) {
            if let Some(row) = vectors.row_of(&entry.key) {
                join.row_of[chunk] = row as u32;
                // The last to come is the first of its chain.
                join.next_of[chunk] = std::mem::replace(&mut join.first_of[row], chunk as u32);
            }
        }
        join
    }

    /// Where the chunk's vector is.
    pub fn row(&self, chunk: ChunkId) -> Option<usize> {
        let row = *self.row_of.get(chunk.0 as usize)?;
        (row != NONE).then_some(row as usize)
    }

    /// Whether any chunk says what this row was made of.
    pub fn is_live(&self, row: usize) -> bool {
        self.first_of.get(row).is_some_and(|first| *first != NONE)
    }

    /// Rows that no chunk needs.
    pub fn stale(&self) -> usize {
        self.first_of.iter().filter(|first| **first == NONE).count()
    }

    /// The chunks of a row, in their order.
    pub fn chunks(&self, row: usize) -> impl Iterator<Item = ChunkId> {
        let some = |chunk: u32| (chunk != NONE).then_some(chunk);
        let first = self.first_of.get(row).and_then(|first| some(*first));
        let chain = std::iter::successors(first, move |at| some(self.next_of[*at as usize]));
        chain.map(|chunk| ChunkId(u64::from(chunk)))
    }

    /// The chunks without a row, each text once; documents that lack few come first, so that one
    /// that is all data keeps nothing waiting.
    pub fn pending(&self, documents: &[Document]) -> Arc<[(ChunkId, ChunkKey)]> {
        let list = || {
            let mut seen: HashSet<ChunkKey, KeyHash> = HashSet::default();
            let mut chunk = 0;
            let mut lacking: Vec<Vec<(ChunkId, ChunkKey)>> = Vec::new();
            for document in documents {
                let of_document =
                    document.chunks.iter().filter_map(|ChunkEntry { key, .. }| {
                        let at = chunk;
                        chunk += 1;
                        (self.row_of[at] == NONE && seen.insert(*key))
                            .then_some((ChunkId(at as u64), *key))
                    });
                let of_document: Vec<_> = of_document.collect();
                if !of_document.is_empty() {
                    lacking.push(of_document);
                }
            }
            lacking.sort_by_key(Vec::len);
            lacking.concat().into()
        };
        Arc::clone(self.pending.get_or_init(list))
    }
}
