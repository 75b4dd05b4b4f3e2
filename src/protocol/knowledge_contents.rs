use std::path::PathBuf;
use std::sync::Arc;

use super::Timestamp;
use crate::domain::Complexity;

/// What the documents of the knowledge base are, for the screen before the first question.
///
/// Names and headings are the documents' own words: clean of what a terminal obeys, and bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnowledgeContents {
    /// Kinds of files with how many there are of each, the most first.
    pub kinds: Vec<(String, usize)>,
    /// The files that were written last, the newest first, and when.
    pub newest: Vec<(String, Timestamp)>,
    /// Documents, and folders with a `/` at their end, that a question can name after an `@`; those
    /// that lie highest first.
    pub names: Arc<[String]>,
    /// What filters of a question are completed with.
    pub filter_values: Arc<FilterValues>,
    /// The folders and files that it is made of.
    pub sources: Vec<SourceContents>,
    /// The setting with which the next start has the same sources, where it would not have them
    /// anyway.
    pub setting: Option<String>,
    /// Files that are not in the index.
    pub left_out: LeftOut,
    /// All files together.
    pub bytes: u64,
    /// Made from the headings and asked before they are offered, none where no answer was sure; `None`
    /// of the bundled demo, which has its own.
    pub samples: Option<Vec<SampleQuestion>>,
    /// Whether questions to try are still looked for.
    pub samples_are_sought: bool,
}

/// What may stand after the colon of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilterValues {
    /// Tags with how many documents have each, the most first.
    pub tags: Vec<(String, usize)>,
    /// Some days of late, and what each is.
    pub days: Vec<(String, &'static str)>,
}

/// What a folder or file of the knowledge base holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceContents {
    /// Where it is, to be shown.
    pub path: String,
    /// Where it is.
    pub location: PathBuf,
    /// What the names of its documents begin with; empty where it is the only one.
    pub label: String,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks of them.
    pub chunks: usize,
    /// Whether it was taken up in this session and is not known to the next.
    pub is_added: bool,
}

/// Files that are not in the index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// How many there are.
    pub count: usize,
    /// The first of them, each with the reason.
    pub files: Vec<(String, String)>,
}

/// A question to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleQuestion {
    /// The route it goes by the embedded router.
    pub route: Complexity,
    /// The question.
    pub text: String,
}
