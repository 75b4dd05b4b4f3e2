//! One embedding for English and one for all languages, of which a base has one; a question in another language over an
//! English base is read by the one for all languages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

use crate::agent::ports::{
    BulkPriority, Caller, EmbedError, Embedder, EmbeddingChoice, TokenVectors, TokensWanted,
};
use crate::domain::Languages;

use super::bridge::map_to_english;

/// Embeds by the one of two models that was chosen last; by the one for English until then.
pub struct EmbedderByLanguage {
    english: Arc<dyn Embedder>,
    multilingual: Arc<dyn Embedder>,
    is_for_all: AtomicBool,
    fixed: Option<Languages>,
    is_english: fn(&str) -> bool,
}

impl EmbedderByLanguage {
    /// An embedding that stands for these two; `fixed` is the one that the user wants, whatever a base is written in.
    /// `is_english` tells the language of a question.
    pub fn new(
        english: Arc<dyn Embedder>,
        multilingual: Arc<dyn Embedder>,
        fixed: Option<Languages>,
        is_english: fn(&str) -> bool,
    ) -> Self {
        Self {
            english,
            multilingual,
            is_for_all: AtomicBool::new(fixed == Some(Languages::All)),
            fixed,
            is_english,
        }
    }

    fn embedder(&self) -> &Arc<dyn Embedder> {
        if self.is_for_all.load(Ordering::Relaxed) {
            &self.multilingual
        } else {
            &self.english
        }
    }
}

impl EmbeddingChoice for EmbedderByLanguage {
    fn fixed(&self) -> Option<Languages> {
        self.fixed
    }

    fn current(&self) -> Languages {
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
            Languages::All => Arc::clone(&self.multilingual),
        }
    }
}

impl Embedder for EmbedderByLanguage {
    fn model_id(&self) -> &str {
        self.embedder().model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embedder().embed(texts)
    }

    fn is_cpu_bound(&self) -> bool {
        self.embedder().is_cpu_bound()
    }

    fn knows(&self, word: &str) -> bool {
        self.embedder().knows(word)
    }

    fn batch(&self) -> usize {
        self.embedder().batch()
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        if let [question] = texts
            && self.current() == Languages::English
            && !(self.is_english)(question)
        {
            let made = self.multilingual.embed_stoppable(texts, caller)?;
            let vectors = made.iter().flatten().map(|vector| map_to_english(vector));
            return Ok(made.is_some().then(|| vectors.collect()));
        }
        self.embedder().embed_stoppable(texts, caller)
    }

    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        caller: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        self.embedder().embed_tokens(texts, tokens, caller)
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        priority: BulkPriority,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.embedder().embed_unless(texts, priority, cancel)
    }

    fn choice(&self) -> Option<&dyn EmbeddingChoice> {
        Some(self)
    }
}
