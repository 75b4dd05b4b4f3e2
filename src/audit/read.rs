use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::protocol::{Event, RunId};

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file.
    #[error("the audit log {} cannot be read: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No run has that name.
    #[error("no run in {} is called '{run}'; give a run's id or the end of one, or 'last'", path.display())]
    NoSuchRun {
        /// The log.
        path: PathBuf,
        /// As asked for.
        run: String,
    },
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io { source, .. } => source,
            missing @ ReadError::NoSuchRun { .. } => Self::other(missing),
        }
    }
}

/// The events of one run, in order. `run` is an id, the end of one, or `last`.
pub fn events_of_run(path: &Path, run: &str) -> Result<Vec<Event>, ReadError> {
    let missing = || ReadError::NoSuchRun {
        path: path.to_owned(),
        run: crate::text::one_line(run, 80),
    };
    let ids = run_ids(path)?;
    let id = match run {
        "last" => ids.last(),
        "" => None,
        run => ids.iter().rev().find(|id| id.0.ends_with(run)),
    }
    .ok_or_else(missing)?;
    let mut events = Vec::new();
    for_each_event(path, &id.0, |event| {
        if event.run == *id {
            events.push(event);
        }
    })?;
    Ok(events)
}

/// The runs of the log, oldest first.
fn run_ids(path: &Path) -> Result<Vec<RunId>, ReadError> {
    let mut ids = Vec::new();
    for_each_event(path, "\"run_started\"", |event| {
        if event.seq == 0 {
            ids.push(event.run);
        }
    })?;
    Ok(ids)
}

/// Calls `each` with the events on lines that hold `needle`; lines that are no event are passed
/// over, since a log may hold what a later version wrote.
pub(super) fn for_each_event(
    path: &Path,
    needle: &str,
    mut each: impl FnMut(Event),
) -> Result<(), ReadError> {
    let failed = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let finder = memchr::memmem::Finder::new(needle.as_bytes());
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        if finder.find(&line).is_some()
            && let Ok(event) = serde_json::from_slice(&line)
        {
            each(event);
        }
    }
}
