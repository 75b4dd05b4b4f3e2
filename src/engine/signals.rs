//! What the built-in judge looks at, without a knowledge base: what its weights are fitted on.

use std::sync::Arc;

use crate::agent::ports::Embedder;
use crate::embed::{CachedEmbedder, SentenceEmbedding};
use crate::reasoner::offline;

use super::EngineError;

pub use crate::reasoner::offline::{Given, Signals, signal_names};

/// The signals of the built-in judge, by the built-in embedding.
pub struct Looking {
    embedder: Arc<dyn Embedder>,
}

impl Looking {
    /// Loads nothing yet.
    pub fn new() -> Self {
        let built_in: Arc<dyn Embedder> = Arc::new(SentenceEmbedding::new());
        Self {
            embedder: Arc::new(CachedEmbedder::new(built_in)),
        }
    }

    /// The signals of each passage of one question. Blocks.
    pub fn at(&self, question: &str, passages: &[Given<'_>]) -> Result<Signals, EngineError> {
        offline::look_at(question, passages, self.embedder.as_ref())
            .map_err(|error| EngineError::Run(error.to_string()))
    }
}

impl Default for Looking {
    fn default() -> Self {
        Self::new()
    }
}
