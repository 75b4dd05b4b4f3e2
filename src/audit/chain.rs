//! The chain of hashes through the log, and the note of where it ends.
//!
//! Each line carries the hash of the line before it, as written and without its line feed. A
//! change, a removal or an addition shows at the line that follows. What the lines cannot show is
//! that the last ones are gone, so a small file beside the log, its head, notes the last line. It
//! is written after the lines are on disk and may lag behind them, never run ahead. It is made before
//! the first line: a log of chained lines without a head has lost it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use blake3::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::files;

/// What the first line of all refers to.
pub(super) const BEGINNING: Hash = Hash::from_bytes([0; 32]);
/// A head of more than this is none of ours.
const LARGEST_HEAD: u64 = 4 << 20;
const STEP: usize = 16 << 10;

/// Where a file ended, and with which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileEnd {
    pub(super) bytes: u64,
    pub(super) last: Hash,
    /// All lines up to there.
    pub(super) lines: u64,
}

/// What is known of the log beside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The parts that were put aside and are kept, oldest first.
    #[serde(default)]
    pub(super) parts: Vec<LogPart>,
    /// The newest part that was removed to keep within bounds: the chain begins behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) removed: Option<LogPart>,
    /// Lines of the log itself.
    pub(super) lines: u64,
    /// Length of these lines in bytes.
    pub(super) bytes: u64,
    /// The hash of the last of them; where there are none, of the last line put aside.
    #[serde(with = "hex")]
    pub(super) last: Hash,
    /// The lines are those that were found when what was noted before was not there any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_recounted: bool,
}

/// A part that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogPart {
    /// Name of its file.
    pub(super) name: String,
    /// How many lines it had.
    pub(super) lines: u64,
    /// The hash of the last.
    #[serde(with = "hex")]
    pub(super) last: Hash,
}

impl Head {
    /// The chain of a log of which only the lines themselves are known, no notes about them.
    pub(super) fn of_lines_found() -> Self {
        Self {
            parts: Vec::new(),
            removed: None,
            lines: 0,
            bytes: 0,
            last: BEGINNING,
            is_recounted: true,
        }
    }

    /// `None` where there is none that can be read.
    pub(super) fn read(log: &Path) -> Option<Self> {
        let file = files::open_unlinked(&Self::path(log)).ok()?;
        serde_json::from_slice(&files::read_all(&file, LARGEST_HEAD).ok()?).ok()
    }

    /// Says no to a file in the head's place that is neither a head nor what is left of one: it is
    /// the user's, and would be replaced.
    pub(super) fn refuse_foreign(log: &Path) -> io::Result<()> {
        let path = Self::path(log);
        let why = match files::open_unlinked(&path) {
            Err(error) if error.is_missing() => return Ok(()),
            Err(error) => error.to_string(),
            Ok(file) => match files::read_all(&file, LARGEST_HEAD) {
                Ok(bytes) if is_head(&bytes) => return Ok(()),
                Ok(_) => "it is no head of an audit log; nothing was changed".to_owned(),
                Err(error) => error.to_string(),
            },
        };
        let line = format!("its end is noted in {}: {why}", path.display());
        Err(io::Error::new(io::ErrorKind::InvalidInput, line))
    }

    pub(super) fn write(&self, log: &Path) -> io::Result<()> {
        Self::refuse_foreign(log)?;
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        files::write_atomic(&Self::path(log), &bytes)
    }

    pub(super) fn path(log: &Path) -> PathBuf {
        let mut name = log.file_name().unwrap_or_default().to_owned();
        name.push(".head");
        log.with_file_name(name)
    }

    /// Takes note of a line further on.
    pub(super) fn advance(&mut self, file: &File, to: FileEnd) -> io::Result<()> {
        self.is_recounted |= !self.mark().holds(file)?;
        (self.lines, self.bytes, self.last) = (to.lines, to.bytes, to.last);
        Ok(())
    }

