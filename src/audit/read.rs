use std::io;
use std::path::PathBuf;

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
    mut each: impl FnMut(Event),
) -> Result<(), ReadError> {
    let finders: Vec<_> = needles
        .iter()
        .map(|needle| memchr::memmem::Finder::new(needle.as_bytes()))
        .collect();
    for_each_line(parts, |line| {
        if finders.iter().any(|finder| finder.find(line).is_some())
            && let Ok(event) = serde_json::from_slice(line)
        {
            each(event);
        }
    })
}

/// Calls `each` with every line of these files that is not too long to be one of ours.
pub(super) fn for_each_line(
    parts: &[PathBuf],
    mut each: impl FnMut(&[u8]),
) -> Result<(), ReadError> {
    for path in parts {
        let failed = |source| ReadError::Io {
            path: path.clone(),
            source,
        };
        let file = match open_unlinked(path) {
            Ok(file) => file,
            // Put aside or removed meanwhile; or the log itself has yet to be begun.
            Err(error) if error.is_missing() && parts.len() > 1 => continue,
            Err(error) => return Err(failed(error.into())),
        };
        let mut lines = Lines::new(file);
        while let Some(line) = lines.next_line().map_err(failed)? {
            if let Some(bytes) = line.bytes {
                each(bytes);
            }
        }
    }
    Ok(())
}
