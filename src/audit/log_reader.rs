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
    /// No id fits the name that was asked for, or several do.
    #[error("{0}")]
    Name(String),
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

/// Calls `each` with the events on lines that hold one of `needles`, until `stop` says to give up
/// with [`ReadError::Stopped`]. Lines that are no event are passed over, since a log may hold what a
/// later version wrote.
pub(super) fn for_each_event(
    files: &[PathBuf],
    needles: &[&str],
    stop: &AtomicBool,
    mut each: impl FnMut(Event),
) -> Result<(), ReadError> {
    let finders: Vec<_> = needles
        .iter()
        .map(|needle| memchr::memmem::Finder::new(needle.as_bytes()))
        .collect();
    for_each_line(files, stop, |line| {
        if finders.iter().any(|finder| finder.find(line).is_some())
            && let Ok(event) = serde_json::from_slice(line)
        {
            each(event);
        }
    })
}

/// Calls `each` with the events of the runs that are wanted.
pub(super) fn for_each_event_of(
    files: &[PathBuf],
    is_wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(Event),
) -> Result<(), ReadError> {
    #[derive(Deserialize)]
    struct OfRun<'a> {
        #[serde(borrow)]
        run: Cow<'a, str>,
    }
    for_each_line(files, &AtomicBool::new(false), |line| {
        if let Ok(OfRun { run }) = serde_json::from_slice(line)
            && is_wanted(&run)
            && let Ok(event) = serde_json::from_slice(line)
        {
            each(event);
        }
    })
}

/// Calls `each` with every line of these files.
fn for_each_line(
    files: &[PathBuf],
    stop: &AtomicBool,
    mut each: impl FnMut(&[u8]),
) -> Result<(), ReadError> {
    let failed = |path: &PathBuf, source| ReadError::Io {
        path: path.clone(),
        source,
    };
    // All before the first is read: none is missed that is put aside meanwhile.
    let mut opened = Vec::new();
    for path in files {
        match open_unlinked(path) {
            Ok(file) => opened.push((path, Lines::new(file))),
            // Put aside or removed meanwhile.
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(failed(path, error.into())),
        }
    }
    for (path, mut lines) in opened {
        while let Some(line) = lines.next_line().map_err(|error| failed(path, error))? {
            if stop.load(Ordering::Relaxed) {
                return Err(ReadError::Stopped);
            }
            each(line);
        }
    }
    Ok(())
}
