//! Lists the files of the base.
//!
//! One walk serves indexing, grep and the question whether a single file belongs to the base, so
//! that all three agree. `.gitignore` counts also outside a repository, but only from the root
//! down: a rule in the home folder must not empty a base that was named explicitly. Links
//! are not followed: what they lead to inside a root is listed at its own place, and what lies
//! outside is not part of the base. That also makes loops impossible.
//!
//! `belonging` decides about each entry: by the `rules` of its folder and by the names of `secret`
//! files. Folders are read side by side; the order of the result is that of the names all the same.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use ignore::{DirEntry, WalkBuilder, WalkState};

pub(crate) use belonging::builder;

use super::cloud::is_dataless;
use super::included::Included;
use super::roots::{Roots, below};
use super::stamp::Stamp;
use crate::kb::extract::{SkipReason, is_too_large, too_large};
use crate::kb::opened::Opened;

mod belonging;
mod rules;
mod secret;

/// A file that was passed over, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is, as evidence would name it.
    pub path: String,
    /// Why it was skipped.
    pub reason: SkipReason,
}

/// A file that may hold text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFile {
    pub path: PathBuf,
    pub source: String,
    pub stamp: Stamp,
}

/// What a walk comes by.
#[derive(Debug, Default)]
pub(crate) struct WalkResult {
    /// The files that were found, in the order of their names.
    pub found: Vec<SourceFile>,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
    /// What the system refused to list, as evidence would name it; empty for a whole root. What
    /// was there before is not known to be gone.
    pub unseen: Vec<String>,
}

