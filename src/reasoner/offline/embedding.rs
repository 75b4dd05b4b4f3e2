//! The embedding for one piece of work, which fails once that is stopped.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::agent::ports::{Caller, EmbedError, Embedder, TokenVectors, TokensWanted};

/// An embedding for one piece of work, until that is stopped.
pub(super) struct CancellableEmbedder<'a> {
    pub(super) embedder: &'a dyn Embedder,
    pub(super) stop: &'a AtomicBool,
}

impl CancellableEmbedder<'_> {
    fn unless_stopped<T>(&self, made: Option<T>) -> Result<T, EmbedError> {
        made.filter(|_| !self.stop.load(Ordering::Relaxed))
            .ok_or_else(|| EmbedError("it was stopped".into()))
    }
}

impl Embedder for CancellableEmbedder<'_> {
    fn model_id(&self) -> &str {
        self.embedder.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.unless_stopped(self.embedder.embed_stoppable(texts, self.stop.into())?)
    }

    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        _: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        let made = self
            .embedder
            .embed_tokens(texts, tokens, self.stop.into())?;
        self.unless_stopped(made).map(Some)
    }

    fn knows(&self, word: &str) -> bool {
        self.embedder.knows(word)
    }
}
