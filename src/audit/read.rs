//! The lines of a log, and the events on them.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use memchr::memmem::Finder;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::files::open_unlinked;
use crate::protocol::Event;
use crate::text::Trouble;

/// The longest line that is written, and that is read as a whole.
pub(super) const LONGEST_LINE: usize = 16 << 20;
/// How much is read at once.
const AT_ONCE: usize = 64 << 10;
/// Lines read between two looks at whether to go on.
const LOOK_EVERY: usize = 1024;

/// Reads a log line by line; keeps no more of a line in memory than one of ours can have.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            reader: BufReader::with_capacity(AT_ONCE, from),
            line: Vec::new(),
        }
    }

    /// The next line, with its line feed where it has one: the last one may still be being written, or
    /// be cut short. A line that is too long to be one of ours is cut short too.
    pub(super) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut bounded = self.reader.by_ref().take(LONGEST_LINE as u64 + 1);
        let length = bounded.read_until(b'\n', &mut self.line)?;
        if length > LONGEST_LINE && !self.line.ends_with(b"\n") {
            self.reader.skip_until(b'\n')?;
        }
        Ok((length > 0).then_some(self.line.as_slice()))
    }
}

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

impl From<ReadError> for Trouble {
    fn from(error: ReadError) -> Self {
        Self::of(error)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io { source, .. } => source,
            unknown => Self::other(unknown),
        }
    }
}

/// Calls `each` with the events on those lines of the files that are wanted, until `cancel` is
/// cancelled, which is [`ReadError::Stopped`]. Lines that are no event are passed over, since a log may hold what a
/// later version wrote.
pub(super) fn for_each_event(
    files: &[PathBuf],
    is_wanted: impl Fn(&[u8]) -> bool,
    mut each: impl FnMut(Event),
    cancel: &CancellationToken,
) -> Result<(), ReadError> {
    let failed = |path: &PathBuf, source| ReadError::Io {
        path: path.clone(),
        source,
    };
    // All before the first is read: none is missed that is put aside meanwhile.
    let opened: Vec<_> = files
        .iter()
        .map(|path| (path, open_unlinked(path)))
        .collect();
    let mut count: usize = 0;
    for (path, file) in opened {
        let mut lines = match file {
            Ok(file) => Lines::new(file),
            // Put aside or removed meanwhile.
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(failed(path, error.into())),
        };
        while let Some(line) = lines.next_line().map_err(|error| failed(path, error))? {
            if count.is_multiple_of(LOOK_EVERY) && cancel.is_cancelled() {
                return Err(ReadError::Stopped);
            }
            count += 1;
            if is_wanted(line)
                && let Ok(event) = serde_json::from_slice(line)
            {
                each(event);
            }
        }
    }
    Ok(())
}

/// Tells the lines that hold one of these words.
pub(super) fn holds_one_of(words: &[&str]) -> impl Fn(&[u8]) -> bool {
    let finders: Vec<_> = words.iter().map(|word| Finder::new(*word)).collect();
    move |line| finders.iter().any(|finder| finder.find(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    #[test]
    fn trust_a_line_without_end_is_passed_over_and_not_kept() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"first\n").unwrap();
        // A hole: no room on the disk, and little in memory.
        let hole = LONGEST_LINE * 4;
        file.set_len(6 + hole as u64).unwrap();
        file.seek(io::SeekFrom::End(0)).unwrap();
        file.write_all(b"\nlast").unwrap();
        file.rewind().unwrap();
        let mut lines = Lines::new(file);
        assert_eq!(lines.next_line().unwrap(), Some(&b"first\n"[..]));
        let long = lines.next_line().unwrap().unwrap();
        assert_eq!(long.len(), LONGEST_LINE + 1);
        assert!(lines.line.capacity() <= LONGEST_LINE * 2 + AT_ONCE);
        assert_eq!(lines.next_line().unwrap(), Some(&b"last"[..]));
        assert_eq!(lines.next_line().unwrap(), None);
    }
}
