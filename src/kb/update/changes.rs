//! What is known to have changed, so that an update costs that and not a walk over everything.
//!
//! Only what a path says by itself is decided here: a file that is there or is not. Where more may
//! be behind it (a folder came or went, a link, a root), everything is looked at.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::kb::index::Documents;
use crate::kb::source::Roots;
use crate::kb::source::{Found, Skipped, look};

/// More files than this are a reason to look at everything.
const MOST: usize = 512;

/// What may have changed since the last update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// Anything.
    Everything,
    /// These files and nothing else; no rule has changed that says what belongs to the base.
    Files(Vec<PathBuf>),
}

/// What the last update that ended well passed over; nothing where the last one did not.
#[derive(Debug, Default)]
pub(in crate::kb) struct PassedOver(Mutex<Option<Vec<Skipped>>>);

impl PassedOver {
    pub fn take(&self) -> Option<Vec<Skipped>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub fn is_known(&self) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.is_some()
    }

    pub fn keep(&self, skipped: &[Skipped]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(skipped.to_vec());
    }
}

/// What is at the places that may have changed.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Everything that was looked at, as evidence names it.
    pub names: BTreeSet<String>,
    pub found: Vec<Found>,
    pub skipped: Vec<Skipped>,
    /// Documents whose file is gone.
    pub vanished: Vec<String>,
}

/// Looks at these places; `None` where that does not tell what has changed.
pub(super) fn look_at(roots: &Roots, paths: &[PathBuf], known: &Documents) -> Option<Seen> {
    if paths.len() > MOST {
        return None;
    }
    let mut seen = Seen::default();
    for path in paths {
        let root = roots.paths().find(|root| path.starts_with(root))?;
        let source = roots.source_of(path)?;
        let is_odd = source.contains(char::is_control);
        if is_odd
            || roots.is_away(path)
            || known.lie_in(&source)
            || !seen.names.insert(source.clone())
        {
            return None;
        }
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_file() => {
                let is_known = known.get(&source).is_some();
                match look(roots, root, path, is_known) {
                    Some(Ok(file)) => seen.found.push(file),
                    Some(Err(skipped)) => {
                        seen.skipped.push(skipped);
                        seen.vanished.extend(is_known.then_some(source));
                    }
                    None => seen.vanished.extend(is_known.then_some(source)),
                }
            }
            Err(error) if is_gone(error.kind(), path) => {
                seen.vanished
                    .extend(known.get(&source).is_some().then_some(source));
            }
            _ => return None,
        }
    }
    Some(seen)
}

/// Not that it, or the folder it was in, could not be asked for.
fn is_gone(kind: ErrorKind, path: &Path) -> bool {
    let folder_is_there = || path.parent().is_some_and(Path::is_dir);
    kind == ErrorKind::NotFound && folder_is_there()
}
