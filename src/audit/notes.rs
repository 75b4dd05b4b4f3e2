//! What people note about recorded conversations: a name, or that lists leave one out.
//!
//! The log itself is only ever appended to, so this stands in a small file beside it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, Unreadable};

use super::session::Session;

/// A larger file is none of ours.
const LARGEST: u64 = 4 << 20;

/// The notes on the conversations of one log.
///
/// A file with anything else in it is not ours to write anew, or of a later version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionNotes {
    sessions: BTreeMap<String, Note>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    hidden: bool,
}

impl SessionNotes {
    /// The notes beside `log`; none where there is no such file.
    pub fn read(log: &Path) -> io::Result<Self> {
        let read = files::open_unlinked(&path(log));
        let bytes = match read.and_then(|file| files::read_all(&file, LARGEST)) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(Self::default()),
            Err(error) => return Err(error_with_path(&path(log), &error)),
        };
        serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::other(format!("{}: {error}", path(log).display())))
    }

    /// What a person called that conversation.
    pub fn name(&self, session: &str) -> Option<&str> {
        self.sessions.get(session)?.name.as_deref()
    }

    /// Whether lists leave that conversation out.
    pub fn is_hidden(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|note| note.hidden)
    }

    /// Gives that conversation a name, or takes it back.
    pub fn rename(log: &Path, session: &str, name: Option<&str>) -> io::Result<()> {
        Self::change(log, session, |note| note.name = name.map(str::to_owned))
    }

    /// Leaves that conversation out of lists, or no longer.
    pub fn hide(log: &Path, session: &str, hidden: bool) -> io::Result<()> {
        Self::change(log, session, |note| note.hidden = hidden)
    }

    fn change(log: &Path, session: &str, change: impl FnOnce(&mut Note)) -> io::Result<()> {
        // One process at a time, so that none loses what another noted.
        let _gate = Session::gate(log)?;
        let mut notes = Self::read(log)?;
        let before = notes.clone();
        let note = notes.sessions.entry(session.to_owned()).or_default();
        change(note);
        if *note == Note::default() {
            notes.sessions.remove(session);
        }
        if notes == before {
            return Ok(());
        }
        let mut bytes = serde_json::to_vec_pretty(&notes)?;
        bytes.push(b'\n');
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other("there are too many names in it"));
        }
        files::write_atomic(&path(log), &bytes)
    }
}

fn path(log: &Path) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".sessions");
    log.with_file_name(name)
}

fn error_with_path(path: &Path, error: &Unreadable) -> io::Error {
    io::Error::other(format!("{} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_again_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        assert_eq!(SessionNotes::read(&log).unwrap(), SessionNotes::default());
        Session::prepare(&log).unwrap();
        SessionNotes::rename(&log, "a", Some("gates")).unwrap();
        SessionNotes::hide(&log, "b", true).unwrap();
        let notes = SessionNotes::read(&log).unwrap();
        assert_eq!((notes.name("a"), notes.name("b")), (Some("gates"), None));
        assert_eq!((notes.is_hidden("a"), notes.is_hidden("b")), (false, true));
        SessionNotes::rename(&log, "a", None).unwrap();
        SessionNotes::hide(&log, "b", false).unwrap();
        assert_eq!(SessionNotes::read(&log).unwrap(), SessionNotes::default());
        for foreign in ["[", "{}", "{\"sessions\": {}, \"theme\": \"dark\"}"] {
            std::fs::write(path(&log), foreign).unwrap();
            let error = SessionNotes::read(&log).unwrap_err().to_string();
            assert!(error.contains("audit.jsonl.sessions"), "{error}");
            assert!(SessionNotes::hide(&log, "a", true).is_err());
            assert_eq!(std::fs::read_to_string(path(&log)).unwrap(), foreign);
        }
    }
}
