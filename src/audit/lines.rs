//! The lines of a log.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;

/// The longest line that is written, and that is read as a whole.
pub(super) const LONGEST_LINE: usize = 16 << 20;
/// How much is read at once.
const AT_ONCE: usize = 64 << 10;

/// Reads a log line by line; keeps no more of a line in memory than one of ours can have.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    kept: Vec<u8>,
}

/// One line, without its line feed.
pub(super) struct LogLine<'a> {
    pub(super) text: LineText<'a>,
    /// Whether a line feed ends it: the last one may still be being written, or be cut short.
    pub(super) is_ended: bool,
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineText<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It is too long to be one of ours.
    TooLong,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            reader: BufReader::with_capacity(AT_ONCE, from),
            kept: Vec::new(),
        }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Option<LogLine<'_>>> {
        self.kept.clear();
        let (mut length, mut is_ended) = (0, false);
        while !is_ended {
            let ahead = match self.reader.fill_buf() {
                Ok([]) => break,
                Ok(ahead) => ahead,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', ahead);
            is_ended = end.is_some();
            let piece = &ahead[..end.unwrap_or(ahead.len())];
            let used = piece.len() + usize::from(is_ended);
            length += piece.len();
            if length > LONGEST_LINE {
                self.kept = Vec::new();
            } else {
                self.kept.extend_from_slice(piece);
            }
            self.reader.consume(used);
        }
        if length == 0 && !is_ended {
            return Ok(None);
        }
        let text = if length > LONGEST_LINE {
            LineText::TooLong
        } else {
            LineText::Whole(&self.kept)
        };
        Ok(Some(LogLine { text, is_ended }))
    }
}

/// What every event has, of this version and of those before and after.
#[derive(Deserialize)]
#[allow(dead_code, reason = "it is asked only whether they are there")]
struct AnyEvent<'a> {
    schema: u32,
    #[serde(borrow)]
    ts: Cow<'a, str>,
    #[serde(borrow)]
    run: Cow<'a, str>,
    seq: u64,
    #[serde(borrow)]
    event: Cow<'a, str>,
}

pub(super) fn is_event(line: &[u8]) -> bool {
    serde_json::from_slice::<AnyEvent<'_>>(line).is_ok()
}

/// Whether the line ends within an object that begins as an event does, whose fields are in order
/// of the alphabet. Some file systems fill up with zeros what was not written.
pub(super) fn begins_an_event(line: &[u8]) -> bool {
    let line = without_zeros(line);
    let Some(fields) = line.strip_prefix(b"{\"") else {
        return b"{\"".starts_with(line);
    };
    let name = fields.split(|byte| *byte == b'"').next().unwrap_or(fields);
    let is_first = name <= b"event".as_slice() || b"schema".starts_with(name);
    is_first && serde_json::from_slice::<AnyEvent<'_>>(line).is_err_and(|error| error.is_eof())
}

/// The bytes without zeros at their end: some file systems leave them in the place of what a power
/// cut kept from being written.
fn without_zeros(bytes: &[u8]) -> &[u8] {
    let last = bytes.iter().rposition(|byte| *byte != 0);
    &bytes[..last.map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    #[test]
    fn trust_a_line_without_end_is_passed_over_and_not_kept() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"first\n").unwrap();
        // A hole: no room on the disk, and none in memory either.
        let hole = LONGEST_LINE * 4;
        file.set_len(6 + hole as u64).unwrap();
        file.seek(io::SeekFrom::End(0)).unwrap();
        file.write_all(b"\nlast").unwrap();
        file.rewind().unwrap();
        let mut lines = Lines::new(file);
        let first = lines.next_line().unwrap().unwrap();
        assert_eq!(first.text, LineText::Whole(b"first"));
        let long = lines.next_line().unwrap().unwrap();
        assert_eq!(long.text, LineText::TooLong);
        assert!(long.is_ended);
        assert_eq!(lines.kept.capacity(), 0);
        let last = lines.next_line().unwrap().unwrap();
        assert_eq!(last.text, LineText::Whole(b"last"));
        assert!(!last.is_ended);
        assert!(lines.next_line().unwrap().is_none());
    }

    #[test]
    fn trust_every_beginning_of_an_event_is_known_and_nothing_else() {
        let line = br#"{"by":"llm","event":"x","noted":{"lines":3},"run":"a","schema":1,"seq":0,"ts":"t"}"#;
        assert!(is_event(line));
        for end in 0..line.len() {
            assert!(begins_an_event(&line[..end]), "{end}");
            let filled = [&line[..end], &[0; 7]].concat();
            assert!(begins_an_event(&filled), "{end}");
        }
        for foreign in [
            "text",
            "{}",
            "{\"theme\": \"da",
            "{\"event\": x",
            "[",
            " ",
            "{\"run\": \"",
        ] {
            assert!(!begins_an_event(foreign.as_bytes()), "{foreign}");
        }
    }
}
