use std::borrow::Cow;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::files::{open_unlinked, try_lock, wait_for};
use crate::protocol::{Event, EventBody, NoticeLevel, Update};
use crate::text::escape_json;

use super::Mask;
use super::error::AuditError;
use super::file::{append_line, is_at, keep_within, list_older_parts, open_log, refuse_foreign};
use super::read::LONGEST_LINE;
use super::recover::{InterruptedRun, interrupted_runs};
use super::session::Session;

/// Fields that this program made up itself: a random id can look like a card number. The last is the id
/// of the run that a rerun starts from.
const OUR_OWN: [&str; 8] = [
    "/run",
    "/ts",
    "/event",
    "/session",
    "/retry_of",
    "/edit_of",
    "/after",
    "/rerun/of",
];
/// How long another process may hold the file: it writes one line.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same once it has been too long: a log that cannot be written must not slow every event.
const LITTLE_PATIENCE: Duration = Duration::from_millis(20);
/// How much is left of a text, tried one after the other until the event fits a line: at first all.
const SHORTENED_TO: [usize; 5] = [usize::MAX, 1 << 20, 64 << 10, 4 << 10, 1 << 10];

/// Which file, and how much of it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// The log.
    pub path: PathBuf,
    /// Together with the parts that were put aside it holds about so much.
    pub keep_bytes: u64,
    /// Whether it holds what was sent to a model and what came back.
    pub prompts: bool,
}

/// The open file.
pub struct AuditLog {
    file: File,
    settings: LogSettings,
    mask: Mask,
    failing: bool,
    /// The file was removed or replaced while it was open, and that was not reported yet.
    was_replaced: bool,
    /// Takes each event as it is recorded.
    tap: Option<Box<dyn FnMut(Event) + Send>>,
}

/// Whether the file at `path` would be taken for a log; `None` where there is none.
pub fn check_is_log(path: &Path) -> Result<Option<Metadata>, AuditError> {
    let file = match open_unlinked(path) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(AuditError::open(path)(error.into())),
    };
    refuse_foreign(&file, path)?;
    file.metadata().map(Some).map_err(AuditError::open(path))
}

impl AuditLog {
    /// Begins a session: closes the runs that a kill left open, and puts an overgrown log aside.
    pub fn begin_session(
        settings: &LogSettings,
        mask: Mask,
    ) -> Result<(Session, Vec<InterruptedRun>), AuditError> {
        let mut log = Self::open(settings, mask)?;
        let path = &settings.path;
        let _gate = Session::gate(path).map_err(AuditError::open(path))?;
        let dead = Session::list_dead(path);
        let mut closed = Vec::new();
        // Without one that was left behind no run was cut short, and the log need not be read.
        if !dead.is_empty() {
            let runs =
                interrupted_runs(path).map_err(|error| AuditError::open(path)(error.into()))?;
            for (run, end) in runs {
                match log.append(&end) {
                    Ok(()) => closed.push(run),
                    Err(error) => {
                        tracing::error!(%error, run = %run.run, "an interrupted run could not be closed");
                    }
                }
            }
        }
        for left_behind in dead {
            let _ = fs::remove_file(left_behind);
        }
        if let Err(error) = log.settle() {
            tracing::warn!(%error, path = %path.display(), "the audit log may be overgrown");
        }
        let session = Session::begin(path).map_err(AuditError::open(path))?;
        Ok((session, closed))
    }

    /// Opens the file for appending, for its owner's eyes only; refuses what is no audit log.
    pub fn open(settings: &LogSettings, mask: Mask) -> Result<Self, AuditError> {
        Ok(Self {
            file: open_log(&settings.path)?,
            settings: settings.clone(),
            mask,
            failing: false,
            was_replaced: false,
            tap: None,
        })
    }

    /// Hands each event on as it is recorded: masked, and without what no log holds.
    pub fn copy_to(&mut self, take: impl FnMut(Event) + Send + 'static) {
        self.tap = Some(Box::new(take));
    }

