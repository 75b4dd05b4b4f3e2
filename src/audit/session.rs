use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const GATE: &str = "gate";

/// A process that writes to the log, known to others by a lock that the system releases when the
/// process ends, however it ends.
#[derive(Debug)]
pub struct Session {
    id: String,
    path: PathBuf,
    _lock: File,
}

impl Session {
    /// Holds the gate that every start of a session passes, one at a time: what is found out
    /// about other sessions while it is held stays true.
    pub(super) fn gate(log: &Path) -> io::Result<File> {
        let folder = folder(log);
        fs::create_dir_all(&folder)?;
        let gate = File::create(folder.join(GATE))?;
        gate.lock()?;
        Ok(gate)
    }

    /// Announces a new session beside `log`; the gate must be held.
    pub(super) fn begin(log: &Path) -> io::Result<Self> {
        let id = uuid::Uuid::now_v7().to_string();
        let folder = folder(log);
        let path = folder.join(&id);
        let lock = File::create_new(&path)?;
        lock.lock()?;
        Ok(Self {
            id,
            path,
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
        if uuid::Uuid::parse_str(id).is_err() {
            return false;
        }
        let Ok(file) = OpenOptions::new().write(true).open(folder(log).join(id)) else {
            return false;
        };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Removes what sessions that were killed left behind.
    pub(super) fn sweep(log: &Path) {
        let Ok(entries) = fs::read_dir(folder(log)) else {
            return;
        };
        for entry in entries.flatten() {
            let id = entry.file_name();
            if id != GATE && !Self::is_alive(log, &id.to_string_lossy()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Whether any session is going on.
    pub(super) fn any_alive(log: &Path) -> bool {
        fs::read_dir(folder(log)).is_ok_and(|entries| {
            entries
                .flatten()
                .any(|entry| Self::is_alive(log, &entry.file_name().to_string_lossy()))
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn folder(log: &Path) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".live");
    log.with_file_name(name)
}
