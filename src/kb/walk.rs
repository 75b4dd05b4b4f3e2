//! Lists the files of the base.
//!
//! One walk serves indexing, grep and the question whether a single file belongs to the base, so
//! that all three agree. `.gitignore` counts also outside a repository, but only from the root
//! down: a rule in somebody's home folder must not empty a base that was named explicitly. Links
//! are not followed: what they lead to inside a root is listed at its own place, and what lies
//! outside is not part of the base. That also makes loops impossible.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
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
        if !has_readable_rules(root) {
            skipped.push(skip(roots, root, SkipReason::BadRules));
            continue;
        }
        let (pass_over, passed_over) = mpsc::channel();
        let mut builder = builder(root);
        builder.filter_entry(move |entry| {
            let known = !is_dir(entry) || has_readable_rules(entry.path());
            known || pass_over.send(entry.path().to_owned()).is_err()
        });
        for entry in builder.build() {
            match entry {
                Ok(entry) => sort_in(roots, root, &entry, &mut found, &mut skipped),
                Err(error) => {
                    let path = path_in(&error).unwrap_or(Path::new("?"));
                    let reason = SkipReason::Unreadable(plain(&error));
                    skipped.push(skip(roots, path, reason));
                }
            }
        }
        skipped.extend(
            passed_over
                .try_iter()
                .map(|path| skip(roots, &path, SkipReason::BadRules)),
        );
    }
    (found, skipped)
}

/// Whether a walk of this root comes by this path. Looks only at the folders on the way.
pub(super) fn lists(root: &Path, canonical: &Path) -> bool {
    if !is_plain(root, canonical) || !has_readable_rules(root) {
        return false;
    }
    let goal = canonical.to_owned();
    let mut builder = builder(root);
    builder.filter_entry(move |entry| {
        goal.starts_with(entry.path()) && (!is_dir(entry) || has_readable_rules(entry.path()))
    });
    builder
        .build()
        .filter_map(Result::ok)
        .any(|entry| entry.path() == canonical)
}

pub(super) fn builder(root: &Path) -> WalkBuilder {
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

pub(super) fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// Whether the ignore files of this folder can be opened without waiting for ever.
/// A folder whose rules nobody can know is not looked into.
pub(super) fn has_readable_rules(folder: &Path) -> bool {
    [".gitignore", ".ignore", ".git/info/exclude"]
        .iter()
        .all(|name| {
            fs::metadata(folder.join(name)).map_or(true, |meta| meta.is_file() || meta.is_dir())
        })
}

/// Whether names below the root can be written down and read back.
pub(super) fn is_plain(root: &Path, path: &Path) -> bool {
    path.strip_prefix(root).is_ok_and(|below| {
        below
            .to_str()
            .is_some_and(|name| !name.contains(char::is_control))
    })
}

/// With control characters written out, because this is shown.
fn skip(roots: &Roots, path: &Path, reason: SkipReason) -> Skipped {
    let name = roots
        .source_of(path)
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| path.to_string_lossy().into_owned());
    let mut shown = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Skipped {
        path: shown,
        reason,
    }
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
    let mut pass_over = |reason| skipped.push(skip(roots, path, reason));
    if entry.path_is_symlink() {
        let inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
        if !inside {
            pass_over(SkipReason::LinkOutside);
        }
        return;
    }
    match entry.file_type() {
        Some(kind) if kind.is_dir() => return,
        Some(kind) if kind.is_file() => {}
        _ => return pass_over(SkipReason::NotRegular),
    }
    if !is_plain(root, path) {
        return pass_over(SkipReason::BadName);
    }
    match entry.metadata() {
        Ok(meta) if meta.len() > MAX_FILE_BYTES => pass_over(SkipReason::TooLarge(meta.len())),
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
        Err(error) => pass_over(SkipReason::Unreadable(plain(&error))),
    }
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
