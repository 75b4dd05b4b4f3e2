//! What is known to have changed, so that an update costs that and not a walk over everything.
//!
//! Only what a path says by itself is decided here: a file that is there or is not. Where more may
//! be behind it (a folder came or went, a link, a root), everything is looked at.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::kb::error::KbError;
use crate::kb::index::{Document, Limits, Reader, for_each_document};
use crate::kb::source::{Roots, Skipped, SourceFile, WalkResult, has_placeholder, look_at_file};

/// The most changed files that are looked at one by one; with more, everything is looked at.
const MOST: usize = 512;

/// What may have changed since the last update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// Any file may have changed.
    Everything,
    /// These files and nothing else; no rule has changed that says what belongs to the base.
    Files(Vec<PathBuf>),
}

/// The files that the last update skipped; nothing where it did not end well.
#[derive(Debug, Default)]
pub(crate) struct SkippedFiles(Mutex<Option<Vec<Skipped>>>);

impl SkippedFiles {
    pub fn take(&self) -> Option<Vec<Skipped>> {
        self.0.lock().take()
    }

    pub fn is_known(&self) -> bool {
        self.0.lock().is_some()
    }

    pub fn keep(&self, skipped: &[Skipped]) {
        *self.0.lock() = Some(skipped.to_vec());
    }
}

/// The files and documents at the paths that may have changed.
#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    /// Everything that was looked at, as evidence names it.
    pub names: BTreeSet<String>,
    /// The files, each with the document that it was.
    pub found: Vec<(SourceFile, Option<Arc<Document>>)>,
    pub skipped: Vec<Skipped>,
    /// Documents whose file is gone.
    pub vanished: Vec<Arc<Document>>,
}

/// Looks at these places; `None` where that does not tell what has changed.
pub(super) fn look_at(
    roots: &Roots,
    paths: &[PathBuf],
    known: &dyn Reader,
    limits: Limits<'_>,
) -> Result<Option<SeenFiles>, KbError> {
    let Some(sources) = source_names(roots, paths) else {
        return Ok(None);
    };
    let names: Vec<&str> = sources.iter().map(String::as_str).collect();
    let contents = known.look_up(&names, limits)?;
    let mut seen = SeenFiles::default();
    for ((path, source), contents) in paths.iter().zip(sources).zip(contents) {
        let Some(root) = roots.paths().find(|root| path.starts_with(root)) else {
            return Ok(None);
        };
        if contents.is_folder || !seen.names.insert(source) {
            return Ok(None);
        }
        let document = contents.document;
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_file() => match look_at_file(roots, root, path, document.is_some())
            {
                Some(Ok(file)) => seen.found.push((file, document)),
                Some(Err(skipped)) => {
                    let is_passing = skipped.reason.is_passing();
                    seen.skipped.push(skipped);
                    seen.vanished.extend(document.filter(|_| !is_passing));
                }
                None => seen.vanished.extend(document),
            },
            // Whether it is gone, or only its contents, a walk tells.
            Err(_) if has_placeholder(path) => return Ok(None),
            Err(error) if is_gone(error.kind(), path) => seen.vanished.extend(document),
            _ => return Ok(None),
        }
    }
    Ok(Some(seen))
}

/// The names of these files as evidence; `None` where one of them cannot be named by its path alone.
fn source_names(roots: &Roots, paths: &[PathBuf]) -> Option<Vec<String>> {
    if paths.len() > MOST {
        return None;
    }
    let named = paths.iter().map(|path| {
        let source = roots.source_of(path)?;
        let is_odd = source.contains(char::is_control) || roots.is_away(path);
        (!is_odd).then_some(source)
    });
    named.collect()
}

/// Whether a file is gone, and not only its folder or the access to it.
fn is_gone(kind: ErrorKind, path: &Path) -> bool {
    let folder_is_there = || path.parent().is_some_and(Path::is_dir);
    kind == ErrorKind::NotFound && folder_is_there()
}

/// The differences between the files and the index.
pub(crate) struct Plan<'a> {
    /// Files that look changed, each with the document that it was.
    pub changed: Vec<ChangedFile<'a>>,
    /// Documents that no file is there for.
    pub vanished: Vec<Arc<Document>>,
}

/// Compares files and documents, both in the order of their names.
pub(crate) fn plan<'a>(
    walked: &'a WalkResult,
    before: Option<&dyn Reader>,
    cancel: &CancellationToken,
) -> Result<Plan<'a>, KbError> {
    let mut plan = Plan {
        changed: Vec::new(),
        vanished: Vec::new(),
    };
    let mut files = walked.found.iter().peekable();
    if let Some(before) = before {
        for_each_document(before, Limits::of_a_call(cancel), |document| {
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
pub(crate) struct ChangedFile<'a> {
    pub file: &'a SourceFile,
    pub old: Option<Arc<Document>>,
}
