//! A whole document, for somebody who wants to read it and not to search it.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use super::base::KnowledgeBase;
use super::extract::{self, Extraction, SkipReason};
use crate::agent::ports::ToolError;

/// A file of the base as the index reads it, and where it lies.
#[derive(Debug)]
pub struct WholeDocument {
    /// Its text and places.
    pub extraction: Extraction,
    /// The canonical path; below a root of the base.
    pub path: PathBuf,
    /// Whether the lines of the text are the lines of the file.
    pub is_lines: bool,
    /// When it was changed last, where the system tells.
    pub modified: Option<SystemTime>,
}

impl KnowledgeBase {
    /// The document that evidence names `source`, as it is now. Blocks, for as long as taking it
    /// apart takes, and gives up soon after `stop` is raised.
    pub fn whole_document(
        &self,
        source: &str,
        stop: &AtomicBool,
    ) -> Result<WholeDocument, ToolError> {
        let path = self.resolve(source)?;
        let failed = |reason: SkipReason| ToolError::Failed(format!("{source}: {reason}"));
        let file = self.roots().open_file(&path).map_err(SkipReason::from);
        let file = file.map_err(failed)?;
        let extraction = self.shelf().document_unless(&file, source, stop);
        Ok(WholeDocument {
            extraction: extraction.map_err(failed)?,
            is_lines: extract::is_lines(&file),
            modified: file.meta().modified().ok(),
            path,
        })
    }
}
