//! What the index knows about each document.
//!
//! A manifest belongs to one commit of the lexical index: it is written under a new generation
//! number first, the commit names that number in its payload, and only then does it count. A kill
//! at any moment leaves either the old pair or the new pair.
//!
//! It is read at every start, so it is compact: numbers and strings one after another, behind a
//! sum that tells a broken file. References stay as they are written until somebody asks.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::KbError;
use super::links::Link;
use super::store::ChunkKey;
use super::walk::Stamp;
use crate::domain::LineRange;

/// One document of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its file, as evidence names it.
    pub source: String,
    /// Its first heading, or the file's name.
    pub title: String,
    /// BLAKE3 of what was read from it.
    pub hash: [u8; 32],
    /// The file when it was read.
    pub(super) stamp: Stamp,
    /// Whether the file was old enough when it was read that a later change shows in the stamp.
    pub(super) settled: bool,
    /// Names its rows in the lexical index; never used twice.
    pub(super) number: u32,
    /// Its chunks, in order.
    pub(super) chunks: Vec<ChunkEntry>,
    /// The references it makes, as JSON.
    pub(super) links: Box<[u8]>,
}

impl Document {
    /// The references it makes.
    pub fn links(&self) -> Vec<Link> {
        serde_json::from_slice(&self.links).unwrap_or_default()
    }
}

/// What the manifest knows about a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkEntry {
    /// Names its vector.
    pub key: ChunkKey,
    /// Where in the file.
    pub lines: LineRange,
}

/// The documents of one commit, ordered by `source`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Manifest {
    pub documents: Vec<Document>,
    /// The number that the next document gets.
    pub next_number: u32,
}

impl Manifest {
    /// Of that generation; `None` when it is missing or broken, which calls for a rebuild. That
    /// the system refuses to read it does not.
    pub fn load(dir: &Path, generation: u64) -> Result<Option<Self>, KbError> {
        let path = path(dir, generation);
        match fs::read(&path) {
            Ok(bytes) => Ok(decode(&bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(KbError::io(&path)(error)),
        }
    }

    /// The number of what is written next. It is taken from the clock, so that an index that was
    /// thrown away and made anew never repeats a number that some reader knows.
    pub fn next_generation(generation: u64) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as u64);
        now.max(generation + 1)
    }

    /// Writes it under that generation, whole or not at all.
    pub fn save(&self, dir: &Path, generation: u64) -> Result<(), KbError> {
        let goal = path(dir, generation);
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(&encode(self))?;
            file.as_file().sync_all()?;
            file.persist(&goal).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(KbError::io(&goal))
    }

    /// Removes all generations but this one, and what a kill left of others. What cannot be
    /// removed now is removed next time.
    pub fn tidy(dir: &Path, keep: u64) {
        let kept = path(dir, keep);
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_manifest = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
            if (is_manifest && entry.path() != kept) || name.starts_with(".tmp") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

const PREFIX: &str = "documents-";
const SUFFIX: &str = ".bin";
const MAGIC: &[u8; 8] = b"KBDOC001";
/// Magic and sum.
const HEADER: usize = 16;

fn path(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("{PREFIX}{generation}{SUFFIX}"))
}

fn encode(manifest: &Manifest) -> Vec<u8> {
    let mut out = Vec::with_capacity(manifest.documents.len() * 256 + HEADER);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[0; 8]);
    number(&mut out, manifest.next_number);
    number(&mut out, manifest.documents.len() as u32);
    for document in &manifest.documents {
        for text in [
            document.source.as_bytes(),
            document.title.as_bytes(),
            &document.links,
        ] {
            number(&mut out, text.len() as u32);
            out.extend_from_slice(text);
        }
        out.extend_from_slice(&document.hash);
        let stamp = document.stamp;
        for part in [stamp.size, stamp.modified, stamp.changed, stamp.inode] {
            out.extend_from_slice(&part.to_le_bytes());
        }
        out.push(u8::from(document.settled));
        number(&mut out, document.number);
        number(&mut out, document.chunks.len() as u32);
        for chunk in &document.chunks {
            out.extend_from_slice(&chunk.key.0);
            number(&mut out, chunk.lines.start as u32);
            number(&mut out, chunk.lines.end as u32);
        }
    }
    let sum = sum(&out[HEADER..]);
    out[MAGIC.len()..HEADER].copy_from_slice(&sum.to_le_bytes());
    out
}

