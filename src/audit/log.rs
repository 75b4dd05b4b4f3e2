use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::mpsc;

use crate::files::{try_lock, wait_for};
use crate::protocol::{Event, EventBody, NoticeLevel, Update};
use crate::text::{Trouble, escape_json};

use super::Mask;
use super::chain::{FileEnd, Head};
use super::file::open_log;
use super::link::EarlierLines;
use super::log_parts;
use super::recover::{InterruptedRun, interrupted_runs};
use super::rotate::{Destination, keep_within, put_aside};
use super::session::Session;
use super::tail::{Tail, is_chained, take_over};

/// Fields that this program made up itself: a random id can look like a card number.
const OUR_OWN: [&str; 5] = ["run", "ts", "event", "session", "retry_of"];
/// How long another process may hold the file: it writes one line.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same once it has been too long: a log that cannot be written must not slow every event.
const LITTLE_PATIENCE: Duration = Duration::from_millis(20);

/// The open file.
#[derive(Debug)]
pub struct AuditLog {
    file: File,
    to: Destination,
    mask: Mask,
    /// The end of the last line written here.
    end: Option<FileEnd>,
    head: HeadState,
    failing: bool,
    /// The file was removed or replaced while it was open, and that was not reported yet.
    was_replaced: bool,
}

/// What became of the head, which is made before the first line and may not vanish from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadState {
    /// Nothing is known to the contrary.
    Kept,
    /// It was not there when the end was to be noted: the next line says so.
    Missing,
    /// A line says so, or begins the chain: it may be made.
    MayBeMade,
}

