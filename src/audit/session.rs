//! The processes that write to a log, each of them one conversation, and what people note about them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::{self, create_private_dir, open_to_lock};
use crate::protocol::new_id;

use super::file::{canonical, lock, path_beside};

const GATE: &str = "gate";
/// A larger file is none of ours.
const LARGEST_NOTES: u64 = 4 << 20;
/// How long another start is waited for.
const LONGEST_START: Duration = Duration::from_secs(10);

/// A process that writes to the log, known to others by a lock that the system releases when the
/// process ends, however it ends.
#[derive(Debug)]
pub struct Session {
    id: String,
    path: PathBuf,
    /// Whether its file tells the next start that a run has no end.
    was_left_behind: bool,
    _lock: File,
}

impl Session {
    /// Holds the gate that every start of a session passes, one at a time: what is found out about other
    /// sessions while it is held stays true. A link in the place of the folder is refused.
    pub(super) fn gate(log: &Path) -> io::Result<File> {
        let folder = folder(log);
        create_private_dir(&folder)?;
        let gate = open_to_lock(&folder.join(GATE))?;
        lock(&gate, LONGEST_START, "starting on")?;
        Ok(gate)
    }

    /// Announces a new session beside `log`; the gate must be held.
    pub(super) fn begin(log: &Path) -> io::Result<Self> {
        Self::hold(log, new_id().to_string())
    }

    /// Goes on with a session that ended; one that goes on in some process is not taken from it.
    pub fn take_up(log: &Path, id: &str) -> io::Result<Self> {
        let id = canonical(id).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "its id is none of kb-agent's")
        })?;
        let _gate = Self::gate(log)?;
        let id = id.to_string();
        if Self::is_alive(log, &id) {
            let why =
                "it is open in another kb-agent: close it there, or begin another with 'kb-agent'";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
        }
        Self::hold(log, id)
    }

    /// Begins another session beside `log`.
    pub fn begin_another(log: &Path) -> io::Result<Self> {
        let _gate = Self::gate(log)?;
        Self::begin(log)
    }

    fn hold(log: &Path, id: String) -> io::Result<Self> {
        let path = folder(log).join(&id);
        // A kill left it behind: the next start still closes its run, so it stays where it is.
        let was_left_behind = is_ours(&path);
        let mut options = files::unlinked();
        options.write(true).create_new(!was_left_behind);
        let lock = files::private(&mut options).open(&path)?;
        lock.lock()?;
        Ok(Self {
            id,
            path,
            was_left_behind,
            _lock: lock,
        })
    }

    /// Its name, as in `run_started`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether the session `id` is still going on in some process.
    pub(super) fn is_alive(log: &Path, id: &str) -> bool {
        // The id comes from a file: only what one of us could have written is a name here.
        let path = folder(log).join(id);
        canonical(id).is_some() && is_ours(&path) && is_held(&path)
    }

    /// What sessions that ended without a word of their own left behind, and nothing else: the folder may
    /// be the user's.
    pub(super) fn list_dead(log: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder(log)).into_iter().flatten().flatten();
        entries
            .filter(|entry| entry.file_name().to_str().is_some_and(is_our_id))
            .map(|entry| entry.path())
            .filter(|path| is_ours(path) && !is_held(path))
            .collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.was_left_behind {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether we name sessions so; ids of others are mostly random ones.
fn is_our_id(name: &str) -> bool {
    canonical(name).is_some_and(|id| id.get_version_num() == 7)
}

/// What we leave there is an empty file.
fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == 0)
}

fn is_held(path: &Path) -> bool {
    let opened = files::unlinked().write(true).open(path);
    opened.is_ok_and(|file| files::try_lock(&file).is_ok_and(|is_free| !is_free))
}

fn folder(log: &Path) -> PathBuf {
    path_beside(log, ".live")
}

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
        let path = notes_path(log);
        let read = files::open_unlinked(&path);
        let bytes = match read.and_then(|file| files::read_all(&file, LARGEST_NOTES)) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(Self::default()),
            Err(error) => {
                let line = format!("{} cannot be read: {error}", path.display());
                return Err(io::Error::other(line));
            }
        };
        serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
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
        if bytes.len() as u64 > LARGEST_NOTES {
            return Err(io::Error::other("there are too many names in it"));
        }
        files::write_atomic(&notes_path(log), &bytes)
    }
}

fn notes_path(log: &Path) -> PathBuf {
    path_beside(log, ".sessions")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_only_empty_files_with_ids_of_ours_are_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("radio");
        let live = Session::begin_another(&log).unwrap();
        let folder = folder(&log);
        let id = || uuid::Uuid::now_v7().to_string();
        let dead = folder.join(id());
        fs::write(&dead, "").unwrap();
        let kept = [
            ("recording.wav".to_owned(), "theirs"),
            ("empty".to_owned(), ""),
            (GATE.to_owned(), "theirs too"),
            (id(), "not empty"),
            (id().to_uppercase(), ""),
            ("01938d2e-0000-4000-8000-000000000001".to_owned(), ""),
        ];
        for (name, text) in &kept {
            fs::write(folder.join(name), text).unwrap();
        }
        let _gate = Session::gate(&log).unwrap();
        assert!(Session::is_alive(&log, live.id()));
        assert_eq!(Session::list_dead(&log), [dead]);
        for (name, text) in &kept {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), *text);
        }
    }

    #[test]
    fn a_session_is_taken_up_again_by_one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let first = Session::begin_another(&log).unwrap();
        let id = first.id().to_owned();
        let refused = Session::take_up(&log, &id).unwrap_err();
        assert!(refused.to_string().contains("another kb-agent"));
        drop(first);
        let again = Session::take_up(&log, &id).unwrap();
        assert_eq!(again.id(), id);
        assert!(Session::is_alive(&log, &id));
        drop(again);
        assert!(!Session::is_alive(&log, &id));
        // What a kill left behind is still found by the next start.
        fs::write(folder(&log).join(&id), "").unwrap();
        drop(Session::take_up(&log, &id).unwrap());
        assert_eq!(Session::list_dead(&log).len(), 1);
        assert!(Session::take_up(&log, "../x").is_err());
    }

    #[test]
    fn what_is_noted_is_read_again_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        assert_eq!(SessionNotes::read(&log).unwrap(), SessionNotes::default());
        SessionNotes::rename(&log, "a", Some("gates")).unwrap();
        SessionNotes::hide(&log, "b", true).unwrap();
        let notes = SessionNotes::read(&log).unwrap();
        assert_eq!((notes.name("a"), notes.name("b")), (Some("gates"), None));
        assert_eq!((notes.is_hidden("a"), notes.is_hidden("b")), (false, true));
        SessionNotes::rename(&log, "a", None).unwrap();
        SessionNotes::hide(&log, "b", false).unwrap();
        assert_eq!(SessionNotes::read(&log).unwrap(), SessionNotes::default());
        for foreign in ["[", "{}", "{\"sessions\": {}, \"theme\": \"dark\"}"] {
            fs::write(notes_path(&log), foreign).unwrap();
            let error = SessionNotes::read(&log).unwrap_err().to_string();
            assert!(error.contains("audit.jsonl.sessions"), "{error}");
            assert!(SessionNotes::hide(&log, "a", true).is_err());
            assert_eq!(fs::read_to_string(notes_path(&log)).unwrap(), foreign);
        }
    }
}