fn number(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// `None` when anything about it is wrong.
fn decode(bytes: &[u8]) -> Option<Manifest> {
    let body = bytes.get(HEADER..)?;
    let stated = u64::from_le_bytes(bytes[MAGIC.len()..HEADER].try_into().ok()?);
    if !bytes.starts_with(MAGIC) || stated != sum(body) {
        return None;
    }
    let mut rest = Rest(body);
    let next_number = rest.number()?;
    let count = rest.number()? as usize;
    let mut documents = Vec::with_capacity(count.min(body.len()));
    for _ in 0..count {
        documents.push(rest.document()?);
    }
    Some(Manifest {
        documents,
        next_number,
    })
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    fn blob(&mut self) -> Option<&'a [u8]> {
        let len = self.number()? as usize;
        self.bytes(len)
    }

    fn text(&mut self) -> Option<String> {
        Some(str::from_utf8(self.blob()?).ok()?.to_owned())
    }

    fn document(&mut self) -> Option<Document> {
        Some(Document {
            source: self.text()?,
            title: self.text()?,
            links: self.blob()?.into(),
            hash: self.array()?,
            stamp: Stamp {
                size: self.long()?,
                modified: self.long()?,
                changed: self.long()?,
                inode: self.long()?,
            },
            settled: self.array::<1>()? == [1],
            number: self.number()?,
            chunks: self.chunks()?,
        })
    }

    fn chunks(&mut self) -> Option<Vec<ChunkEntry>> {
        const ENTRY: usize = ChunkKey::BYTES + 8;
        let count = self.number()? as usize;
        let mut entries = Rest(self.bytes(count.checked_mul(ENTRY)?)?);
        (0..count)
            .map(|_| {
                Some(ChunkEntry {
                    key: ChunkKey(entries.array()?),
                    lines: LineRange {
                        start: entries.number()? as usize,
                        end: entries.number()? as usize,
                    },
                })
            })
            .collect()
    }
}

/// Tells a broken file from a whole one, in a fraction of the time that a hash takes.
fn sum(bytes: &[u8]) -> u64 {
    let mut sum = bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        sum = (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        sum ^= sum >> 29;
    }
    for byte in words.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        sum ^= sum >> 29;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::links;

    fn manifest() -> Manifest {
        let document = |n: usize| Document {
            source: format!("folder/ü{n}.md"),
            title: "Titel".repeat(n),
            hash: [n as u8; 32],
            stamp: Stamp {
                size: n as u64,
                modified: u64::MAX,
                changed: 5,
                inode: 6,
            },
            settled: n.is_multiple_of(2),
            number: n as u32 + 7,
            chunks: (0..n)
                .map(|at| ChunkEntry {
                    key: ChunkKey::of("", &format!("{n} {at}")),
                    lines: LineRange {
                        start: at + 1,
                        end: at + 3,
                    },
                })
                .collect(),
            links: serde_json::to_vec(&links::links("a.md", "see [[Other]] and PROJ-1"))
                .unwrap()
                .into(),
        };
        Manifest {
            documents: (0..5).map(document).collect(),
            next_number: 99,
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_broken_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = manifest();
        manifest.save(dir.path(), 7).unwrap();
        let loaded = Manifest::load(dir.path(), 7).unwrap();
        assert_eq!(loaded.as_ref(), Some(&manifest));
        assert_eq!(loaded.unwrap().documents[1].links().len(), 2);
        assert_eq!(Manifest::load(dir.path(), 8).unwrap(), None);
        let bytes = encode(&manifest);
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0x10;
            assert_eq!(decode(&broken), None, "broken at {at}");
        }
    }
}
