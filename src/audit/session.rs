use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::{self, create_private_dir, open_to_lock, refuse_link};
use crate::protocol::new_id;

use super::log_parts::canonical;

const GATE: &str = "gate";
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
    /// Makes the folder of the sessions; says whether one of ours has been there before. A link in
    /// its place is refused.
    pub(super) fn prepare(log: &Path) -> io::Result<bool> {
        let folder = folder(log);
        refuse_link(&folder)?;
        create_private_dir(&folder)?;
        Ok(folder.join(GATE).exists())
    }

    /// Holds the gate that every start of a session passes, one at a time: what is found out
    /// about other sessions while it is held stays true.
    pub(super) fn gate(log: &Path) -> io::Result<File> {
        let gate = open_to_lock(&folder(log).join(GATE))?;
        let pass = || files::try_lock(&gate).map(|is_held| is_held.then_some(()));
        if files::wait_for(LONGEST_START, pass)?.is_some() {
            return Ok(gate);
        }
        Err(io::Error::new(
            io::ErrorKind::WouldBlock,
            format!(
                "another kb-agent has been starting on it for more than {} s",
                LONGEST_START.as_secs()
            ),
        ))
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
        Self::prepare(log)?;
        let _gate = Self::gate(log)?;
        let id = id.to_string();
        if Self::is_alive(log, &id) {
            let why = "it is open in another kb-agent";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
        }
        let path = folder(log).join(&id);
        if !is_ours(&path) {
            return Self::hold(log, id);
        }
        // A kill left it behind: the next start still closes its run, so it stays where it is.
        let lock = files::unlinked().write(true).open(&path)?;
        lock.lock()?;
        Ok(Self {
            id,
            path,
            was_left_behind: true,
            _lock: lock,
        })
    }

    /// Begins another session beside `log`.
    pub fn begin_another(log: &Path) -> io::Result<Self> {
        Self::prepare(log)?;
        let _gate = Self::gate(log)?;
        Self::begin(log)
    }

    fn hold(log: &Path, id: String) -> io::Result<Self> {
        let folder = folder(log);
        let path = folder.join(&id);
        let lock = files::private(files::unlinked().write(true).create_new(true)).open(&path)?;
        lock.lock()?;
        Ok(Self {
            id,
            path,
            was_left_behind: false,
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

    /// Whether a session ended without a word of its own.
    pub(super) fn any_dead(log: &Path) -> bool {
        !dead(log).is_empty()
    }

    /// Removes what sessions that were killed left behind, and nothing else: the folder may be
    /// the user's.
    pub(super) fn sweep(log: &Path) {
        for path in dead(log) {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.was_left_behind {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn dead(log: &Path) -> Vec<PathBuf> {
    let folder = folder(log);
    if refuse_link(&folder).is_err() {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_our_id))
        .map(|entry| entry.path())
        .filter(|path| is_ours(path) && !is_held(path))
        .collect()
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
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".live");
    log.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_only_empty_files_with_ids_of_ours_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("radio");
        Session::prepare(&log).unwrap();
        let live = Session::begin(&log).unwrap();
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
        assert!(Session::any_dead(&log));
        drop(Session::gate(&log).unwrap());
        Session::sweep(&log);
        assert!(!dead.exists() && live.path.exists());
        assert!(Session::is_alive(&log, live.id()));
        for (name, text) in &kept {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), *text);
        }
        assert!(!Session::any_dead(&log));
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
        assert!(Session::any_dead(&log));
        assert!(Session::take_up(&log, "../x").is_err());
    }
}
