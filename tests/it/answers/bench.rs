//! A knowledge base with the offline engine over it, asked as a conversation asks.

use std::path::Path;
use std::sync::Arc;

use kb_agent::agent::ports::Toolbox;
use kb_agent::agent::{RunRequest, without_marks};
use kb_agent::domain::{RoutingLimits, Turn};
use kb_agent::embed::{CachedEmbedder, JudgeEmbedder};
use kb_agent::kb::KnowledgeBase;
use kb_agent::reasoner::offline::OfflineReasoner;
use kb_agent::tools::KbToolbox;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::frozen_demo;
use crate::support::{Finished, run};

/// Vectors and texts that are remembered: all of a base, so that no question embeds a text that an earlier one did.
const REMEMBERED: usize = 1 << 14;

pub struct Bench {
    tools: Arc<dyn Toolbox>,
    embedder: Arc<CachedEmbedder>,
    _home: TempDir,
}

impl Bench {
    /// Reads and embeds the documents of `folder`.
    pub fn over(folder: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let models = Arc::new(JudgeEmbedder::built_in());
        let embedder = Arc::new(CachedEmbedder::holding(REMEMBERED, REMEMBERED, models));
        let bases = [folder.to_owned()];
        let of_passages = frozen_demo::knowing_the_pages(embedder.clone());
        let base = KnowledgeBase::open(&bases, home.path(), of_passages).unwrap();
        base.update(&|_| {}, &CancellationToken::new()).unwrap();
        Self {
            tools: Arc::new(KbToolbox::new(Arc::new(base))),
            embedder,
            _home: home,
        }
    }

    pub async fn ask(&self, query: &str, history: &[Turn]) -> Finished {
        let question = RunRequest {
            query: query.to_owned(),
            history: history.to_vec(),
            ..RunRequest::default()
        };
        let reasoner = Arc::new(OfflineReasoner::new(self.embedder.clone()));
        run(
            reasoner,
            self.tools.clone(),
            RoutingLimits::default(),
            question,
        )
        .await
    }

    /// Asks `earlier` one after the other, then the question.
    pub async fn converse(&self, earlier: &[String], query: &str) -> Finished {
        let mut history = Vec::new();
        for question in earlier {
            let answer = without_marks(self.ask(question, &history).await.text());
            history.push(Turn {
                question: question.clone(),
                answer,
            });
        }
        self.ask(query, &history).await
    }
}
