//! The documents of one commit, which of their chunks say the same, and the journal of what each commit
//! changes about them.
//!
//! A commit shares what it did not change with the one before, so that one saved file among a
//! hundred thousand costs a handful of steps and searches go on over what they began with.
//!
//! A commit writes what it changes behind what is there, as one record: postcard behind its length and a
//! checksum that tells a broken one. A journal whose entries are mostly overtaken is written anew under
//! another number. The commit of the lexical index names the journal and how much of it counts; what a
//! kill left behind that does not. So a kill at any moment leaves the old documents or the new ones, and
//! a commit costs what it changes.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, OrdMap};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::domain::LineRange;
use crate::files::{self, Unreadable};
use crate::kb::error::KbError;
use crate::kb::index::port::{ChunkId, ChunkKey, Document, KeyHash, Result};
use crate::kb::links::Link;

/// One document as this engine keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredDocument {
    /// The document as the rest of the program sees it.
    pub document: Arc<Document>,
    /// The number of its rows in the lexical index; never used twice.
    pub number: u32,
    /// Its chunks, in order.
    pub chunks: Vec<ChunkEntry>,
    /// The references it makes, as JSON.
    pub links: Box<str>,
}

impl StoredDocument {
    /// The references it makes.
    pub fn links(&self) -> Vec<Link> {
        serde_json::from_str(&self.links).unwrap_or_default()
    }

    /// Its chunks with their keys.
    pub fn keys(&self) -> impl Iterator<Item = (ChunkId, ChunkKey)> {
        let chunks = (0_u32..).zip(&self.chunks);
        chunks.map(|(at, entry)| (ChunkId::new(self.number, at), entry.key))
    }

    /// How many of its chunks are found by their words only.
    fn words_only(&self) -> usize {
        let keys = self.keys().filter(|(_, key)| *key == ChunkKey::WORDS_ONLY);
        keys.count()
    }
}

/// The stored properties of a chunk, besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChunkEntry {
    /// The key of its vector.
    pub key: ChunkKey,
    /// Where in the file.
    pub lines: LineRange,
}

type ByNumber = GenericHashMap<u32, Arc<StoredDocument>, FxBuildHasher, DefaultSharedPtr>;

/// All documents of one commit, ordered by name; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Documents {
    by_name: OrdMap<String, Arc<StoredDocument>>,
    by_number: ByNumber,
    /// The number that the next document gets.
    pub next_number: u32,
    /// How many removals the journal records; none when it has just been written anew.
    pub removals: usize,
    /// The number of chunks of all documents.
    pub chunks: usize,
    /// The number of chunks that are found by their words only.
    pub words_only: usize,
}

impl Documents {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Iterates over the documents in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<StoredDocument>> {
        self.by_name.values()
    }

    /// The document of that name.
    pub fn get(&self, source: &str) -> Option<&Arc<StoredDocument>> {
        self.by_name.get(source)
    }

    /// A chunk's document and its place there.
    pub fn place_of(&self, chunk: ChunkId) -> Option<(&StoredDocument, usize)> {
        let document = self.by_number.get(&chunk.document())?;
        let at = chunk.ordinal() as usize;
        (at < document.chunks.len()).then_some((document, at))
    }

    /// The documents whose name comes after `source`, in order; all where that is `None`.
    pub fn after_name(&self, source: Option<&str>) -> impl Iterator<Item = &Arc<StoredDocument>> {
        let from = source.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.by_name.range::<_, str>((from, Bound::Unbounded));
        rest.map(|(_, document)| document)
    }

    /// Whether documents lie in a folder of that name.
    pub fn lie_in(&self, folder: &str) -> bool {
        let within = format!("{folder}/");
        let from = (Bound::Included(within.as_str()), Bound::Unbounded);
        let mut rest = self.by_name.range::<_, str>(from);
        rest.next()
            .is_some_and(|(name, _)| name.starts_with(&within))
    }

    /// Inserts a document; returns the one of the same name that it replaces.
    pub fn insert(&mut self, document: Arc<StoredDocument>) -> Option<Arc<StoredDocument>> {
        let before = self.remove(&document.document.source);
        self.chunks += document.chunks.len();
        self.words_only += document.words_only();
        self.by_number
            .insert(document.number, Arc::clone(&document));
        self.by_name
            .insert(document.document.source.clone(), document);
        before
    }

    /// Removes the document of that name and returns it.
    pub fn remove(&mut self, source: &str) -> Option<Arc<StoredDocument>> {
        let gone = self.by_name.remove(source)?;
        self.by_number.remove(&gone.number);
        self.chunks -= gone.chunks.len();
        self.words_only -= gone.words_only();
        Some(gone)
    }
}

