//! Brings the index up to date with the files.
//!
//! Two phases, because words are cheap and meaning is not: the first makes everything searchable
//! within seconds, the second may take minutes and can stop after any batch. Which chunks still
//! need a vector is not recorded anywhere: it is the difference between the documents and the
//! vectors, so there is no state that a kill could leave wrong. Each phase has a writer's right
//! of its own, so that a saved file need not wait until everything is embedded.

mod changes;
mod embedding;
mod file_reading;

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::budget::ByteBudget;
use super::error::KbError;
use super::index::{ChunkKey, KeyHash, Limits, Store};
use super::source::{Roots, Skipped, TextCache};
use crate::agent::ports::{BulkPriority, Embedder};
use crate::domain::LineRange;

pub use changes::Changes;
pub(super) use changes::{SkippedFiles, plan};

/// How far an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The phase that it is in.
    pub phase: Phase,
    /// Files or chunks done.
    pub done: usize,
    /// Files or chunks in all.
    pub total: usize,
}

/// What an update is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Reading files and indexing their words; counts files.
    Reading,
    /// Embedding; counts chunks.
    Embedding,
}

/// What an update did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpdateReport {
    /// Documents that are new.
    pub added: usize,
    /// Documents whose text changed.
    pub changed: usize,
    /// Documents that are where another one was that said the same; neither new nor vanished.
    pub moved: usize,
    /// Documents that vanished.
    pub removed: usize,
    /// Documents that stayed as they were.
    pub unchanged: usize,
    /// Documents of the folders here that only another machine has read: their files are not here, and
    /// they stay.
    pub of_other_machines: usize,
    /// Documents in the index now.
    pub documents: usize,
    /// Chunks in the index now.
    pub chunks: usize,
    /// Chunks that are found by their words only.
    pub words_only: usize,
    /// Chunks embedded by this update.
    pub embedded: usize,
    /// Files that are not in the index, and why.
    pub skipped: Vec<Skipped>,
    /// The parts of documents that are missing from their texts, by their paths.
    pub missing_texts: Vec<MissingText>,
    /// Passages that the embedding refuses, and that are found by their words only.
    pub unembedded: Vec<Unembedded>,
    /// Files that were looked at to find this out.
    pub looked_at: usize,
}

/// A document that was not read to its last word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingText {
    /// Its file, as evidence names it.
    pub path: String,
    /// The missing parts, a sentence each.
    pub missing: Vec<String>,
}

/// A passage that the embedding refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    /// Its file, as evidence names it.
    pub path: String,
    /// Where in the file.
    pub lines: LineRange,
    /// The reason that the embedding gives.
    pub why: String,
}

/// Passages that the embedding refuses, by the keys of their chunks.
pub(crate) type RefusedChunks = HashMap<ChunkKey, Unembedded, KeyHash>;

/// One update.
pub(crate) struct Job<'a> {
    pub roots: &'a Roots,
    pub store: &'a dyn Store,
    pub texts: &'a TextCache,
    pub embedder: &'a dyn Embedder,
    pub skipped_files: &'a SkippedFiles,
    /// The memory that documents on their way into the index may take.
    pub budget: &'a ByteBudget,
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Ends the update as soon as possible.
    pub cancel: &'a CancellationToken,
    /// The chunks that the embedding has refused in this process.
    pub refused: &'a Mutex<RefusedChunks>,
    /// How its embedding shares the cores.
    pub priority: BulkPriority,
    /// Ends an embedding as soon as something has been embedded.
    pub pause: Option<&'a CancellationToken>,
}

impl Job<'_> {
    fn is_to_pause(&self) -> bool {
        self.pause.is_some_and(CancellationToken::is_cancelled)
    }

    /// The limits of a call to the index that begins now.
    pub fn limits(&self) -> Limits<'_> {
        Limits::of_a_call(self.cancel)
    }

    /// Counts what the index holds. Cancelling does not end this, since the documents are changed already.
    fn count(&self, report: &mut UpdateReport) -> Result<(), KbError> {
        let counts = self.store.reader().counts(Limits::without_cancel())?;
        report.documents = counts.documents;
        report.chunks = counts.chunks;
        report.words_only = counts.words_only;
        Ok(())
    }

    fn report(&self, phase: Phase, done: usize, total: usize) {
        (self.progress)(Progress { phase, done, total });
    }
}
