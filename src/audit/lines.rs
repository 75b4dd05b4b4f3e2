use std::fs::File;
use std::io::{self, BufRead, BufReader};

use blake3::{Hash, Hasher};

/// The longest line that is read as a whole; ours are far shorter.
pub(super) const LONGEST_LINE: usize = 16 << 20;
/// How much is read at once.
const AT_ONCE: usize = 64 << 10;

/// The lines of a log, none of which is taken into memory beyond a bound, however long it is.
pub(super) struct Lines {
    reader: BufReader<File>,
    kept: Vec<u8>,
    hasher: Option<Hasher>,
}

/// One line, without its line feed.
pub(super) struct LogLine<'a> {
    /// What it says; `None` where it is too long to be one of ours.
    pub(super) bytes: Option<&'a [u8]>,
    /// How many bytes it has.
    pub(super) length: u64,
    /// The hash of its bytes; only of lines that were asked for with hashes.
    pub(super) hash: Option<Hash>,
    /// Whether a line feed ends it: the last one may still be being written, or be cut short.
    pub(super) is_ended: bool,
}

impl Lines {
    pub(super) fn new(file: File) -> Self {
        Self {
            reader: BufReader::with_capacity(AT_ONCE, file),
            kept: Vec::new(),
            hasher: None,
        }
    }

    pub(super) fn with_hashes(file: File) -> Self {
        Self {
            hasher: Some(Hasher::new()),
            ..Self::new(file)
        }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Option<LogLine<'_>>> {
        self.kept.clear();
        let mut length = 0;
        let mut is_ended = false;
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
            length += piece.len();
            if let Some(hasher) = &mut self.hasher {
                hasher.update(piece);
            }
            if length <= LONGEST_LINE {
                self.kept.extend_from_slice(piece);
            } else {
                self.kept = Vec::new();
            }
            let used = piece.len() + usize::from(is_ended);
            self.reader.consume(used);
        }
        if length == 0 && !is_ended {
            return Ok(None);
        }
        let hash = self.hasher.as_mut().map(|hasher| {
            let hash = hasher.finalize();
            hasher.reset();
            hash
        });
        Ok(Some(LogLine {
            bytes: (length <= LONGEST_LINE).then_some(&self.kept),
            length: length as u64,
            hash,
            is_ended,
        }))
    }
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
        file.set_len(6 + (LONGEST_LINE as u64) * 4).unwrap();
        file.seek(io::SeekFrom::End(0)).unwrap();
        file.write_all(b"\nlast").unwrap();
        file.rewind().unwrap();
        let mut lines = Lines::with_hashes(file);
        let first = lines.next_line().unwrap().unwrap();
        assert_eq!(first.bytes, Some(b"first".as_slice()));
        assert_eq!(first.hash, Some(blake3::hash(b"first")));
        let hole = lines.next_line().unwrap().unwrap();
        assert!(hole.bytes.is_none() && hole.is_ended && hole.hash.is_some());
        assert_eq!(lines.kept.capacity(), 0);
        let last = lines.next_line().unwrap().unwrap();
        assert_eq!(last.bytes, Some(b"last".as_slice()));
        assert!(!last.is_ended);
        assert_eq!(last.hash, Some(blake3::hash(b"last")));
        assert!(lines.next_line().unwrap().is_none());
    }
}