/// A document before and after a commit.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub before: Option<Arc<StoredDocument>>,
    pub after: Option<Arc<StoredDocument>>,
}

impl Change {
    /// The keys of what the document says and of what it said.
    pub fn keys(&self) -> impl Iterator<Item = ChunkKey> {
        let documents = self.before.iter().chain(&self.after);
        documents.flat_map(|document| document.chunks.iter().map(|chunk| chunk.key))
    }
}

/// The chunks of each text, by the key of the text. Documents that repeat each other share a vector; chunks
/// that are found by their words only are not here. Made when first needed, and from then on follows each
/// commit by what it changes.
#[derive(Clone, Default)]
pub(crate) struct ChunksByKey(GenericHashMap<ChunkKey, Vec<ChunkId>, KeyHash, DefaultSharedPtr>);

impl ChunksByKey {
    /// Collects the chunks of all documents.
    pub fn new(documents: &Documents) -> Self {
        let mut all = Self::default();
        documents.iter().for_each(|document| all.add(document));
        all
    }

    /// Returns a copy with these changes applied.
    pub fn with_changes(&self, changes: &[Change]) -> Self {
        let mut all = self.clone();
        for change in changes {
            change.before.iter().for_each(|before| all.drop(before));
            change.after.iter().for_each(|after| all.add(after));
        }
        all
    }

    /// The chunks with this key.
    pub fn chunks(&self, key: &ChunkKey) -> &[ChunkId] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// The texts, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &ChunkKey> {
        self.0.keys()
    }

    /// How many texts there are, each counted once.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn add(&mut self, document: &StoredDocument) {
        for (chunk, key) in document.keys() {
            if key != ChunkKey::WORDS_ONLY {
                self.0.entry(key).or_default().push(chunk);
            }
        }
    }

    fn drop(&mut self, document: &StoredDocument) {
        for (chunk, key) in document.keys() {
            let Some(held) = self.0.get_mut(&key) else {
                continue;
            };
            held.retain(|held| *held != chunk);
            if held.is_empty() {
                self.0.remove(&key);
            }
        }
    }
}

/// A journal, and how much of it belongs to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct JournalMark {
    /// The number in its file name; 0 while there is none.
    pub number: u64,
    /// The number of bytes that count.
    pub len: u64,
    /// The number of entries in it.
    pub entries: usize,
}

/// What records say: documents that are new or have changed, and names that are gone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Entries {
    pub list: Vec<Entry>,
    /// The number that the next document gets.
    pub next_number: u32,
}

/// One change of the documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Entry {
    Put(Arc<StoredDocument>),
    Gone(String),
}

impl JournalMark {
    /// Whether so much of it has been overtaken that it should be written anew.
    pub fn is_mostly_overtaken(&self, documents: usize) -> bool {
        const TOLERATED: usize = 1024;
        self.entries > 2 * documents + TOLERATED
    }

