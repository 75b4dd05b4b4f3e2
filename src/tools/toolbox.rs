use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_trait::async_trait;

use super::run_tool;
use super::scope::Scope;
use crate::agent::ports::{Caller, Caveat, NarrowedTools, ToolError, Toolbox, WaitSink, blocking};
use crate::domain::{Evidence, ToolCall};
use crate::kb::KnowledgeBase;

/// The tools over one knowledge base, or over a part of it.
#[derive(Clone)]
pub struct KbToolbox {
    base: Arc<KnowledgeBase>,
    scope: Arc<Scope>,
}

impl KbToolbox {
    /// Over this base, which may be updated meanwhile.
    pub fn new(base: Arc<KnowledgeBase>) -> Self {
        Self {
            base,
            scope: Arc::default(),
        }
    }
}

#[async_trait]
impl Toolbox for KbToolbox {
    async fn run(
        &self,
        call: &ToolCall,
        waits: Option<&WaitSink>,
    ) -> Result<Vec<Evidence>, ToolError> {
        let (base, scope) = (Arc::clone(&self.base), Arc::clone(&self.scope));
        let (call, waits) = (call.clone(), waits.cloned());
        let tool = call.tool();
        let run = move |stop: &AtomicBool| {
            let waits = waits.as_ref();
            run_tool(&base, &call, &scope, Caller { stop, waits })
        };
        blocking(run)
            .await
            .unwrap_or_else(|error| Err(ToolError::Failed(format!("{tool} broke off: {error}"))))
    }

    async fn narrow(&self, question: &str) -> Result<Option<NarrowedTools>, ToolError> {
        if !question.contains('@') {
            return Ok(None);
        }
        let (base, question) = (Arc::clone(&self.base), question.to_owned());
        let found = blocking(move |stop| Scope::from_question(&base, &question, stop)).await;
        let found = found.unwrap_or_else(|error| {
            let line = format!("looking for what the question names broke off: {error}");
            Err(ToolError::Failed(line))
        });
        let Some((scope, query)) = found? else {
            return Ok(None);
        };
        let within = scope.names.clone();
        let tools = Self {
            base: Arc::clone(&self.base),
            scope: Arc::new(scope),
        };
        Ok(Some(NarrowedTools {
            tools: Arc::new(tools),
            within,
            query,
        }))
    }

    async fn absent_words(&self, words: &[String]) -> Vec<String> {
        let (base, scope) = (Arc::clone(&self.base), Arc::clone(&self.scope));
        let mut words = words.to_vec();
        let absent = move |stop: &AtomicBool| {
            words.retain(|word| {
                base.is_absent(word, scope.search_limits(stop.into()))
                    .unwrap_or(false)
            });
            words
        };
        blocking(absent).await.unwrap_or_default()
    }

    async fn caveats(&self) -> Vec<Caveat> {
        let failed = self.base.embedding_trouble().map(|error| Caveat {
            code: "embedding_failed",
            message: format!("{error}; passages are found by their words only"),
        });
        let base = Arc::clone(&self.base);
        let incomplete = blocking(move |_| base.status().incomplete()).await;
        let incomplete = incomplete.ok().flatten().map(|message| Caveat {
            code: "index_incomplete",
            message,
        });
        failed.into_iter().chain(incomplete).collect()
    }
}
