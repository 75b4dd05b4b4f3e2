//! The head: a small file beside the log that notes where its chain of hashes ends.
//!
//! Each line carries the hash of the line before it, as written and without its line feed. A
//! change, a removal or an addition shows at the line that follows. What the lines cannot show is
//! that the last ones are gone, so the head notes the last line. It is written after the lines are
//! on disk and may lag behind them, never run ahead.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use blake3::{Hash, Hasher};
use serde::{Deserialize, Serialize};

use crate::files;

use super::file::path_beside;
use super::lines::without_zeros;

/// What the first line of all refers to.
pub(super) const BEGINNING: Hash = Hash::from_bytes([0; 32]);
/// A head of more than this is none of ours.
const LARGEST_HEAD: u64 = 4 << 20;
/// How much is read at once, backwards.
const STEP: u64 = 16 << 10;

/// Where a file ended, and with which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEnd {
    /// All lines up to there.
    pub(super) lines: u64,
    /// Length of these lines.
    pub(super) bytes: u64,
    /// The hash of the last of them; where there are none, of the last line put aside.
    #[serde(with = "hex")]
    pub(super) last: Hash,
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
    /// The end of the log itself.
    #[serde(flatten)]
    pub(super) end: FileEnd,
}

/// A part that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogPart {
    /// Name of its file.
    pub(super) name: String,
    /// How many lines it had; 0 for a removed one of which no head told.
    pub(super) lines: u64,
    /// The hash of the last.
    #[serde(with = "hex")]
    pub(super) last: Hash,
}

impl Head {
    /// The head of a log without lines, whose first one is to refer to `last`.
    pub(super) fn without_lines(last: Hash) -> Self {
        Self {
            parts: Vec::new(),
            removed: None,
            end: FileEnd::without_lines(last),
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
        let opened = files::open_unlinked(&path);
        let why = match opened.and_then(|file| files::read_all(&file, LARGEST_HEAD)) {
            Err(error) if error.is_missing() => return Ok(()),
            Ok(bytes) if is_head(&bytes) => return Ok(()),
            Ok(_) => "it is no head of an audit log; nothing was changed".to_owned(),
            Err(error) => error.to_string(),
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
        path_beside(log, ".head")
    }
}

impl FileEnd {
    /// The end of a file without lines, whose first one is to refer to `last`.
    pub(super) fn without_lines(last: Hash) -> Self {
        Self {
            lines: 0,
            bytes: 0,
            last,
        }
    }

    /// Whether the line that is noted ends where it is noted. Nothing is known of an empty file.
    pub(super) fn is_still_in(self, file: &File) -> io::Result<bool> {
        Ok(self.bytes == 0
            || self.bytes <= file.metadata()?.len()
                && line_before(file, self.bytes)? == (self.last, true))
    }
}

/// Whether a file that holds this may be replaced by a head: it is one, or the beginning of one.
fn is_head(bytes: &[u8]) -> bool {
    const OPENING: &[u8] = b"{\"parts\":[";
    let bytes = without_zeros(bytes);
    match serde_json::from_slice::<Head>(bytes) {
        Ok(_) => true,
        Err(error) => error.is_eof() && (bytes.starts_with(OPENING) || OPENING.starts_with(bytes)),
    }
}

/// The hash of the last line of the first `end` bytes, and whether a line feed ends it.
pub(super) fn line_before(mut file: &File, end: u64) -> io::Result<(Hash, bool)> {
    let mut piece = vec![0; STEP as usize];
    read_at(file, end - 1, &mut piece[..1])?;
    let is_ended = piece[0] == b'\n';
    let last = end - u64::from(is_ended);
    let mut begin = last;
    while begin > 0 {
        let piece = &mut piece[..begin.min(STEP) as usize];
        begin -= piece.len() as u64;
        read_at(file, begin, piece)?;
        if let Some(at) = memchr::memrchr(b'\n', piece) {
            begin += at as u64 + 1;
            break;
        }
    }
    file.seek(SeekFrom::Start(begin))?;
    let mut hasher = Hasher::new();
    hasher.update_reader(file.take(last - begin))?;
    Ok((hasher.finalize(), is_ended))
}

fn read_at(mut file: &File, at: u64, into: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(into)
}

mod hex {
    use blake3::Hash;
    use serde::{Deserialize, Deserializer, Serializer};

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
        let long = "x".repeat(3 * STEP as usize);
        let text = format!("one\n{long}\n\ntorn");
        file.write_all(text.as_bytes()).unwrap();
        let hash = |line: &str| blake3::hash(line.as_bytes());
        let end = text.len() as u64;
        assert_eq!(line_before(&file, end).unwrap(), (hash("torn"), false));
        assert_eq!(line_before(&file, end - 4).unwrap(), (hash(""), true));
        assert_eq!(line_before(&file, end - 5).unwrap(), (hash(&long), true));
        assert_eq!(line_before(&file, 4).unwrap(), (hash("one"), true));
    }

    #[test]
    fn trust_a_head_keeps_its_format_and_those_of_earlier_versions_are_read() {
        let last = "ab".repeat(32);
        let part = format!(r#"{{"name":"audit.x.jsonl","lines":4,"last":"{last}"}}"#);
        let end = format!(r#""lines":7,"bytes":900,"last":"{last}""#);
        let written = format!(r#"{{"parts":[{part}],"removed":{part},{end}}}"#);
        let head: Head = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&head).unwrap(), written);
        assert_eq!((head.end.lines, head.end.bytes), (7, 900));
        let earlier = format!(r#"{{"parts":[],{end},"is_recounted":true}}"#);
        let earlier: Head = serde_json::from_str(&earlier).unwrap();
        assert_eq!((earlier.end, earlier.removed), (head.end, None));
        for end in 0..written.len() {
            assert!(is_head(&written.as_bytes()[..end]), "{end}");
        }
        for foreign in ["text", "[", "{\"parts\": 3}", "{\"theme\": \"da"] {
            assert!(!is_head(foreign.as_bytes()), "{foreign}");
        }
    }
}
