//! Which files an update looks into, and which documents no file is there for.

use std::sync::Arc;

use super::job::Job;
use crate::kb::error::KbError;
use crate::kb::index::{Document, Reader, for_each_document};
use crate::kb::source::{SourceFile, WalkResult};

/// The differences between the files and the index.
pub(super) struct Plan<'a> {
    /// Files that look changed, each with the document that it was.
    pub changed: Vec<ChangedFile<'a>>,
    /// Documents that no file is there for.
    pub vanished: Vec<Arc<Document>>,
}

/// Compares files and documents, both in the order of their names.
pub(super) fn plan<'a>(
    job: &Job<'_>,
    walked: &'a WalkResult,
    before: Option<&dyn Reader>,
) -> Result<Plan<'a>, KbError> {
    let mut plan = Plan {
        changed: Vec::new(),
        vanished: Vec::new(),
    };
    let mut files = walked.found.iter().peekable();
    if let Some(before) = before {
        for_each_document(before, job.stop, |document| {
            while let Some(file) = files.next_if(|file| file.source < document.source) {
                plan.changed.push(ChangedFile { file, old: None });
            }
            match files.next_if(|file| file.source == document.source) {
                Some(file) if looks_same(document, file) => {}
                Some(file) => plan.changed.push(ChangedFile {
                    file,
                    old: Some(Arc::clone(document)),
                }),
                None if walked.may_hold(&document.source) => {}
                None => plan.vanished.push(Arc::clone(document)),
            }
        })?;
    }
    plan.changed
        .extend(files.map(|file| ChangedFile { file, old: None }));
    Ok(plan)
}

/// Whether the file is as it was when this machine read it.
pub(super) fn looks_same(old: &Document, file: &SourceFile) -> bool {
    old.stamp
        .is_some_and(|known| known.mtime_is_reliable && known.stamp == file.stamp)
}

/// A file that looks changed.
#[derive(Clone)]
pub(super) struct ChangedFile<'a> {
    pub file: &'a SourceFile,
    pub old: Option<Arc<Document>>,
}