    /// Reads the entries of the commit behind `from`. `None` when the file is missing or broken, which
    /// calls for a rebuild. A failure of the system is an error, which does not.
    pub fn read(&self, dir: &Path, from: u64) -> Result<Option<Entries>> {
        if self.number == 0 {
            return Ok(Some(Entries::default()));
        }
        let path = path(dir, self.number);
        let read = || -> Result<Vec<u8>, Unreadable> {
            let mut file = files::open_unlinked(&path)?;
            file.seek(SeekFrom::Start(from))?;
            let belongs = self.len.saturating_sub(from);
            let stands = file.metadata()?.len().saturating_sub(from);
            let mut bytes = Vec::new();
            // A damaged length may ask for more memory than there is.
            bytes
                .try_reserve_exact(belongs.min(stands) as usize)
                .map_err(io::Error::from)?;
            file.take(belongs).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) if bytes.len() as u64 == self.len.saturating_sub(from) => {
                let records = match from {
                    0 => bytes.strip_prefix(MAGIC),
                    _ => Some(bytes.as_slice()),
                };
                Ok(records.and_then(decode))
            }
            Ok(_) => Ok(None),
            // A pipe is none of ours; a folder may hold foreign files.
            Err(Unreadable::NotRegular) if !path.is_dir() => Ok(None),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(KbError::io(&path)(error.into())),
        }
    }

    /// Writes these behind what belongs to the commit, over whatever a kill has left there.
    pub fn append(&self, dir: &Path, entries: &Entries) -> Result<Self> {
        let path = path(dir, self.number);
        let records = encode(entries).map_err(KbError::io(&path))?;
        let write = || -> io::Result<()> {
            let mut file = files::open_to_write(&path)?;
            file.set_len(self.len)?;
            file.seek(SeekFrom::Start(self.len))?;
            file.write_all(&records)?;
            file.sync_data()
        };
        write().map_err(KbError::io(&path))?;
        Ok(Self {
            number: self.number,
            len: self.len + records.len() as u64,
            entries: self.entries + entries.list.len(),
        })
    }

    /// Writes a journal of that number that says only this, whole or not at all.
    pub fn write_anew(dir: &Path, number: u64, entries: &Entries) -> Result<Self> {
        let goal = path(dir, number);
        let records = encode(entries).map_err(KbError::io(&goal))?;
        let written = files::write_atomic_by(&goal, |file| {
            file.write_all(MAGIC)?;
            file.write_all(&records)
        });
        written.map_err(KbError::io(&goal))?;
        Ok(Self {
            number,
            len: (MAGIC.len() + records.len()) as u64,
            entries: entries.list.len(),
        })
    }

    /// The number of what is written next. It is taken from the clock, so that an index that was
    /// thrown away and made anew never repeats a number that some reader knows.
    pub fn next_generation(last: u64) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as u64);
        now.max(last + 1)
    }

    /// Removes all others, and what a kill left of one in the making. What cannot be removed now
    /// is removed next time.
    pub fn tidy(&self, dir: &Path) {
        let kept = path(dir, self.number);
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if (is_journal(&name) && entry.path() != kept) || files::is_unfinished(&name) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Entries {
    /// Applies them, in their order; says what became of which document.
    pub fn apply(self, documents: &mut Documents) -> Vec<Change> {
        documents.next_number = documents.next_number.max(self.next_number);
        let applied = self.list.into_iter().map(|entry| match entry {
            Entry::Put(document) => Change {
                before: documents.insert(Arc::clone(&document)),
                after: Some(document),
            },
            Entry::Gone(source) => {
                let (before, after) = (documents.remove(&source), None);
                // A document that one batch put and removed was never there.
                documents.removals += usize::from(before.is_some());
                Change { before, after }
            }
        });
        applied.collect()
    }
}

const PREFIX: &str = "documents-";
const SUFFIX: &str = ".bin";
const MAGIC: &[u8] = b"KBDOC005";
/// The bytes of a record's length and checksum.
const HEADER: usize = 8;

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{PREFIX}{number}{SUFFIX}"))
}

