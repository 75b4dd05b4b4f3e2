//! Lists the files of the base.
//!
//! One walk serves indexing, grep and the question whether a single file belongs to the base, so
//! that all three agree. `.gitignore` counts also outside a repository, but only from the root
//! down: a rule in somebody's home folder must not empty a base that was named explicitly. Links
//! are not followed: what they lead to inside a root is listed at its own place, and what lies
//! outside is not part of the base. That also makes loops impossible.
//!
//! Folders are read side by side; the order of the result is that of the names all the same.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::extract::{SkipReason, too_large};
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
    pub stamp: Stamp,
}

/// What a file looks like from outside: when all of it is as before, so is the text, unless the
/// file was changed within a tick of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When its text was written, in nanoseconds since 1970.
    pub modified: u64,
    /// When anything about it was changed, which nobody can set; 0 where there is no such thing.
    pub changed: u64,
    /// Which file it is; 0 where there is no such thing.
    pub inode: u64,
}

impl Stamp {
    /// Clocks of file systems tick as slowly as this.
    const TICK: Duration = Duration::from_secs(2);

    fn of(meta: &Metadata) -> Self {
        let modified = meta.modified().ok();
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let stamp = Self {
            size: meta.len(),
            modified: since.map_or(0, |since| since.as_nanos() as u64),
            ..Self::default()
        };
        #[cfg(unix)]
        let stamp = {
            use std::os::unix::fs::MetadataExt;
            let changed = meta.ctime().saturating_mul(1_000_000_000) + meta.ctime_nsec();
            Self {
                changed: changed.max(0) as u64,
                inode: meta.ino(),
                ..stamp
            }
        };
        stamp
    }

    /// Whether a change from now on is sure to give another stamp.
    pub fn is_settled(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let last = u128::from(self.modified.max(self.changed));
        last + Self::TICK.as_nanos() < now
    }
}

/// What a walk comes by.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// In the order of their names.
    pub found: Vec<Found>,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
    /// Where the system let nobody look, as evidence would name it; empty for a whole root. What
    /// was there before is not known to be gone.
    pub unseen: Vec<String>,
}

impl Walked {
    /// Whether this document may still be there, though no file was found for it.
    pub fn may_hold(&self, source: &str) -> bool {
        self.unseen.iter().any(|place| {
            let below = source.strip_prefix(place.as_str());
            place.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// All files of the base.
pub(super) fn walk(roots: &Roots) -> Walked {
    let Walked {
        mut found,
        mut skipped,
        mut unseen,
    } = Walked::default();
    for root in roots.paths() {
        if roots.is_away(root) {
            unseen.push(roots.source_of(root).unwrap_or_default());
            skipped.push(away(root));
            continue;
        }
        if !has_readable_rules(root) {
            skipped.push(skip(roots, root, SkipReason::BadRules));
            continue;
        }
        let (tell, told) = mpsc::channel();
        let (miss, missed) = mpsc::channel();
        let pass_over = tell.clone();
        let mut builder = builder(root);
        builder.filter_entry(move |entry| {
            let path = entry.path();
            let known = !is_dir(entry) || has_readable_rules(path);
            if !known {
                // Nobody listens only when the walk is over.
                let _ = pass_over.send(Err((path.to_owned(), SkipReason::BadRules)));
            }
            known
        });
        builder.build_parallel().run(|| {
            let (tell, miss) = (tell.clone(), miss.clone());
            Box::new(move |entry| {
                let news = match entry {
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
                match news.map(|news| tell.send(news)) {
                    Some(Err(_)) => WalkState::Quit,
                    _ => WalkState::Continue,
                }
            })
        });
        drop((builder, tell, miss));
        unseen.extend(missed);
        for news in told {
            match news {
                Ok(file) => found.push(file),
                Err((path, reason)) => skipped.push(skip(roots, &path, reason)),
            }
        }
        // It may go while it is walked.
        if roots.is_away(root) {
            unseen.push(roots.source_of(root).unwrap_or_default());
            skipped.push(away(root));
        }
    }
    found.sort_unstable_by(|a: &Found, b| a.source.cmp(&b.source));
    skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Walked {
        found,
        skipped,
        unseen,
    }
}

fn is_not_found(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
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
        .follow_links(false);
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

fn skip(roots: &Roots, path: &Path, reason: SkipReason) -> Skipped {
    let name = roots.source_of(path).filter(|name| !name.is_empty());
    Skipped {
        path: shown(&name.unwrap_or_else(|| path.to_string_lossy().into_owned())),
        reason,
    }
}

/// By its whole path: who has to look for it knows it by that.
fn away(root: &Path) -> Skipped {
    Skipped {
        path: shown(&root.to_string_lossy()),
        reason: SkipReason::Away,
    }
}

/// With control characters written out.
fn shown(name: &str) -> String {
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
) -> Option<Result<Found, (PathBuf, SkipReason)>> {
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
        Ok(meta) => match too_large(path, meta.len()) {
            Some(reason) => pass_over(reason),
            None => Some(Ok(Found {
                path: path.to_owned(),
                source,
                stamp: Stamp::of(&meta),
            })),
        },
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
