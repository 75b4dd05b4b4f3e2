use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use thiserror::Error;
use tokio::sync::mpsc;

use crate::protocol::{Event, EventBody, NoticeLevel, Update};
use crate::text::Trouble;

use super::Mask;
use super::recover::{Interrupted, close_interrupted_runs};
use super::session::Session;

/// A log larger than this is put aside when nobody writes to it.
const ROTATE_AT_BYTES: u64 = 64 << 20;

/// Fields that this program made up itself: a random id can look like a card number.
const OUR_OWN: [&str; 4] = ["run", "ts", "event", "session"];

/// The open file.
#[derive(Debug)]
pub struct AuditLog {
    file: File,
    path: PathBuf,
    mask: Mask,
    /// Whether the last write may have stopped within a line.
    is_torn: bool,
    failing: bool,
}

/// Why there is no log.
#[derive(Debug, Error)]
#[error("{}", self.trouble())]
pub struct AuditError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl AuditError {
    /// What is wrong, and what to do about it.
    pub fn trouble(&self) -> Trouble {
        let (path, source) = (self.path.display(), &self.source);
        Trouble::new(
            format!("the audit log {path} cannot be opened: {source}"),
            "set KB_AGENT_AUDIT_LOG to a file that may be written",
        )
    }
}

impl AuditLog {
    /// Begins a session: closes the runs that a kill left open, and puts an overgrown log aside.
    pub fn begin_session(
        path: &Path,
        mask: Mask,
    ) -> Result<(Session, Vec<Interrupted>), AuditError> {
        let failed = |source| AuditError {
            path: path.to_owned(),
            source,
        };
        let mut log = Self::open(path, mask)?;
        let gate = Session::gate(path).map_err(failed)?;
        let closed = close_interrupted_runs(path, &mut log).map_err(|e| failed(e.into()))?;
        Session::sweep(path);
        set_aside_if_overgrown(path).map_err(failed)?;
        let session = Session::begin(path).map_err(failed)?;
        drop(gate);
        Ok((session, closed))
    }

    /// Opens the file for appending, for its owner's eyes only.
    pub fn open(path: &Path, mask: Mask) -> Result<Self, AuditError> {
        open_file(path)
            .map(|file| Self {
                file,
                path: path.to_owned(),
                mask,
                is_torn: false,
                failing: false,
            })
            .map_err(|source| AuditError {
                path: path.to_owned(),
                source,
            })
    }

    /// Starts the thread that owns the log: each event is written, then forwarded.
    ///
    /// A log that cannot be written says so once and stops nothing. Ends when the events end.
    pub fn spawn(
        mut self,
        mut events: mpsc::Receiver<Event>,
        readers: mpsc::Sender<Update>,
    ) -> io::Result<JoinHandle<()>> {
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                while let Some(event) = events.blocking_recv() {
                    if let Err(error) = self.append(&event) {
                        self.complain(&error, &readers);
                    }
                    // A reader that has gone away does not keep the rest from being written.
                    let _ = readers.blocking_send(Update::Event(event));
                }
                let _ = self.file.sync_data();
            })
    }

    /// Writes one event as one line, in one write. `answer_delta` is left out: the whole text
    /// follows in `answer_finished`.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        if matches!(event.body, EventBody::AnswerDelta { .. }) {
            return Ok(());
        }
        let mut value = serde_json::to_value(event)?;
        for (name, field) in value.as_object_mut().into_iter().flatten() {
            if !OUR_OWN.contains(&name.as_str()) {
                self.mask.value(field);
            }
        }
        let mut line = serde_json::to_vec(&value)?;
        line.push(b'\n');
        if self.is_torn {
            line.insert(0, b'\n');
        }
        let written = self.file.write_all(&line);
        self.is_torn = written.is_err();
        written
    }

    fn complain(&mut self, error: &io::Error, readers: &mpsc::Sender<Update>) {
        tracing::error!(%error, path = %self.path.display(), "audit line lost");
        if std::mem::replace(&mut self.failing, true) {
            return;
        }
        let message = format!(
            "the audit log {} cannot be written: {error}; free space or set KB_AGENT_AUDIT_LOG",
            self.path.display()
        );
        let _ = readers.blocking_send(Update::Notice {
            level: NoticeLevel::Warning,
            message,
        });
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    end_last_line(&mut file)?;
    Ok(file)
}

fn set_aside_if_overgrown(path: &Path) -> io::Result<()> {
    let is_overgrown = fs::metadata(path).is_ok_and(|meta| meta.len() > ROTATE_AT_BYTES);
    if is_overgrown && !Session::any_alive(path) {
        let aside = format!("{}.jsonl", crate::protocol::RunId::generate());
        fs::rename(path, path.with_extension(aside))?;
    }
    Ok(())
}

/// A line that a crash of the machine cut short must not swallow the next one.
fn end_last_line(file: &mut File) -> io::Result<()> {
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(())
}
