//! Which files an update looks into, and which documents no file is there for.

use std::sync::Arc;

use super::job::Job;
use crate::kb::error::KbError;
use crate::kb::index::{Document, Reader};
use crate::kb::pages::for_each_document;
use crate::kb::source::{SourceFile, WalkResult};

/// Which files to look into.
pub(super) struct Plan<'a> {
    /// A file that looks changed, and the document that it was.
    pub suspects: Vec<Suspect<'a>>,
    /// Documents that no file is there for.
    pub vanished: Vec<Arc<Document>>,
}

/// Files and documents both are in the order of their names.
pub(super) fn plan<'a>(
    job: &Job<'_>,
    walked: &'a WalkResult,
    before: Option<&dyn Reader>,
) -> Result<Plan<'a>, KbError> {
    let mut plan = Plan {
        suspects: Vec::new(),
        vanished: Vec::new(),
    };
    let mut files = walked.found.iter().peekable();
    if let Some(before) = before {
        for_each_document(before, job.stop, |document| {
            while let Some(file) = files.next_if(|file| file.source < document.source) {
                plan.suspects.push(Suspect { file, old: None });
            }
            match files.next_if(|file| file.source == document.source) {
                Some(file) if looks_same(document, file) => {}
                Some(file) => plan.suspects.push(Suspect {
                    file,
                    old: Some(Arc::clone(document)),
                }),
                None if walked.may_hold(&document.source) => {}
                None => plan.vanished.push(Arc::clone(document)),
            }
        })?;
    }
    plan.suspects
        .extend(files.map(|file| Suspect { file, old: None }));
    Ok(plan)
}

/// Whether the file is as it was when this machine read it.
pub(super) fn looks_same(old: &Document, file: &SourceFile) -> bool {
    old.stamp
        .is_some_and(|known| known.mtime_is_reliable && known.stamp == file.stamp)
}

/// A file that looks changed.
#[derive(Clone)]
pub(super) struct Suspect<'a> {
    pub file: &'a SourceFile,
    pub old: Option<Arc<Document>>,
}
