//! An embedding that fails must not stop a search, and must not be silent either: what went
//! wrong last is kept for the notice to the user.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::ports::{BulkPriority, Caller, EmbedError, Embedder, EmbeddingChoice};

/// An embedding that remembers how its last call went.
pub struct MonitoredEmbedder {
    inner: Arc<dyn Embedder>,
    last_error: Mutex<Option<EmbedError>>,
}

impl MonitoredEmbedder {
    /// Wraps an embedder.
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self {
            inner,
            last_error: Mutex::default(),
        }
    }

    /// Why the last call failed; `None` when it did not.
    pub fn last_error(&self) -> Option<EmbedError> {
        self.lock_last_error().clone()
    }

    /// Notes that the result of the last call was of no use.
    pub fn note_failure(&self, error: &EmbedError) {
        *self.lock_last_error() = Some(error.clone());
    }

    fn note<T>(&self, result: Result<T, EmbedError>) -> Result<T, EmbedError> {
        *self.lock_last_error() = result.as_ref().err().cloned();
        result
    }

    fn lock_last_error(&self) -> std::sync::MutexGuard<'_, Option<EmbedError>> {
        self.last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Embedder for MonitoredEmbedder {
    fn model_id(&self) -> &str {
        self.inner.model_id()
    }

    fn length_now(&self) -> Option<usize> {
        self.inner.length_now()
    }

    fn last_refusal(&self) -> Option<EmbedError> {
        self.inner.last_refusal()
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.note(self.inner.embed(texts))
    }

    fn choice(&self) -> Option<&dyn EmbeddingChoice> {
        self.inner.choice()
    }

    fn is_cpu_bound(&self) -> bool {
        self.inner.is_cpu_bound()
    }

    fn knows(&self, word: &str) -> bool {
        self.inner.knows(word)
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.note(self.inner.embed_stoppable(texts, caller))
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        priority: BulkPriority,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.note(self.inner.embed_unless(texts, priority, stop))
    }
}
