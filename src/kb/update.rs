//! Brings the index up to date with the files.
//!
//! Two phases, because words are cheap and meaning is not: the first makes everything searchable
//! within seconds, the second may take minutes and can stop after any batch. Which chunks still
//! need a vector is not recorded anywhere: it is the difference between the documents and the
//! vectors, so there is no state that a kill could leave wrong. Each phase has a writer's right
//! of its own, so that a saved file need not wait until everything is embedded.

mod changes;
mod embedding;
mod reading;

use std::sync::atomic::{AtomicBool, Ordering};

pub use changes::Changes;
pub(super) use changes::PassedOver;

use super::budget::ByteBudget;
use super::error::KbError;
use super::roots::Roots;
use super::shelf::Shelf;
use super::store::Store;
use super::walk::Skipped;
use crate::agent::ports::Embedder;

/// How far an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
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
    /// Documents in the index now.
    pub documents: usize,
    /// Chunks in the index now.
    pub chunks: usize,
    /// Chunks embedded by this update.
    pub embedded: usize,
    /// Files that are not in the index, and why.
    pub skipped: Vec<Skipped>,
    /// Files that were looked at to find this out.
    pub looked_at: usize,
}

/// One update.
pub(super) struct Job<'a> {
    pub roots: &'a Roots,
    pub store: &'a dyn Store,
    pub shelf: &'a Shelf,
    pub embedder: &'a dyn Embedder,
    pub passed_over: &'a PassedOver,
    /// What documents on their way into the index may take of the memory.
    pub budget: &'a ByteBudget,
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Ends it as soon as can be.
    pub stop: &'a AtomicBool,
    /// Ends an embedding as soon as something has been embedded.
    pub pause: Option<&'a AtomicBool>,
}

impl Job<'_> {
    /// The words from nothing.
    pub fn words_afresh(&self) -> Result<UpdateReport, KbError> {
        self.read(true, &Changes::Everything)
    }

    /// The words: what changed is read and can be searched.
    pub fn words(&self, changes: &Changes) -> Result<UpdateReport, KbError> {
        self.read(false, changes)
    }

    fn read(&self, afresh: bool, changes: &Changes) -> Result<UpdateReport, KbError> {
        let batch = self.store.begin(afresh)?;
        let mut report = reading::read(self, batch, changes)?;
        self.count(&mut report);
        Ok(report)
    }

    /// The meaning: embeds the chunks that have no vector yet, and says how many it did.
    pub fn meaning(&self) -> Result<usize, KbError> {
        match self.store.begin_vectors() {
            Ok(vectors) => embedding::embed(self, vectors),
            // Whoever embeds is doing it for another commit.
            Err(KbError::Locked) if self.store.snapshot().pending_count() == 0 => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Both, one after the other; `afresh` forgets everything first.
    pub fn all(&self, afresh: bool) -> Result<UpdateReport, KbError> {
        if !afresh {
            let mut report = self.words(&Changes::Everything)?;
            report.embedded = self.meaning()?;
            return Ok(report);
        }
        let mut vectors = self.store.begin_vectors()?;
        let batch = self.store.begin(true)?;
        let mut report = reading::read(self, batch, &Changes::Everything)?;
        vectors.clear()?;
        report.embedded = embedding::embed(self, vectors)?;
        self.count(&mut report);
        Ok(report)
    }

    fn is_to_pause(&self) -> bool {
        self.pause
            .is_some_and(|pause| pause.load(Ordering::Relaxed))
    }

    fn count(&self, report: &mut UpdateReport) {
        let snapshot = self.store.snapshot();
        report.documents = snapshot.documents().len();
        report.chunks = snapshot.chunks();
    }

    fn report(&self, phase: Phase, done: usize, total: usize) {
        (self.progress)(Progress { phase, done, total });
    }
}
