//! The lines of a log.

use std::io::{self, BufRead, BufReader, Read};

/// The longest line that is written, and that is read as a whole.
pub(super) const LONGEST_LINE: usize = 16 << 20;
/// How much is read at once.
const AT_ONCE: usize = 64 << 10;

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
