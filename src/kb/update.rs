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
mod job;

use super::error::KbError;

pub use changes::Changes;
pub(super) use changes::SkippedFiles;
pub(super) use job::{Job, RefusedChunks};
pub use job::{MissingText, Phase, Progress, Unembedded, UpdateReport};

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
        let batch = self.store.begin(afresh, self.limits())?;
        file_reading::read(self, batch, changes)
    }

    /// The meaning: embeds the chunks that have no vector yet, and says how many it did.
    pub fn meaning(&self) -> Result<usize, KbError> {
        match self.store.begin_vectors(self.limits()) {
            Ok(vectors) => embedding::embed(self, vectors),
            // The embedding process is doing it for another commit.
            Err(KbError::Locked) if self.store.reader().pending_count(self.limits())? == 0 => Ok(0),
            Err(error) => Err(error),
        }
    }
}