/// Why there is no log.
#[derive(Debug, Error)]
#[error("{}", self.trouble())]
pub struct AuditError {
    /// The file.
    pub path: PathBuf,
    /// The error of the system.
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
        to: &Destination,
        mask: Mask,
    ) -> Result<(Session, Vec<InterruptedRun>), AuditError> {
        let path = &to.path;
        let failed = |source| AuditError {
            path: path.clone(),
            source,
        };
        let mut log = Self::open(to, mask)?;
        let is_known = Session::prepare(path).map_err(failed)?;
        let gate = Session::gate(path).map_err(failed)?;
        let was_killed = Session::any_dead(path);
        let looked_at = match (was_killed || !is_known, log.is_as_noted()) {
            (true, _) => log_parts::all(path),
            // Another process writes to it, or did and ended before it could note that.
            (false, false) => vec![path.clone()],
            (false, true) => Vec::new(),
        };
        let interrupted = interrupted_runs(path, &looked_at).map_err(|e| failed(e.into()))?;
        let mut closed = Vec::new();
        for (run, end) in interrupted {
            match log.append(&end) {
                Ok(()) => closed.push(run),
                Err(error) => {
                    tracing::error!(%error, run = %run.run, "an interrupted run could not be closed");
                }
            }
        }
        Session::sweep(path);
        if let Err(error) = log.note_end() {
            tracing::warn!(%error, path = %path.display(), "the audit log's end is not noted");
        }
        let session = Session::begin(path).map_err(failed)?;
        drop(gate);
        Ok((session, closed))
    }

    /// Opens the file for appending, for its owner's eyes only; refuses what is no audit log.
    pub fn open(to: &Destination, mask: Mask) -> Result<Self, AuditError> {
        Head::refuse_foreign(&to.path)
            .and_then(|()| open_log(&to.path))
            .map(|file| Self {
                file,
                to: to.clone(),
                mask,
                end: None,
                head: HeadState::Kept,
                failing: false,
                was_replaced: false,
            })
            .map_err(|source| AuditError {
                path: to.path.clone(),
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
                        self.report_error(&error, &readers);
                    }
                    if std::mem::take(&mut self.was_replaced) {
                        self.notify_replaced(&readers);
                    }
                    let is_last = matches!(event.body, EventBody::RunFinished { .. });
                    // A reader that has gone away does not keep the rest from being written.
                    let _ = readers.blocking_send(Update::Event(event));
                    if is_last && let Err(error) = self.note_end() {
                        self.report_error(&error, &readers);
                    }
                }
                let _ = self.file.sync_data();
            })
    }

    /// Writes one event as one line, in one write. What passes is left out: `waiting`, and
    /// `answer_delta`, whose whole text follows in `answer_finished`.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        if event.body.is_passing() {
            return Ok(());
        }
        let mut event = Cow::Borrowed(event);
        if !self.to.prompts && event.holds_prompts() {
            event.to_mut().drop_prompts();
        }
        let Value::Object(mut fields) = serde_json::to_value(event)? else {
            return Err(io::Error::other("an event is no object"));
        };
        let own = OUR_OWN.map(|name| fields.remove_entry(name));
        let mut value = Value::Object(fields);
        self.mask.event(&mut value);
        let Value::Object(mut fields) = value else {
            return Err(io::Error::other("an event is no object"));
        };
        fields.extend(own.into_iter().flatten());
        self.lock()?;
        let written = self.write(fields);
        let _ = self.file.unlock();
        // A later failure is reported again, and waited for as the first was.
        self.failing &= written.is_err();
        written
    }

    /// Waits until no other process writes, and makes sure that the open file still is the log.
    fn lock(&mut self) -> io::Result<()> {
        let patience = if self.failing {
            LITTLE_PATIENCE
        } else {
            PATIENCE
        };
        wait_for(patience, || self.try_lock())?
            .ok_or_else(|| io::Error::new(io::ErrorKind::TimedOut, "another process holds it"))
    }

    fn try_lock(&mut self) -> io::Result<Option<()>> {
        while try_lock(&self.file)? {
            if is_at(&self.file, &self.to.path) {
                return Ok(Some(()));
            }
            self.file.unlock()?;
            self.open_anew()?;
        }
        Ok(None)
    }

    fn open_anew(&mut self) -> io::Result<()> {
        let is_part = |part: &PathBuf| is_at(&self.file, part);
        let was_put_aside = log_parts::put_aside(&self.to.path).iter().any(is_part);
        self.file = open_log(&self.to.path)?;
        if was_put_aside {
            self.end = None;
        } else {
            // What was written last stays known: the next line refers to it, so that it is missed.
            self.was_replaced = true;
        }
        Ok(())
    }

    /// Writes the line; the file must be locked.
    fn write(&mut self, mut fields: Map<String, Value>) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let (tail, head) = self.tail(length)?;
        let before = tail.end.last.to_hex().to_string();
        fields.insert("prev".to_owned(), Value::String(before));
        if let Some(noted) = tail.noted {
            fields.insert("noted".to_owned(), serde_json::to_value(noted)?);
        }
        let json = serde_json::to_string(&fields)?;
        let json = escape_json(&json);
        let last = blake3::hash(json.as_bytes());
        let ending = if tail.is_ended { "" } else { "\n" };
        let line = format!("{ending}{json}\n").into_bytes();
        if let Err(error) = self.file.write_all(&line) {
            // A line that is not whole does not stay, or else the next one ends it.
            let _ = self.file.set_len(length);
            return Err(error);
        }
        self.head = head;
        self.end = Some(FileEnd {
            bytes: length + line.len() as u64,
            last,
            lines: tail.end.lines + 1,
        });
        Ok(())
    }

    /// Behind which line the next one is written, and what becomes of the head with it.
    fn tail(&self, length: u64) -> io::Result<(Tail, HeadState)> {
        let known = self.end;
        let known = known.or_else(|| Head::read(&self.to.path).map(|head| head.mark()));
        let Some(known) = known else {
            let tail = Tail::without_head(&self.file, &self.to.path)?;
            return Ok((tail, HeadState::MayBeMade));
        };
        let mut tail = match self.end {
            Some(end) if end.bytes == length => Tail::at_end(end),
            _ => Tail::read_after(&self.file, known)?,
        };
        if self.head == HeadState::Missing {
            tail.noted.get_or_insert(EarlierLines::Nothing);
        }
        let head = match tail.noted {
            Some(_) => HeadState::MayBeMade,
            None => self.head,
        };
        Ok((tail, head))
    }

    /// Whether the log ends where its head says, so that nothing was written since.
    fn is_as_noted(&self) -> bool {
        let length = self.file.metadata().map(|meta| meta.len());
        let head = Head::read(&self.to.path);
        let (Some(head), Ok(length)) = (head, length) else {
            return false;
        };
        head.bytes == length && head.mark().holds(&self.file).unwrap_or(false)
    }

    /// Notes in the head where the log ends, once all up to there is on disk; puts an overgrown
    /// log aside.
    fn note_end(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.lock()?;
        let noted = self.note(self.end);
        let _ = self.file.unlock();
        if noted? {
            // The file that was open is a part now.
            self.end = None;
            self.file = open_log(&self.to.path)?;
        }
        Ok(())
    }

    fn note(&mut self, end: Option<FileEnd>) -> io::Result<bool> {
        let path = &self.to.path;
        let old = Head::read(path);
        let mut head = match (&old, self.head) {
            (Some(head), _) => head.clone(),
            (None, HeadState::MayBeMade) => Head::of_lines_found(),
            (None, _) if is_chained(path)? => {
                self.head = HeadState::Missing;
                return Ok(false);
            }
            (None, _) => take_over(&self.file, path)?,
        };
        let is_whole = head.mark().holds(&self.file)?;
        if let Some(end) = end.filter(|end| !is_whole || end.bytes > head.bytes) {
            head.advance(&self.file, end)?;
        }
        if !head.mark().holds(&self.file)? {
            // The next line says so, before anything is noted anew.
            return Ok(false);
        }
        let was_put_aside = put_aside(&self.file, &self.to, &mut head)?;
        keep_within(&self.to, &mut head)?;
        if old.as_ref() != Some(&head) {
            head.write(path)?;
        }
        self.head = HeadState::Kept;
        Ok(was_put_aside)
    }

    fn report_error(&mut self, error: &io::Error, readers: &mpsc::Sender<Update>) {
        tracing::error!(%error, path = %self.to.path.display(), "audit line lost");
        if std::mem::replace(&mut self.failing, true) {
            return;
        }
        let message = format!(
            "the audit log {} cannot be written: {error}; free space or set KB_AGENT_AUDIT_LOG",
            self.to.path.display()
        );
        notify(readers, message);
    }

    fn notify_replaced(&self, readers: &mpsc::Sender<Update>) {
        let message = format!(
            "the audit log {} was removed or replaced while it was in use: what it held is not in \
             the new one",
            self.to.path.display()
        );
        notify(readers, message);
    }
}

fn notify(readers: &mpsc::Sender<Update>, message: String) {
    let _ = readers.blocking_send(Update::Notice {
        level: NoticeLevel::Warning,
        message,
    });
}

/// Whether the open file is the one of that name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// An open file keeps its name here.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}
