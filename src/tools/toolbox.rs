use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::filter_diagnosis::explain_empty_filters;
use super::run_tool;
use crate::agent::ports::{Caller, Caveat, NarrowedTools, ToolError, Toolbox, WaitSink, blocking};
use crate::domain::{Evidence, Question, SearchedBase, ToolCall, may_be_limited};
use crate::kb::{KnowledgeBase, Scope};

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

/// The folders and files that a base is made of.
fn source_names(base: &KnowledgeBase) -> Vec<String> {
    let paths = base.source_paths().into_iter();
    paths
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
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
        let run = move |cancel: &CancellationToken| {
            let waits = waits.as_ref();
            run_tool(&base, &call, &scope, Caller { cancel, waits })
        };
        blocking(run)
            .await
            .unwrap_or_else(|error| Err(ToolError::Failed(format!("{tool} broke off: {error}"))))
    }

    fn base(&self) -> Option<SearchedBase> {
        Some(SearchedBase {
            name: self.base.name().to_owned(),
            sources: source_names(&self.base),
        })
    }

    async fn narrow(&self, question: &str) -> Result<Option<NarrowedTools>, ToolError> {
        if !may_be_limited(question) {
            return Ok(None);
        }
        let (base, question) = (Arc::clone(&self.base), question.to_owned());
        let found = blocking(move |cancel| Scope::from_question(&base, &question, cancel)).await;
        let found = found.unwrap_or_else(|error| {
            let line = format!("looking for what the question names broke off: {error}");
            Err(ToolError::Failed(line))
        });
        let Some(found) = found? else {
            return Ok(None);
        };
        let (within, filters) = (
            found.scope.names().to_vec(),
            found.scope.filter_texts().collect(),
        );
        let tools = Self {
            base: Arc::clone(&self.base),
            scope: Arc::new(found.scope),
        };
        Ok(Some(NarrowedTools {
            within,
            filters,
            remarks: found.remarks,
            ..NarrowedTools::unlimited(Arc::new(tools), found.query)
        }))
    }

    async fn why_nothing(&self, query: &str) -> Option<String> {
        if self.scope.filter_count() == 0 {
            return None;
        }
        let (base, scope) = (Arc::clone(&self.base), Arc::clone(&self.scope));
        let query = query.to_owned();
        let why =
            blocking(move |cancel| explain_empty_filters(&base, &scope, &query, cancel)).await;
        match why {
            Ok(Ok(why)) => why,
            Ok(Err(error)) => {
                tracing::debug!(%error, "which filter left nothing is not known");
                None
            }
            Err(_) => None,
        }
    }

    async fn absent_words(&self, words: &[String]) -> Vec<String> {
        let (base, scope) = (Arc::clone(&self.base), Arc::clone(&self.scope));
        let mut words = words.to_vec();
        let absent = move |cancel: &CancellationToken| {
            words.retain(|word| {
                base.is_absent(word, scope.limits(cancel.into()))
                    .unwrap_or(false)
            });
            words
        };
        blocking(absent).await.unwrap_or_default()
    }

    async fn spoken_of(&self, question: &Question) -> Option<Vec<String>> {
        let (base, scope) = (Arc::clone(&self.base), Arc::clone(&self.scope));
        let (subject, topics) = (question.subject.clone(), question.topics.clone());
        let spoken_of = move |cancel: &CancellationToken| {
            base.spoken_of(&subject, &topics, scope.limits(cancel.into()))
        };
        let found = blocking(spoken_of).await.ok()?;
        found
            .inspect_err(|error| tracing::debug!(%error, "what the base speaks of is not known"))
            .ok()
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
