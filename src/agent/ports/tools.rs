use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;

use super::{Caveat, WaitSink};
use crate::domain::{Evidence, Question, SearchedBase, ToolCall};
use crate::text::Trouble;

/// The retrieval tools.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Runs one call. The ids of the items are set by the agent and may be empty. What the call waits
    /// for is sent to `waits`.
    async fn run(
        &self,
        call: &ToolCall,
        waits: Option<&WaitSink>,
    ) -> Result<Vec<Evidence>, ToolError>;

    /// The tools for a question that names what to keep within; `None` where it names nothing, and
    /// an error where it names what is not there. It may take a while.
    async fn narrow(&self, question: &str) -> Result<Option<NarrowedTools>, ToolError> {
        let _ = question;
        Ok(None)
    }

    /// Which of the question's filters left nothing for this query, as a sentence; `None` where it is not
    /// for them.
    async fn why_nothing(&self, query: &str) -> Option<String> {
        let _ = query;
        None
    }

    /// Returns those of the words that occur nowhere in the knowledge base, not even under another
    /// spelling. Blocks nothing: a toolbox that cannot tell returns none.
    async fn absent_words(&self, words: &[String]) -> Vec<String> {
        let _ = words;
        Vec::new()
    }

    /// What of a question the knowledge base speaks of: those of its topics that few enough passages hold to mean
    /// something, and the whole where a heading or a document is called so. `None` where nobody can tell.
    async fn spoken_of(&self, question: &Question) -> Option<Vec<String>> {
        let _ = question;
        None
    }

    /// The knowledge base that is searched; `None` where there is none to name.
    fn base(&self) -> Option<SearchedBase> {
        None
    }

    /// Why what was found may be less than there is, at this moment; nothing where all is well.
    async fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }
}

/// Tools that keep within a part of the knowledge base.
#[derive(Clone)]
pub struct NarrowedTools {
    /// The tools.
    pub tools: Arc<dyn Toolbox>,
    /// The names of the documents and folders to search in, as the question gives them.
    pub within: Vec<String>,
    /// The filters of the question, as they are written.
    pub filters: Vec<String>,
    /// What looks like a filter and has no effect, a sentence each.
    pub remarks: Vec<String>,
    /// The question without what only says where to look.
    pub query: String,
}

impl NarrowedTools {
    /// These tools for a question that is kept within nothing.
    pub fn unlimited(tools: Arc<dyn Toolbox>, query: String) -> Self {
        Self {
            tools,
            within: Vec::new(),
            filters: Vec::new(),
            remarks: Vec::new(),
            query,
        }
    }
}

impl fmt::Debug for NarrowedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("NarrowedTools");
        shown.field("within", &self.within);
        shown.field("filters", &self.filters);
        shown.field("query", &self.query).finish_non_exhaustive()
    }
}

/// Why a tool found nothing it could return. The message is one line and never evidence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolError {
    /// The path leads outside the knowledge base.
    #[error("{path} is outside the knowledge base; only its own folders can be read")]
    OutsideRoots {
        /// The path as the caller gave it.
        path: String,
    },
    /// There is no such file, folder or entity.
    #[error("{what} is not in the knowledge base")]
    NotFound {
        /// The name as the caller gave it.
        what: String,
    },
    /// The arguments make no sense.
    #[error("{0}")]
    BadArguments(String),
    /// Reading or searching failed.
    #[error("{0}")]
    Failed(String),
}

impl From<ToolError> for Trouble {
    fn from(error: ToolError) -> Self {
        Self::of(error)
    }
}

impl ToolError {
    /// Whether the search itself broke, so that nothing is known of what the knowledge base holds.
    pub fn is_breakdown(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}
