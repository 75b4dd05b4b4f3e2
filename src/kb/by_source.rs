//! What the index holds of each folder and file that it is made of.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

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
    /// The folders and files that it is made of, in the order in which they were given.
    pub fn source_paths(&self) -> Vec<PathBuf> {
        self.roots().paths().map(Path::to_owned).collect()
    }

    /// What the index holds of each folder and file, in the order in which they were given.
    pub fn sources(&self, stop: &AtomicBool) -> Result<Vec<SourceStatus>, KbError> {
        let labels: Vec<(&Path, &str)> = self.roots().labelled().collect();
        let mut found: Vec<SourceStatus> = labels
            .iter()
            .map(|(path, _)| SourceStatus {
                path: path.to_path_buf(),
                documents: 0,
                chunks: 0,
            })
            .collect();
        self.for_each_document(stop, |document| {
            for ((_, label), status) in labels.iter().zip(&mut found) {
                let below = document.source.strip_prefix(label);
                let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                if label.is_empty() || is_below {
                    status.documents += 1;
                    status.chunks += document.chunks;
                }
            }
        })?;
        Ok(found)
    }
}
