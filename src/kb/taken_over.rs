//! Vectors from one base to another: what both say need not be embedded twice.

use std::sync::atomic::{AtomicBool, Ordering};

use super::base::KnowledgeBase;
use super::error::KbError;
use super::index::{ChunkKey, Limits};

/// Chunks between two looks at whether to go on.
const AT_ONCE: usize = 1024;

impl KnowledgeBase {
    /// Takes over the vectors that another base of the same embedding has for what this one says too,
    /// and tells how many those were. Blocks. While another process embeds, this is
    /// [`KbError::Locked`].
    pub fn take_vectors_of(
        &self,
        other: &KnowledgeBase,
        stop: &AtomicBool,
    ) -> Result<usize, KbError> {
        if self.model_id() != other.model_id() {
            return Ok(0);
        }
        let limits = || Limits::of_a_call(stop);
        let mut vectors = self.store().begin_vectors(limits())?;
        let (reader, known) = (self.reader(), other.reader());
        let (mut taken, mut cursor) = (0, None);
        while !stop.load(Ordering::Relaxed) {
            let page = reader.pending(cursor, AT_ONCE, limits())?;
            let keys: Vec<ChunkKey> = page.chunks.iter().map(|(_, key)| *key).collect();
            let found = keys.iter().copied().zip(known.vectors(&keys, limits())?);
            let rows: Vec<(ChunkKey, Vec<f32>)> = found
                .filter_map(|(key, vector)| Some((key, vector?)))
                .collect();
            vectors.put_vectors(&rows, limits())?;
            taken += rows.len();
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        drop(vectors);
        self.refresh()?;
        Ok(taken)
    }
}
