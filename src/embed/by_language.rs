//! One embedding for English and one for all languages, of which a base has one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::agent::ports::{
    BulkPriority, Caller, EmbedError, Embedder, EmbeddingChoice, TokenVectors, TokensWanted,
};
use crate::domain::Languages;

/// Embeds by the one of two models that was chosen last; by the one for English until then.
pub struct EmbedderByLanguage {
    english: Arc<dyn Embedder>,
    all: Arc<dyn Embedder>,
    is_for_all: AtomicBool,
    set: Option<Languages>,
}

impl EmbedderByLanguage {
    /// Of these two; `set` is the one that the user wants, whatever a base is written in.
    pub fn new(english: Arc<dyn Embedder>, all: Arc<dyn Embedder>, set: Option<Languages>) -> Self {
        Self {
            english,
            all,
            is_for_all: AtomicBool::new(set == Some(Languages::All)),
            set,
        }
    }

    fn current(&self) -> &Arc<dyn Embedder> {
        if self.is_for_all.load(Ordering::Relaxed) {
            &self.all
        } else {
            &self.english
        }
    }
}

impl EmbeddingChoice for EmbedderByLanguage {
    fn set(&self) -> Option<Languages> {
        self.set
    }

    fn chosen(&self) -> Languages {
        if self.is_for_all.load(Ordering::Relaxed) {
            Languages::All
        } else {
            Languages::English
        }
    }

    fn choose(&self, languages: Languages) {
        self.is_for_all
            .store(languages == Languages::All, Ordering::Relaxed);
    }

    fn embedder_for(&self, languages: Languages) -> Arc<dyn Embedder> {
        match languages {
            Languages::English => Arc::clone(&self.english),
            Languages::All => Arc::clone(&self.all),
        }
    }
}

impl Embedder for EmbedderByLanguage {
    fn model_id(&self) -> &str {
        self.current().model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.current().embed(texts)
    }

    fn is_cpu_bound(&self) -> bool {
        self.current().is_cpu_bound()
    }

    fn knows(&self, word: &str) -> bool {
        self.current().knows(word)
    }

    fn batch(&self) -> usize {
        self.current().batch()
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.current().embed_stoppable(texts, caller)
    }

    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        caller: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        self.current().embed_tokens(texts, tokens, caller)
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        priority: BulkPriority,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.current().embed_unless(texts, priority, stop)
    }

    fn choice(&self) -> Option<&dyn EmbeddingChoice> {
        Some(self)
    }
}
