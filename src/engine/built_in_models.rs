//! The embedding models of the binary, shared by all that uses them: loaded once, when the first text comes.

use std::sync::Arc;

use crate::agent::ports::Embedder;
use crate::domain::Languages;
use crate::embed::{BuiltInModel, EmbedderByLanguage, JudgeEmbedder, SentenceEmbedding};

/// Both models, cheap to clone.
#[derive(Clone)]
pub(super) struct BuiltInModels {
    english: Arc<dyn Embedder>,
    multilingual: Arc<dyn Embedder>,
}

impl BuiltInModels {
    /// Loads nothing yet.
    pub(super) fn new() -> Self {
        let model = |model| Arc::new(SentenceEmbedding::new(model));
        Self {
            english: model(BuiltInModel::English),
            multilingual: model(BuiltInModel::Multilingual),
        }
    }

    /// An embedding for a base, which chooses between the models unless the user did.
    pub(super) fn for_base(&self, set: Option<Languages>) -> EmbedderByLanguage {
        let (english, multilingual) = (self.english.clone(), self.multilingual.clone());
        EmbedderByLanguage::new(english, multilingual, set)
    }

    /// An embedding for the judge, which takes for each question the model that reads it.
    pub(super) fn judge(&self) -> Arc<JudgeEmbedder> {
        let (english, multilingual) = (self.english.clone(), self.multilingual.clone());
        Arc::new(JudgeEmbedder::new(english, multilingual))
    }
}