/// Whether a file of that name is a journal, and no other file.
pub(crate) fn is_journal(name: &str) -> bool {
    let number = name.strip_prefix(PREFIX);
    let number = number.and_then(|rest| rest.strip_suffix(SUFFIX));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Encodes entries as one record.
fn encode(entries: &Entries) -> io::Result<Vec<u8>> {
    let body = postcard::to_extend(entries, vec![0; HEADER]);
    let mut record = body.map_err(io::Error::other)?;
    let len = u32::try_from(record.len() - HEADER).map_err(io::Error::other)?;
    let sum = crc32fast::hash(&record[HEADER..]);
    record[..4].copy_from_slice(&len.to_le_bytes());
    record[4..HEADER].copy_from_slice(&sum.to_le_bytes());
    Ok(record)
}

/// The entries of all of these records; `None` when anything about one is wrong.
fn decode(mut records: &[u8]) -> Option<Entries> {
    let mut all = Entries::default();
    while !records.is_empty() {
        let (len, rest) = records.split_first_chunk()?;
        let (sum, rest) = rest.split_first_chunk()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        let (body, rest) = rest.split_at_checked(len)?;
        if u32::from_le_bytes(*sum) != crc32fast::hash(body) {
            return None;
        }
        let entries: Entries = postcard::from_bytes(body).ok()?;
        all.next_number = entries.next_number;
        all.list.extend(entries.list);
        records = rest;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::domain::Day;
    use crate::kb::index::port::{DocumentMetadata, LocalStamp};
    use crate::kb::links;
    use crate::kb::source::Stamp;

    fn entries() -> Entries {
        let document = |n: usize| {
            let chunks: Vec<ChunkEntry> = (0..n)
                .map(|at| ChunkEntry {
                    key: ChunkKey::from_text("", &format!("{n} {at}")),
                    lines: LineRange {
                        start: at + 1,
                        end: at + 3,
                    },
                })
                .collect();
            let stamp = Stamp {
                size: n as u64,
                modified: u64::MAX,
                changed: 5,
                inode: 6,
            };
            let links = links::links(
                "a.md",
                "see [[Other]] and PROJ-1",
                &CancellationToken::new(),
            );
            StoredDocument {
                document: Arc::new(Document {
                    source: format!("folder/ü{n}.md"),
                    title: "Titel".repeat(n),
                    hash: [n as u8; 32],
                    bytes: stamp.size,
                    modified: stamp.modified,
                    chunks: n,
                    metadata: DocumentMetadata {
                        day: n.is_multiple_of(2).then(|| Day::from_number(20_260_112)),
                        tags: vec!["ü".to_owned(); n],
                    },
                    stamp: Some(LocalStamp {
                        stamp,
                        mtime_is_reliable: n.is_multiple_of(2),
                    }),
                }),
                number: n as u32 + 7,
                chunks,
                links: serde_json::to_string(&links).unwrap().into(),
            }
        };
        let mut list: Vec<Entry> = (0..5).map(|n| Entry::Put(Arc::new(document(n)))).collect();
        list.push(Entry::Gone("folder/ü2.md".to_owned()));
        Entries {
            list,
            next_number: 99,
        }
    }

    #[test]
    fn removals_are_counted_until_the_journal_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let removals = |journal: &JournalMark| {
            let mut documents = Documents::default();
            let entries = journal.read(dir.path(), 0).unwrap().unwrap();
            entries.apply(&mut documents);
            (documents.len(), documents.removals)
        };
        let first = JournalMark::write_anew(dir.path(), 7, &entries()).unwrap();
        assert_eq!(removals(&first), (4, 1));
        let gone = ["folder/ü1.md", "folder/ü1.md", "never.md"];
        let gone = Entries {
            list: gone.map(|name| Entry::Gone(name.to_owned())).to_vec(),
            next_number: 99,
        };
        let second = first.append(dir.path(), &gone).unwrap();
        assert_eq!(removals(&second), (3, 2), "each is counted once");
        let mut left = entries();
        left.list.retain(|entry| matches!(entry, Entry::Put(_)));
        let anew = JournalMark::write_anew(dir.path(), 8, &left).unwrap();
        assert_eq!(removals(&anew), (5, 0));
    }

    #[test]
    fn what_is_written_is_read_and_what_is_broken_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let entries = entries();
        let journal = JournalMark::write_anew(dir.path(), 7, &entries).unwrap();
        assert_eq!(
            journal.read(dir.path(), 0).unwrap().as_ref(),
            Some(&entries)
        );
        let other = JournalMark {
            number: 8,
            ..journal
        };
        assert_eq!(other.read(dir.path(), 0).unwrap(), None);
        let mut documents = Documents::default();
        entries.clone().apply(&mut documents);
        assert_eq!((documents.len(), documents.chunks), (4, 1 + 3 + 4));
        assert_eq!(documents.get("folder/ü1.md").unwrap().links().len(), 2);
        assert!(documents.lie_in("folder") && !documents.lie_in("fold"));
        let record = encode(&entries).unwrap();
        for cut in 1..record.len() {
            assert_eq!(decode(&record[..cut]), None, "cut at {cut}");
        }
        for at in 0..record.len() {
            let mut broken = record.clone();
            broken[at] ^= 0x10;
            assert_eq!(decode(&broken), None, "broken at {at}");
        }
    }

    #[test]
    fn several_records_are_read_as_they_were_written() {
        let entries = |n: usize| Entries {
            list: (0..n).map(|n| Entry::Gone(format!("{n}.md"))).collect(),
            next_number: n as u32,
        };
        for n in [0, 1, 5000] {
            let mut records = encode(&entries(n)).unwrap();
            assert_eq!(decode(&records), Some(entries(n)));
            records.extend(encode(&entries(1)).unwrap());
            let all = decode(&records).unwrap();
            assert_eq!((all.list.len(), all.next_number), (n + 1, 1));
            let middle = records.len() / 2;
            records[middle] ^= 1;
            assert_eq!(decode(&records), None);
        }
    }

    #[test]
    fn a_journal_grows_by_what_changed_and_over_what_a_kill_left() {
        let dir = tempfile::tempdir().unwrap();
        let first = JournalMark::write_anew(dir.path(), 7, &entries()).unwrap();
        let gone = |source: &str| Entries {
            list: vec![Entry::Gone(source.to_owned())],
            next_number: 100,
        };
        let killed = first
            .append(dir.path(), &gone("a name that is long"))
            .unwrap();
        let second = first.append(dir.path(), &gone("folder/ü1.md")).unwrap();
        assert!(second.len < killed.len && second.len - first.len < 100);
        let tail = second.read(dir.path(), first.len).unwrap().unwrap();
        assert_eq!(tail, gone("folder/ü1.md"));
        let all = second.read(dir.path(), 0).unwrap().unwrap();
        assert_eq!((all.list.len(), all.next_number), (7, 100));
        // Who still reads the commit before finds it as it was.
        assert_eq!(first.read(dir.path(), 0).unwrap(), Some(entries()));
        assert_eq!(second.entries, 7);
        assert!(!second.is_mostly_overtaken(5));
        second.tidy(dir.path());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
