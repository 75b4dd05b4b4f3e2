use crate::agent::ports::ToolDescriptor;
use crate::domain::ToolName;

/// What each tool is for and what it takes, in the order of [`ToolName::ALL`].
pub const DESCRIPTORS: &[ToolDescriptor] = &[
    ToolDescriptor {
        name: ToolName::VectorSearch,
        purpose: "Finds the passages nearest in meaning, also in other words than the question's; \
                  choose it for concepts and explanations.",
        args: r#"{"query": "how are documents cut into chunks", "k": 10}"#,
    },
    ToolDescriptor {
        name: ToolName::GrepSearch,
        purpose: "Finds lines that hold given words or match a regular expression, with ten lines \
                  around each; choose it for ids, setting names, error messages and other literals.",
        args: r#"{"query": "PROJ-123"}"#,
    },
    ToolDescriptor {
        name: ToolName::HybridSearch,
        purpose: "Finds passages by words and meaning together; choose it when in doubt, and put \
                  words that must be met literally into exact_keywords.",
        args: r#"{"semantic_query": "why is a question not graded", "exact_keywords": ["fast_path_hit"]}"#,
    },
    ToolDescriptor {
        name: ToolName::ReadFile,
        purpose: "Opens a named file of the knowledge base, or some of its lines (at most 400); \
                  choose it when the path is known.",
        args: r#"{"path": "guide/setup.md", "start_line": 1, "end_line": 80}"#,
    },
    ToolDescriptor {
        name: ToolName::LocalFileQa,
        purpose: "Finds files by name, glob or topic and the passages in them that answer; choose \
                  it for questions about which file holds something or what a file says. The query \
                  `*` shows how the documents begin, up to 40; `value` and `field` keep to what says \
                  that of itself (field status, value open).",
        args: r#"{"query": "which file describes the audit log", "path": "docs/*.md"}"#,
    },
    ToolDescriptor {
        name: ToolName::GraphRelated,
        purpose: "Finds what a document or ticket is linked with, in both directions, with the \
                  kind of relation (parent, blocks, clones …); choose it for relations.",
        args: r#"{"entity_id": "PROJ-123"}"#,
    },
];
