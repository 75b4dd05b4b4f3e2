//! The retrieval tools: how each is called, and one description of each that everything else reads.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DecidedBy, Score};

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
        self.descriptor().word
    }

    /// What everything but the tool itself knows of it.
    pub fn descriptor(self) -> &'static ToolDescriptor {
        &TOOLS[self as usize]
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

/// What a tool is for, what it takes and how it is shown.
///
/// Plans, prompts, the schema that servers are asked for, and the screen read it; the tool itself is a file of
/// `crate::tools`.
#[derive(Debug)]
pub struct ToolDescriptor {
    /// The tool.
    pub name: ToolName,
    /// The word of the wire format.
    pub word: &'static str,
    /// A word for narrow columns: at most six letters.
    pub label: &'static str,
    /// What a running call does to its subject: `searching`.
    pub doing: &'static str,
    /// What it finds things by, in a few words for the routing prompt.
    pub by: &'static str,
    /// One sentence: what it finds and when to choose it.
    pub purpose: &'static str,
    /// Its arguments as a JSON example.
    pub example: &'static str,
    /// Its arguments, the one that it needs most first.
    pub arguments: &'static [Argument],
    /// Makes a call of a question and the words that it wants found literally. `None` where a call needs a name,
    /// which a question alone does not give.
    pub search: Option<fn(String, &[String]) -> ToolCall>,
    /// Whether its evidence has a score of its own.
    pub is_scored: bool,
}

/// An argument of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Its name in the wire format.
    pub name: &'static str,
    /// What it holds.
    pub kind: ArgumentKind,
    /// Whether a call can do without it.
    pub is_optional: bool,
}

/// What an argument holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// One text.
    Text,
    /// A whole number.
    Count,
    /// A list of texts.
    List,
}

use ArgumentKind::{Count, List, Text};

const fn needed(name: &'static str, kind: ArgumentKind) -> Argument {
    Argument {
        name,
        kind,
        is_optional: false,
    }
}

const fn optional(name: &'static str, kind: ArgumentKind) -> Argument {
    Argument {
        is_optional: true,
        ..needed(name, kind)
    }
}

/// Every tool, in the order of [`ToolName::ALL`].
#[rustfmt::skip]
pub static TOOLS: [ToolDescriptor; ToolName::ALL.len()] = [
    ToolDescriptor {
        name: ToolName::VectorSearch, word: "vector_search", label: "vector", doing: "searching", by: "by meaning",
        purpose: "Finds the passages nearest in meaning, also in other words than the question's; \
                  choose it for concepts and explanations.",
        example: r#"{"query": "how are documents cut into chunks", "k": 10}"#,
        arguments: &[needed("query", Text), optional("k", Count)],
        search: Some(|query, _| ToolCall::VectorSearch { query, k: None }),
        is_scored: true,
    },
    ToolDescriptor {
        name: ToolName::GrepSearch, word: "grep_search", label: "grep", doing: "searching", by: "by words or a regular expression",
        purpose: "Finds lines that hold given words or match a regular expression, with ten lines \
                  around each; choose it for ids, setting names, error messages and other literals.",
        example: r#"{"query": "PROJ-123"}"#,
        arguments: &[needed("query", Text)],
        search: Some(|query, keywords| ToolCall::GrepSearch {
            query: if keywords.is_empty() { query } else { keywords.join(" ") },
        }),
        is_scored: true,
    },
    ToolDescriptor {
        name: ToolName::HybridSearch, word: "hybrid_search", label: "hybrid", doing: "searching", by: "both",
        purpose: "Finds passages by words and meaning together; choose it when in doubt, and put \
                  words that must be met literally into exact_keywords.",
        example: r#"{"semantic_query": "why is a question not graded", "exact_keywords": ["fast_path_hit"]}"#,
        arguments: &[needed("semantic_query", Text), needed("exact_keywords", List)],
        search: Some(|semantic_query, keywords| ToolCall::HybridSearch { semantic_query, exact_keywords: keywords.to_vec() }),
        is_scored: true,
    },
    ToolDescriptor {
        name: ToolName::ReadFile, word: "read_file", label: "read", doing: "reading", by: "a named file",
        purpose: "Opens a named file of the knowledge base, or some of its lines (at most 400); \
                  choose it when the path is known.",
        example: r#"{"path": "guide/setup.md", "start_line": 1, "end_line": 80}"#,
        arguments: &[needed("path", Text), optional("start_line", Count), optional("end_line", Count)],
        search: None,
        is_scored: false,
    },
    ToolDescriptor {
        name: ToolName::LocalFileQa, word: "local_file_qa", label: "files", doing: "searching", by: "files by name or topic",
        purpose: "Finds files by name, glob or topic and the passages in them that answer; choose \
                  it for questions about which file holds something or what a file says. The query \
                  `*` shows how the documents begin, up to 40; `value` and `field` keep to what says \
                  that of itself (field status, value open).",
        example: r#"{"query": "which file describes the audit log", "path": "docs/*.md"}"#,
        arguments: &[needed("query", Text), optional("path", Text), optional("field", Text), optional("value", Text)],
        search: Some(|query, _| ToolCall::LocalFileQa { query, path: None, field: None, value: None }),
        is_scored: true,
    },
    ToolDescriptor {
        name: ToolName::GraphRelated, word: "graph_related", label: "graph", doing: "following links of", by: "links between documents and ticket ids",
        purpose: "Finds what a document or ticket is linked with, in both directions, with the \
                  kind of relation (parent, blocks, clones …); choose it for relations.",
        example: r#"{"entity_id": "PROJ-123"}"#,
        arguments: &[needed("entity_id", Text)],
        search: None,
        is_scored: true,
    },
];

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
    /// Whether the search itself broke, so that nothing is known of what the knowledge base holds.
    pub is_breakdown: bool,
    /// Whose call it was, where a model and the program plan beside each other.
    pub by: Option<DecidedBy>,
}

/// A call that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    /// The tool and its arguments.
    pub call: ToolCall,
    /// Whose call it is, where a model and the program plan beside each other.
    pub by: Option<DecidedBy>,
}

impl From<ToolCall> for PlannedCall {
    fn from(call: ToolCall) -> Self {
        Self { call, by: None }
    }
}
