use std::fmt;

use serde::{Deserialize, Serialize};

use super::Score;

/// Documents listed if all are asked for, by `local_file_qa` with the query `*`; it brings one more
/// where there are more.
pub const MOST_LISTED: usize = 40;

/// The retrieval tools (R12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolName {
    /// Search by meaning.
    VectorSearch,
    /// Search by words or a regular expression, with context lines.
    GrepSearch,
    /// Lexical and semantic, fused.
    HybridSearch,
    /// A named file, or lines of it.
    ReadFile,
    /// Files by name, topic or glob, and what they say.
    LocalFileQa,
    /// Links between documents and ticket ids.
    GraphRelated,
}

impl ToolName {
    /// All of them, in the order in which help and prompts list them.
    pub const ALL: [Self; 6] = [
        Self::VectorSearch,
        Self::GrepSearch,
        Self::HybridSearch,
        Self::ReadFile,
        Self::LocalFileQa,
        Self::GraphRelated,
    ];

    /// The word of the wire format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VectorSearch => "vector_search",
            Self::GrepSearch => "grep_search",
            Self::HybridSearch => "hybrid_search",
            Self::ReadFile => "read_file",
            Self::LocalFileQa => "local_file_qa",
            Self::GraphRelated => "graph_related",
        }
    }

    /// The tool of that name, in the spelling of the wire format.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One call of a tool, with the arguments that this tool takes.
///
/// On the wire `{"tool": "vector_search", "args": {"query": "…"}}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "tool", content = "args", rename_all = "snake_case")]
pub enum ToolCall {
    /// Passages nearest in meaning.
    VectorSearch {
        /// What to look for, in words.
        query: String,
        /// How many passages; the tool's default is 10.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        k: Option<usize>,
    },
    /// Lines that match, with ±10 lines of context.
    GrepSearch {
        /// Words, or a regular expression.
        query: String,
    },
    /// Lexical and semantic search, fused.
    HybridSearch {
        /// What to look for, in words.
        semantic_query: String,
        /// Words that should be found literally.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exact_keywords: Vec<String>,
    },
    /// A file, or lines of it.
    ReadFile {
        /// Relative to a root of the knowledge base.
        path: String,
        /// First line, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_line: Option<usize>,
        /// Last line, included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end_line: Option<usize>,
    },
    /// Files by name or topic, and the passages in them that answer.
    LocalFileQa {
        /// The question to answer within the files.
        query: String,
        /// A folder, a file or a glob to stay within.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The field's name where `value` is set, alternatives parted by `|`; `None` allows any
        /// name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
        /// Only what says this of itself in front matter, on a line of its own, in a column of a table
        /// or by a box of a list; alternatives parted by `|`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// What a document or ticket is linked with.
    GraphRelated {
        /// A document, or an id such as `PROJ-123`.
        entity_id: String,
    },
}

impl ToolCall {
    /// Which tool this calls.
    pub fn tool(&self) -> ToolName {
        match self {
            Self::VectorSearch { .. } => ToolName::VectorSearch,
            Self::GrepSearch { .. } => ToolName::GrepSearch,
            Self::HybridSearch { .. } => ToolName::HybridSearch,
            Self::ReadFile { .. } => ToolName::ReadFile,
            Self::LocalFileQa { .. } => ToolName::LocalFileQa,
            Self::GraphRelated { .. } => ToolName::GraphRelated,
        }
    }

    /// The argument that says what is looked for, to show on one line.
    pub fn subject(&self) -> &str {
        match self {
            Self::VectorSearch { query, .. }
            | Self::GrepSearch { query }
            | Self::LocalFileQa { query, .. } => query,
            Self::HybridSearch { semantic_query, .. } => semantic_query,
            Self::ReadFile { path, .. } => path,
            Self::GraphRelated { entity_id } => entity_id,
        }
    }
}

/// One finished call, kept in `tool_history`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRecord {
    /// What was called.
    pub call: ToolCall,
    /// The round of the call: how many gradings had been made before it.
    pub round: u32,
    /// The retrieval score of each item it returned, best first.
    pub scores: Vec<Score>,
    /// Why it failed. A failed call has no scores, and its message is never evidence (R13).
    pub error: Option<String>,
}