    pub(super) fn mark(&self) -> FileEnd {
        FileEnd {
            bytes: self.bytes,
            last: self.last,
            lines: self.lines,
        }
    }
}

impl FileEnd {
    /// Whether the line that is noted ends where it is noted. Nothing is known of an empty file.
    pub(super) fn holds(self, file: &File) -> io::Result<bool> {
        if self.bytes == 0 {
            return Ok(true);
        }
        if self.bytes > file.metadata()?.len() {
            return Ok(false);
        }
        Ok(line_before(file, self.bytes)? == (self.last, true))
    }
}

/// Whether a file that holds this may be replaced by a head. Some file systems leave zeros of what a
/// power cut kept from being written.
fn is_head(bytes: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"parts\":[";
    let written = bytes.iter().rposition(|byte| *byte != 0);
    let bytes = &bytes[..written.map_or(0, |last| last + 1)];
    match serde_json::from_slice::<Head>(bytes) {
        Ok(_) => true,
        Err(error) if error.is_eof() => {
            bytes.starts_with(BEGINNING) || BEGINNING.starts_with(bytes)
        }
        Err(_) => false,
    }
}

/// The hash of the last line of the first `end` bytes, and whether a line feed ends it.
pub(super) fn line_before(file: &File, end: u64) -> io::Result<(Hash, bool)> {
    let mut piece = vec![0; STEP];
    read_at(file, end - 1, &mut piece[..1])?;
    let is_ended = piece[0] == b'\n';
    let last = end - u64::from(is_ended);
    let mut begin = last;
    while begin > 0 {
        let size = begin.min(STEP as u64);
        let piece = &mut piece[..size as usize];
        read_at(file, begin - size, piece)?;
        if let Some(at) = memchr::memrchr(b'\n', piece) {
            begin = begin - size + at as u64 + 1;
            break;
        }
        begin -= size;
    }
    let mut hasher = blake3::Hasher::new();
    while begin < last {
        let size = (last - begin).min(STEP as u64);
        let piece = &mut piece[..size as usize];
        read_at(file, begin, piece)?;
        hasher.update(piece);
        begin += size;
    }
    Ok((hasher.finalize(), is_ended))
}

/// How many lines end within the first `end` bytes.
pub(super) fn line_feeds(file: &File, end: u64) -> io::Result<u64> {
    let mut piece = vec![0; STEP];
    let (mut at, mut lines) = (0, 0);
    while at < end {
        let size = (end - at).min(STEP as u64);
        let piece = &mut piece[..size as usize];
        read_at(file, at, piece)?;
        lines += memchr::memchr_iter(b'\n', piece).count() as u64;
        at += size;
    }
    Ok(lines)
}

fn read_at(mut file: &File, at: u64, into: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(into)
}

pub(super) mod hex {
    use super::{Deserialize, Deserializer, Hash, Serializer};

    pub(crate) fn serialize<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(hash.to_hex().as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Hash, D::Error> {
        let text = String::deserialize(from)?;
        Hash::from_hex(text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_line_before_is_found_from_the_end() {
        let mut file = tempfile::tempfile().unwrap();
        let long = "x".repeat(3 * STEP);
        let text = format!("one\n{long}\n\ntorn");
        file.write_all(text.as_bytes()).unwrap();
        let hash = |line: &str| blake3::hash(line.as_bytes());
        let end = text.len() as u64;
        assert_eq!(line_before(&file, end).unwrap(), (hash("torn"), false));
        assert_eq!(line_before(&file, end - 4).unwrap(), (hash(""), true));
        assert_eq!(line_before(&file, end - 5).unwrap(), (hash(&long), true));
        assert_eq!(line_before(&file, 4).unwrap(), (hash("one"), true));
        assert_eq!(line_feeds(&file, end).unwrap(), 3);
        assert_eq!(line_feeds(&file, 4).unwrap(), 1);
    }
}
