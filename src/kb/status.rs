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

/// What the index holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KbStatus {
    /// What to call it: the folders' names.
    pub name: String,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks indexed.
    pub chunks: usize,
    /// Chunks that still wait for their embedding.
    pub pending: usize,
}

impl KbStatus {
    /// What cannot be found by its meaning yet, in one line; `None` when all can.
    pub fn incomplete(&self) -> Option<String> {
        if self.pending == 0 {
            return None;
        }
        let all = self.chunks.max(self.pending);
        if all == 1 {
            let line = "the only passage is not embedded yet; it is found by its words only";
            return Some(line.to_owned());
        }
        Some(format!(
            "{} of {all} passages are embedded; the others are found by their words only",
            all - self.pending
        ))
    }
}
