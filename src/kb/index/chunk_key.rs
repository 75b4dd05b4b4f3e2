//! The key of a chunk's text.

use std::hash::{BuildHasherDefault, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// The hash of a chunk's heading and text. Its vector is stored under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ChunkKey(pub(crate) [u8; Self::BYTES]);

impl ChunkKey {
    pub(crate) const BYTES: usize = 16;
    /// The key of all chunks that are found by their words only: no vector is ever made for it.
    pub(crate) const WORDS_ONLY: Self = Self([0; Self::BYTES]);

    /// Hashes a chunk's heading and text.
    pub(crate) fn from_text(heading: &str, text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        if !heading.is_empty() {
            hasher.update(heading.as_bytes());
            hasher.update(b"\n");
        }
        hasher.update(text.as_bytes());
        let mut key = [0; Self::BYTES];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..Self::BYTES]);
        Self(key)
    }
}

/// A key is a hash already, so its first bytes are taken for the map.
impl Hash for ChunkKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let beginning = self.0.first_chunk().copied().unwrap_or_default();
        state.write_u64(u64::from_le_bytes(beginning));
    }
}

/// The hasher of maps by [`ChunkKey`].
pub(crate) type KeyHash = BuildHasherDefault<IdentityHasher>;

/// Returns the number that was written as the hash.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
