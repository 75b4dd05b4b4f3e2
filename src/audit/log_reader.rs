use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use thiserror::Error;

use crate::files::open_unlinked;
use crate::protocol::Event;

use super::lines::Lines;

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file.
    #[error("the audit log {} cannot be read: {source}", path.display())]
    Io {
        /// Path of the log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Nothing has that name.
    #[error(
        "no {kind} in {} matches '{name}'; use an id from 'kb-agent runs' (any unique prefix or \
         suffix works)", path.display()
    )]
    Unknown {
        /// The log.
        path: PathBuf,
        /// What was looked for.
        kind: &'static str,
        /// The name as it was asked for.
        name: String,
    },
    /// Several have that name.
    #[error(
        "'{name}' fits {count} ids in {}; give more of the one you mean: {candidates}",
        path.display()
    )]
    Ambiguous {
        /// The log.
        path: PathBuf,
        /// The name as it was asked for.
        name: String,
        /// How many match.
        count: usize,
        /// The newest of them, each by a name that only it has and its first question.
        candidates: String,
    },
    /// The caller stopped waiting for it.
    #[error("the reading of the audit log was stopped")]
    Stopped,
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io { source, .. } => source,
            unknown => Self::other(unknown),
        }
    }
}

/// Calls `each` with the events on lines that hold one of `needles`; lines that are no event are
/// passed over, since a log may hold what a later version wrote.
pub(super) fn for_each_event(
    parts: &[PathBuf],
    needles: &[&str],
    each: impl FnMut(Event),
) -> Result<(), ReadError> {
    for_each_event_unless(parts, needles, &AtomicBool::new(false), each)
}

/// [`for_each_event`], given up with [`ReadError::Stopped`] as soon as `stop` says so.
pub(super) fn for_each_event_unless(
    parts: &[PathBuf],
    needles: &[&str],
    stop: &AtomicBool,
    mut each: impl FnMut(Event),
) -> Result<(), ReadError> {
    let finders: Vec<_> = needles
        .iter()
        .map(|needle| memchr::memmem::Finder::new(needle.as_bytes()))
        .collect();
    for_each_line(parts, stop, |line| {
        if finders.iter().any(|finder| finder.find(line).is_some())
            && let Ok(event) = serde_json::from_slice(line)
        {
            each(event);
        }
    })
}

/// Calls `each` with the events of the runs that are wanted.
pub(super) fn for_each_event_of(
    parts: &[PathBuf],
    is_wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(Event),
) -> Result<(), ReadError> {
    #[derive(Deserialize)]
    struct OfRun<'a> {
        #[serde(borrow)]
        run: Cow<'a, str>,
    }
    for_each_line(parts, &AtomicBool::new(false), |line| {
        if let Ok(OfRun { run }) = serde_json::from_slice(line)
            && is_wanted(&run)
            && let Ok(event) = serde_json::from_slice(line)
        {
            each(event);
        }
    })
}

/// Calls `each` with every line of these files that is not too long to be one of ours.
fn for_each_line(
    parts: &[PathBuf],
    stop: &AtomicBool,
    mut each: impl FnMut(&[u8]),
) -> Result<(), ReadError> {
    let failed = |path: &PathBuf, source| ReadError::Io {
        path: path.clone(),
        source,
    };
    // All before the first is read: none is missed that is put aside meanwhile.
    let mut opened = Vec::new();
    for path in parts {
        match open_unlinked(path) {
            Ok(file) => opened.push((path, Lines::new(file))),
            // Put aside or removed meanwhile; or the log itself has yet to be begun.
            Err(error) if error.is_missing() && parts.len() > 1 => {}
            Err(error) => return Err(failed(path, error.into())),
        }
    }
    for (path, mut lines) in opened {
        while let Some(line) = lines.next_line().map_err(|error| failed(path, error))? {
            if stop.load(Ordering::Relaxed) {
                return Err(ReadError::Stopped);
            }
            if let Some(bytes) = line.bytes {
                each(bytes);
            }
        }
    }
    Ok(())
}
