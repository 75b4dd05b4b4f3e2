//! What the index holds of each folder and file that it is made of.

use std::path::{Path, PathBuf};

use super::base::KnowledgeBase;
use super::error::KbError;

/// What the index holds of one folder or file that the base is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// Where it is.
    pub path: PathBuf,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks of them.
    pub chunks: usize,
}

impl KnowledgeBase {
    /// What the index holds of each folder and file, in the order in which they were given.
    pub fn sources(&self) -> Result<Vec<SourceStatus>, KbError> {
        let documents = self.documents()?;
        let of = |(path, label): (&Path, &str)| {
            let is_below = |source: &str| {
                let below = source.strip_prefix(label);
                label.is_empty()
                    || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let own = documents
                .iter()
                .filter(|document| is_below(&document.source));
            let (documents, chunks) = own.fold((0, 0), |(documents, chunks), document| {
                (documents + 1, chunks + document.chunks.len())
            });
            SourceStatus {
                path: path.to_owned(),
                documents,
                chunks,
            }
        };
        Ok(self.roots().labelled().map(of).collect())
    }
}