impl WalkResult {
    /// Whether this document may still be there, though no file was found for it.
    pub fn may_hold(&self, source: &str) -> bool {
        self.unseen.iter().any(|place| {
            let below = source.strip_prefix(place.as_str());
            place.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// All files of the base; not all of them once `stop` is raised.
pub(crate) fn walk(roots: &Roots, stop: &AtomicBool) -> WalkResult {
    let WalkResult {
        mut found,
        mut skipped,
        mut unseen,
    } = WalkResult::default();
    for root in roots.paths() {
        if roots.is_away(root) {
            unseen.push(roots.source_of(root).unwrap_or_default());
            skipped.push(away(root));
            continue;
        }
        let (sender, receiver) = mpsc::channel();
        let (miss, missed) = mpsc::channel();
        let pass_over = sender.clone();
        let aside = move |path: &Path, reason| {
            // Received until the walk is over.
            let _ = pass_over.send(Err((path.to_owned(), reason)));
        };
        let builder = match builder(root, &roots.included(root), |_| true, aside) {
            Ok(builder) => builder,
            Err(reason) => {
                skipped.push(skip(roots, root, reason));
                continue;
            }
        };
        builder.build_parallel().run(|| {
            let (sender, miss) = (sender.clone(), miss.clone());
            Box::new(move |entry| {
                if stop.load(Ordering::Relaxed) {
                    return WalkState::Quit;
                }
                let sorted = match entry {
                    Ok(entry) => sort(roots, root, &entry),
                    Err(error) => {
                        let path = path_in(&error).unwrap_or(Path::new("?"));
                        let gone = error.io_error().is_some_and(is_not_found);
                        if !gone {
                            let _ = miss.send(roots.source_of(path).unwrap_or_default());
                        }
                        Some(Err((
                            path.to_owned(),
                            SkipReason::Unreadable(plain(&error)),
                        )))
                    }
                };
                match sorted.map(|sorted| sender.send(sorted)) {
                    Some(Err(_)) => WalkState::Quit,
                    _ => WalkState::Continue,
                }
            })
        });
        drop((builder, sender, miss));
        unseen.extend(missed);
        for sorted in receiver {
            match sorted {
                Ok(file) => found.push(file),
                Err((path, reason)) => {
                    if reason == SkipReason::InCloud {
                        unseen.extend(roots.source_of(&path));
                    }
                    skipped.push(skip(roots, &path, reason));
                }
            }
        }
        // It may go while it is walked.
        if roots.is_away(root) {
            unseen.push(roots.source_of(root).unwrap_or_default());
            skipped.push(away(root));
        }
    }
    found.sort_unstable_by(|a: &SourceFile, b| a.source.cmp(&b.source));
    skipped.sort_by(|a, b| a.path.cmp(&b.path));
    WalkResult {
        found,
        skipped,
        unseen,
    }
}

fn is_not_found(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Whether a walk of this root comes by this path. Looks only at the folders on the way.
pub(crate) fn lists(root: &Path, included: &Included, canonical: &Path) -> bool {
    matches!(way_to(root, included, canonical), Some(Ok(_)))
}

/// What a walk of this root would make of this file; `None` when it does not come by. Who knows
/// that it does need not look at the folders on the way.
pub(crate) fn look(
    roots: &Roots,
    root: &Path,
    file: &Path,
    is_listed: bool,
) -> Option<Result<SourceFile, Skipped>> {
    let entry = if is_listed {
        let mut builder = WalkBuilder::new(file);
        builder.standard_filters(false).follow_links(false);
        Ok(builder.build().next()?.ok()?)
    } else {
        way_to(root, &roots.included(root), file)?
    };
    let seen = match entry {
        Ok(entry) => sort(roots, root, &entry)?,
        Err(reason) => Err((file.to_owned(), reason)),
    };
    Some(seen.map_err(|(path, reason)| skip(roots, &path, reason)))
}

/// The entry that a walk comes by at this path, or why it is left out, where that is said.
fn way_to(
    root: &Path,
    included: &Included,
    canonical: &Path,
) -> Option<Result<DirEntry, SkipReason>> {
    if !is_plain(root, canonical) {
        return None;
    }
    let goal = canonical.to_owned();
    let is_on_the_way = move |entry: &DirEntry| goal.starts_with(entry.path());
    let (goal, left_out) = (canonical.to_owned(), Arc::new(Mutex::new(None)));
    let noted = Arc::clone(&left_out);
    let aside = move |path: &Path, reason| {
        if path == goal {
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        }
    };
    let builder = builder(root, included, is_on_the_way, aside).ok()?;
    let mut entries = builder.build().filter_map(Result::ok);
    let found = entries.find(|entry| entry.path() == canonical).map(Ok);
    found.or_else(|| {
        let mut left_out = left_out.lock().unwrap_or_else(PoisonError::into_inner);
        left_out.take().map(Err)
    })
}

pub(crate) fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// Whether names below the root can be written down and read back.
pub(crate) fn is_plain(root: &Path, path: &Path) -> bool {
    let name = below(root, path).and_then(Path::to_str);
    name.is_some_and(|name| {
        if name.is_ascii() {
            !name.bytes().any(|byte| byte.is_ascii_control())
        } else {
            !name.contains(char::is_control)
        }
    })
}

fn skip(roots: &Roots, path: &Path, reason: SkipReason) -> Skipped {
    let name = roots.source_of(path).filter(|name| !name.is_empty());
    Skipped {
        path: escape_controls(&name.unwrap_or_else(|| path.to_string_lossy().into_owned())),
        reason,
    }
}

/// Reports a missing root under its whole path, by which the user knows it.
fn away(root: &Path) -> Skipped {
    Skipped {
        path: escape_controls(&root.to_string_lossy()),
        reason: SkipReason::Away,
    }
}

/// Writes control characters as escapes.
fn escape_controls(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// What one entry is; `None` for a folder, and for what is listed elsewhere.
fn sort(
    roots: &Roots,
    root: &Path,
    entry: &DirEntry,
) -> Option<Result<SourceFile, (PathBuf, SkipReason)>> {
    let path = entry.path();
    let source = roots.source_of(path)?;
    let pass_over = |reason| Some(Err((path.to_owned(), reason)));
    if entry.path_is_symlink() {
        let inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
        if inside {
            return None;
        }
        return pass_over(SkipReason::LinkOutside);
    }
    match entry.file_type() {
        Some(kind) if kind.is_dir() => return None,
        Some(kind) if kind.is_file() => {}
        _ => return pass_over(SkipReason::NotRegular),
    }
    if !is_plain(root, path) {
        return pass_over(SkipReason::BadName);
    }
    match entry.metadata() {
        Ok(meta) if is_dataless(&meta) => pass_over(SkipReason::InCloud),
        Ok(meta) if is_too_large(path, meta.len()) => pass_over(
            Opened::beneath(root, path).map_or_else(SkipReason::from, |file| too_large(&file)),
        ),
        Ok(meta) => Some(Ok(SourceFile {
            path: path.to_owned(),
            source,
            stamp: Stamp::from_metadata(&meta),
        })),
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
