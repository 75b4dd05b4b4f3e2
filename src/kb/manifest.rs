//! What the index knows about each document.
//!
//! A manifest belongs to one commit of the lexical index: it is written under a new generation
//! number first, the commit names that number in its payload, and only then does it count. A kill
//! at any moment leaves either the old pair or the new pair.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::error::KbError;
use super::links::Link;
use super::store::ChunkKey;

/// One document of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its file, as evidence names it.
    pub source: String,
    /// Its first heading, or the file's name.
    pub title: String,
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: u64,
    /// BLAKE3 of its text.
    pub hash: String,
    /// Its chunks, in order.
    pub(super) chunks: Vec<ChunkKey>,
    /// The references it makes.
    pub links: Vec<Link>,
}

/// The documents of one commit, ordered by `source`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub documents: Vec<Document>,
}

impl Manifest {
    /// Of that generation; `None` when it is missing or broken, which calls for a rebuild. That
    /// the system refuses to read it does not.
    pub fn load(dir: &Path, generation: u64) -> Result<Option<Self>, KbError> {
        let path = path(dir, generation);
        match fs::read(&path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(KbError::io(&path)(error)),
        }
    }

    /// The number of what is written next. It is taken from the clock, so that an index that was
    /// thrown away and made anew never repeats a number that some reader knows.
    pub fn next_generation(generation: u64) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as u64);
        now.max(generation + 1)
    }

    /// Writes it under that generation, whole or not at all.
    pub fn save(&self, dir: &Path, generation: u64) -> Result<(), KbError> {
        let goal = path(dir, generation);
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.as_file().sync_all()?;
            file.persist(&goal).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(KbError::io(&goal))
    }

    /// Removes all generations but this one. What cannot be removed now is removed next time.
    pub fn tidy(dir: &Path, keep: u64) {
        let kept = path(dir, keep);
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(PREFIX) && name.ends_with(SUFFIX) && entry.path() != kept {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

const PREFIX: &str = "documents-";
const SUFFIX: &str = ".json";

fn path(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("{PREFIX}{generation}{SUFFIX}"))
}
