//! What the built-in judge looks at, without a run: what its weights are fitted on.

use std::sync::Arc;

use crate::agent::ports::{Embedder, Toolbox};
use crate::config::Settings;
use crate::domain::{Evidence, ToolCall};
use crate::embed::{CachedEmbedder, JudgeEmbedder};
use crate::reasoner::offline;

use super::{EngineError, open_knowledge};
use crate::tools::KbToolbox;

pub use crate::reasoner::offline::{Given, Signals, signal_names};

/// The signals of the built-in judge, by the built-in embedding.
pub struct SignalReader {
    embedder: Arc<dyn Embedder>,
}

impl SignalReader {
    /// Loads nothing yet. The setting for the embedding fixes which model compares the tokens.
    pub fn new(settings: &Settings) -> Self {
        let built_in = JudgeEmbedder::built_in().with_fixed_model(settings.embedding_languages);
        Self {
            embedder: Arc::new(CachedEmbedder::new(Arc::new(built_in))),
        }
    }

    /// What a hybrid search of the base of the settings finds for a question.
    pub async fn search(
        settings: &Settings,
        questions: &[&str],
    ) -> Result<Vec<Vec<Evidence>>, EngineError> {
        let tools = KbToolbox::new(Arc::new(open_knowledge(settings)?));
        let mut all = Vec::with_capacity(questions.len());
        for question in questions {
            let read = offline::read(question, &[]);
            let call = ToolCall::HybridSearch {
                semantic_query: read.search_text(),
                exact_keywords: read.literals.keywords(),
            };
            let found = tools.run(&call, None).await;
            all.push(found.map_err(|error| EngineError::Run(error.to_string()))?);
        }
        Ok(all)
    }

    /// The signals of each block of each passage of one question. Blocks.
    pub fn read(
        &self,
        question: &str,
        passages: &[Given<'_>],
    ) -> Result<Vec<Vec<Signals>>, EngineError> {
        offline::measure_signals(question, passages, self.embedder.as_ref())
            .map_err(|error| EngineError::Run(error.to_string()))
    }
}
