//! The two models of the binary behind one embedding, for the judge of evidence.
//!
//! A base has vectors of one model, but the judge compares the tokens of a question with those of a
//! few passages each time anew. It can take the model that reads both, whatever the base is searched by.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agent::ports::{BulkPriority, Caller, EmbedError, Embedder, TokenVectors, TokensWanted};
use crate::domain::Languages;

use super::{BuiltInModel, SentenceEmbedding};

/// Embeds whole texts by the model for English and tokens by the model for the languages asked for.
pub struct JudgeEmbedder {
    english: Arc<dyn Embedder>,
    multilingual: Arc<dyn Embedder>,
    /// The model for all tokens, where the caller fixes one.
    fixed: Option<Languages>,
}

impl JudgeEmbedder {
    /// Joins two embeddings, the first for English.
    pub fn new(english: Arc<dyn Embedder>, multilingual: Arc<dyn Embedder>) -> Self {
        Self {
            english,
            multilingual,
            fixed: None,
        }
    }

    /// The models of the binary, not loaded yet.
    pub fn built_in() -> Self {
        let model = |model| Arc::new(SentenceEmbedding::new(model));
        Self::new(
            model(BuiltInModel::English),
            model(BuiltInModel::Multilingual),
        )
    }

    /// Takes one model for the tokens of all texts, whatever they are written in.
    #[must_use]
    pub fn with_fixed_model(mut self, languages: Option<Languages>) -> Self {
        self.fixed = languages;
        self
    }
}

impl Embedder for JudgeEmbedder {
    fn model_id(&self) -> &str {
        self.english.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.english.embed(texts)
    }

    fn is_cpu_bound(&self) -> bool {
        self.english.is_cpu_bound()
    }

    fn knows(&self, word: &str) -> bool {
        self.english.knows(word)
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.english.embed_stoppable(texts, caller)
    }

    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        caller: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        let embedder = match self.fixed.unwrap_or(tokens.languages) {
            Languages::English => &self.english,
            Languages::All => &self.multilingual,
        };
        embedder.embed_tokens(texts, tokens, caller)
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        priority: BulkPriority,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.english.embed_unless(texts, priority, cancel)
    }
}
