//! Rows that are about to be added.

use super::files::Files;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;

/// Rows that are about to be added, and where.
pub(in crate::kb) struct Addition {
    pub(super) files: Files,
    pub(super) at: usize,
    pub(super) dims: usize,
    pub(super) rows: Vec<u8>,
    pub(super) keys: Vec<(ChunkKey, f32)>,
}

impl Addition {
    /// Writes them; they count from then on. Only under the lock.
    pub fn write(&self) -> Result<(), KbError> {
        self.files
            .append(self.at, self.dims, &self.rows, &self.keys)
    }
}