    /// Starts the thread that owns the log: each event is written, then forwarded.
    ///
    /// A log that cannot be written says so once and stops nothing. Ends when the events end.
    pub fn spawn(
        mut self,
        mut events: mpsc::Receiver<Event>,
        readers: mpsc::Sender<Update>,
    ) -> Result<JoinHandle<()>, AuditError> {
        let path = self.settings.path.clone();
        let thread = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                while let Some(event) = events.blocking_recv() {
                    if let Err(error) = self.append(&event) {
                        self.report_error(&error, &readers);
                    }
                    if std::mem::take(&mut self.was_replaced) {
                        self.report_replacement(&readers);
                    }
                    let is_last = matches!(event.body, EventBody::RunFinished { .. });
                    // A reader that has gone away does not keep the rest from being written.
                    let _ = readers.blocking_send(Update::Event(event));
                    if is_last && let Err(error) = self.settle() {
                        self.report_error(&error, &readers);
                    }
                }
                let _ = self.file.sync_data();
            });
        thread.map_err(AuditError::open(&path))
    }

    /// Writes one event as one line, in one write. What passes is left out: `waiting`, and
    /// `answer_delta`, whose whole text follows in `answer_finished`.
    pub fn append(&mut self, event: &Event) -> Result<(), AuditError> {
        if event.body.is_passing() {
            return Ok(());
        }
        let mut event = Cow::Borrowed(event);
        if !self.settings.prompts && event.holds_prompts() {
            event.to_mut().drop_prompts();
        }
        // What cannot be put into JSON has no line either.
        let mut line = serde_json::to_value(event).map_err(|_| self.too_long())?;
        let own = OUR_OWN.map(|place| line.pointer_mut(place).map(Value::take));
        self.mask.mask_event(&mut line);
        for (place, own) in OUR_OWN.into_iter().zip(own) {
            if let Some((field, own)) = line.pointer_mut(place).zip(own) {
                *field = own;
            }
        }
        if let Some(take) = &mut self.tap
            && let Ok(recorded) = serde_json::from_value(line.clone())
        {
            take(recorded);
        }
        let json = bounded_json(&line, LONGEST_LINE).ok_or_else(|| self.too_long())?;
        self.lock()?;
        let written = append_line(&self.file, &json);
        let _ = self.file.unlock();
        // A later failure is reported again, and waited for as the first was.
        self.failing &= written.is_err();
        written.map_err(AuditError::write(&self.settings.path))
    }

    fn too_long(&self) -> AuditError {
        AuditError::TooLong {
            path: self.settings.path.clone(),
        }
    }

    /// Waits until no other process writes, and makes sure that the open file still is the log.
    fn lock(&mut self) -> Result<(), AuditError> {
        let patience = if self.failing {
            LITTLE_PATIENCE
        } else {
            PATIENCE
        };
        let path = self.settings.path.clone();
        loop {
            let take = || try_lock(&self.file).map(|is_taken| is_taken.then_some(()));
            let taken = wait_for(patience, take).map_err(AuditError::write(&path))?;
            taken.ok_or_else(|| AuditError::Held { path: path.clone() })?;
            let is_ours = |path: &PathBuf| is_at(&self.file, path);
            if is_ours(&path) {
                return Ok(());
            }
            self.was_replaced |= !list_older_parts(&path).iter().any(is_ours);
            let _ = self.file.unlock();
            self.file = open_log(&path)?;
        }
    }

    /// Waits until all up to here is on disk, and keeps the log within bounds.
    fn settle(&mut self) -> Result<(), AuditError> {
        let path = self.settings.path.clone();
        self.file.sync_data().map_err(AuditError::write(&path))?;
        self.lock()?;
        let is_put_aside = keep_within(&self.file, &path, self.settings.keep_bytes);
        let _ = self.file.unlock();
        if is_put_aside.map_err(AuditError::write(&path))? {
            self.file = open_log(&path)?;
        }
        Ok(())
    }

    fn report_error(&mut self, error: &AuditError, readers: &mpsc::Sender<Update>) {
        tracing::error!(%error, "audit line lost");
        // One event that is too long says nothing of the others.
        let is_first = !self.failing;
        self.failing |= !matches!(error, AuditError::TooLong { .. });
        if is_first {
            warn(readers, error.trouble().to_string());
        }
    }

    fn report_replacement(&self, readers: &mpsc::Sender<Update>) {
        let log = self.settings.path.display();
        let line = format!(
            "the audit log {log} was removed or replaced while it was in use: what it held is not in \
             the new one"
        );
        warn(readers, line);
    }
}

fn warn(readers: &mpsc::Sender<Update>, message: String) {
    let level = NoticeLevel::Warning;
    let _ = readers.blocking_send(Update::Notice { level, message });
}

/// The event as one line of at most so many bytes, so that it can be read again: of its texts so
/// much is left that it fits, and each says how much of it is missing. `None` where nothing makes it fit.
fn bounded_json(line: &Value, longest: usize) -> Option<String> {
    for most in SHORTENED_TO {
        let mut line = Cow::Borrowed(line);
        if most < usize::MAX {
            shorten_texts(line.to_mut(), most);
        }
        let json = line.to_string();
        let json = escape_json(&json);
        if json.len() <= longest {
            return Some(json.into_owned());
        }
    }
    None
}

fn shorten_texts(value: &mut Value, most: usize) {
    match value {
        Value::String(text) if text.len() > most => {
            let kept = text.floor_char_boundary(most);
            let left_out = text.len() - kept;
            text.truncate(kept);
            text.push_str(&format!("… [{left_out} bytes left out]"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten_texts(item, most)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| shorten_texts(field, most)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn trust_no_line_is_longer_than_what_is_read_of_one() {
        const LONGEST: usize = 100 << 10;
        let line = json!({"event": "warning", "message": "漢".repeat(LONGEST / 2)});
        let json = bounded_json(&line, LONGEST).unwrap();
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["event"], "warning");
        let message = read["message"].as_str().unwrap();
        assert!(message.ends_with("漢… [88065 bytes left out]"), "{json}");
        // Each control character takes six bytes.
        let many = vec!["\u{7}".repeat(10 << 10); 10];
        let json = bounded_json(&json!({"args": many}), LONGEST).unwrap();
        assert!(json.len() <= LONGEST && json.contains("9216 bytes left out"));
        // What no shortening makes fit is an error, and no line.
        let numbers = vec![0; LONGEST];
        assert!(bounded_json(&json!({"scores": numbers}), LONGEST).is_none());
    }
}
