//! Lists the files of the base.
//!
//! One walk serves indexing, grep and the question whether a single file belongs to the base, so
//! that all three agree. `.gitignore` counts also outside a repository, but only from the root
//! down: a rule in somebody's home folder must not empty a base that was named explicitly. Links
//! are not followed: what they lead to inside a root is listed at its own place, and what lies
//! outside is not part of the base. That also makes loops impossible.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ignore::{DirEntry, WalkBuilder};

use super::extract::{MAX_FILE_BYTES, SkipReason};
use super::roots::Roots;

/// A file that was passed over, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is, as evidence would name it.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// A file that may hold text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub path: PathBuf,
    pub source: String,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: u64,
}

/// All files of the base in the order of their names, and what was passed over.
pub(super) fn walk(roots: &Roots) -> (Vec<Found>, Vec<Skipped>) {
    let mut found = Vec::new();
    let mut skipped = Vec::new();
    for root in roots.paths() {
        for entry in builder(root).build() {
            match entry {
                Ok(entry) => sort_in(roots, root, &entry, &mut found, &mut skipped),
                Err(error) => skipped.push(Skipped {
                    path: error_path(roots, &error),
                    reason: SkipReason::Unreadable(plain(&error)),
                }),
            }
        }
    }
    (found, skipped)
}

/// Whether a walk of this root comes by this path. Looks only at the folders on the way.
pub(super) fn lists(root: &Path, canonical: &Path) -> bool {
    let goal = canonical.to_owned();
    let mut builder = builder(root);
    builder.filter_entry(move |entry| goal.starts_with(entry.path()));
    builder
        .build()
        .filter_map(Result::ok)
        .any(|entry| entry.path() == canonical)
}

fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(true)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp);
    builder
}

fn sort_in(
    roots: &Roots,
    root: &Path,
    entry: &DirEntry,
    found: &mut Vec<Found>,
    skipped: &mut Vec<Skipped>,
) {
    let path = entry.path();
    let Some(source) = roots.source_of(path) else {
        return;
    };
    if entry.path_is_symlink() {
        let inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
        if !inside {
            skipped.push(Skipped {
                path: source,
                reason: SkipReason::LinkOutside,
            });
        }
        return;
    }
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return;
    }
    match entry.metadata() {
        Ok(meta) if meta.len() > MAX_FILE_BYTES => skipped.push(Skipped {
            path: source,
            reason: SkipReason::TooLarge(meta.len()),
        }),
        Ok(meta) => found.push(Found {
            path: path.to_owned(),
            source,
            size: meta.len(),
            modified: meta
                .modified()
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .map_or(0, |since| since.as_nanos() as u64),
        }),
        Err(error) => skipped.push(Skipped {
            path: source,
            reason: SkipReason::Unreadable(plain(&error)),
        }),
    }
}

fn error_path(roots: &Roots, error: &ignore::Error) -> String {
    let path = path_in(error).unwrap_or(Path::new("?"));
    roots
        .source_of(path)
        .unwrap_or_else(|| path.to_string_lossy().into_owned())
}

fn path_in(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_in(err)
        }
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}

fn plain(error: &ignore::Error) -> String {
    error
        .io_error()
        .map_or_else(|| error.to_string(), ToString::to_string)
}
