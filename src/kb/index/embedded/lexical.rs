//! The chunks by their words: BM25 over an on-disk index.
//!
//! The index also stores what the chunks say, so that what is shown is what was indexed even when
//! the file has changed since; where they are is the journal's to know. A row is named by its
//! chunk, which a search reads without touching what is stored. A commit is atomic, and its payload names
//! the journal that belongs to it.

mod directory;
mod search;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fs, io, panic, thread};

use serde::{Deserialize, Serialize};
use tantivy::directory::error::{LockError, OpenReadError};
use tantivy::directory::{Directory, META_LOCK, ManagedDirectory};
use tantivy::index::SegmentComponent;
use tantivy::indexer::{LogMergePolicy, UserOperation};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{
    Document, Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument,
    TantivyError, Term,
};

use super::documents::{JournalMark, is_journal};
use super::lock::patiently;
use crate::files::{create_private_dir, refuse_link};
use crate::kb::budget::Reservation;
use crate::kb::chunk::Chunk;
use crate::kb::error::KbError;
use crate::kb::index::port::{ChunkId, Result};
use crate::kb::index::tokens;
use directory::SafeDirectory;

pub(crate) use search::LexicalView;

const TOKENIZER: &str = "kb";
/// Each thread flushes a segment when it has filled this. Tantivy asks for at least 15 MB.
const BYTES_A_THREAD: usize = 48_000_000;
const MOST_THREADS: usize = 8;
/// A segment of which more than this share was removed is written anew without it.
const REMOVED_SHARE: f32 = 0.3;
/// The extensions of postings and texts, of which a search reads a few kilobytes.
const LONG: [&str; 2] = ["idx", "store"];
/// The files of a segment, by their extensions.
const COMPONENTS: [&str; 7] = ["idx", "pos", "fast", "fieldnorm", "term", "store", "del"];
/// Tantivy's files that are not of a segment.
const SINGLE: [&str; 4] = [
    "meta.json",
    ".managed.json",
    ".tantivy-writer.lock",
    ".tantivy-meta.lock",
];

/// The index on disk and a reader of it.
pub(crate) struct LexicalIndex {
    dir: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
}

/// What is stored with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Commit {
    /// Which commit it is; 0 before the first.
    pub generation: u64,
    /// The journal of the documents of this commit.
    pub journal: JournalMark,
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    /// The document's number, for removing and finding its rows.
    document: Field,
    /// Document and chunk.
    row: Field,
    /// Heading and text: two values, indexed as one and stored, each marked with its language.
    words: Field,
    /// The keys of its names.
    names: Field,
    place: Field,
}

impl LexicalIndex {
    /// Opens the index in `dir`; `None` when there is none yet.
    pub fn open(dir: &Path) -> Result<Option<Self>> {
        let meta = dir.join("meta.json");
        if !meta.try_exists().map_err(KbError::io(&meta))? {
            return Ok(None);
        }
        let open = || -> Result<Self> {
            let index = Index::open(SafeDirectory::open(dir, &LONG)?)?;
            if index.schema() != schema().0 {
                return Err(KbError::Damaged(
                    "its fields are of another version".to_owned(),
                ));
            }
            let opened = Self::with_index(dir, index)?;
            opened.has_its_files()?;
            Ok(opened)
        };
        // At files that are cut off within their last bytes tantivy panics.
        let opened = panic::catch_unwind(panic::AssertUnwindSafe(open))
            .unwrap_or_else(|_| Err(KbError::Damaged("its files are cut off".to_owned())));
        opened.map(Some).map_err(|error| error.with_dir(dir))
    }

    /// Makes an empty index in place of the one that `dir` holds. Only under the lock.
    pub fn create(dir: &Path) -> Result<Self> {
        clear(dir)?;
        create_private_dir(dir).map_err(KbError::io(dir))?;
        let create = || -> Result<Self> {
            let files = SafeDirectory::open(dir, &LONG)?;
            Self::with_index(
                dir,
                Index::create(files, schema().0, IndexSettings::default())?,
            )
        };
        create().map_err(|error| error.with_dir(dir))
    }

    fn with_index(dir: &Path, index: Index) -> Result<Self> {
        let fields = schema().1;
        index.tokenizers().register(TOKENIZER, tokens::analyzer());
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        Ok(Self {
            dir: dir.to_owned(),
            index,
            reader,
            fields,
        })
    }

    /// Reads what is stored with the last commit. Only before the first there is nothing.
    pub fn payload(&self) -> Result<Commit> {
        let Some(json) = self.index.load_metas()?.payload else {
            return Ok(Commit::default());
        };
        let unreadable = |error| KbError::Damaged(format!("its commit is unreadable: {error}"));
        serde_json::from_str(&json).map_err(unreadable)
    }

    /// A view of the last commit.
    pub fn searcher(&self) -> Result<LexicalView> {
        self.reader.reload()?;
        Ok(LexicalView {
            searcher: self.reader.searcher(),
            fields: self.fields,
            tokens: OnceLock::new(),
        })
    }

    /// Starts changing the index; `large` for a change of many documents. One at a time.
    pub fn writer(&self, large: bool) -> Result<LexicalWriter> {
        // A small change is left to one thread: each that takes part leaves a segment of its own.
        let threads = if large {
            thread::available_parallelism().map_or(1, usize::from)
        } else {
            1
        };
        let threads = threads.min(MOST_THREADS);
        let open = || {
            self.index
                .writer_with_num_threads(threads, threads * BYTES_A_THREAD)
        };
        // No other process writes; but a child that is being started may hold the last writer's lock.
        let writer = patiently(|| match open() {
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => Ok(None),
            made => Ok(Some(made?)),
        })?;
        let mut merging = LogMergePolicy::default();
        merging.set_del_docs_ratio_before_merge(REMOVED_SHARE);
        writer.set_merge_policy(Box::new(merging));
        let fields = self.fields;
        Ok(LexicalWriter { writer, fields })
    }

    /// Whether every file that the last commit names is there and ends as it should. Tantivy does
    /// without some until a search needs them.
    pub fn has_its_files(&self) -> Result<()> {
        self.each_file(|files, path| files.open_read(path).map(|_| true))
    }

    /// Does [`Self::has_its_files`] and verifies the checksums, which reads all files.
    pub fn is_as_written(&self) -> Result<()> {
        self.each_file(ManagedDirectory::validate_checksum)
    }

    fn each_file(
        &self,
        is_whole: impl Fn(&ManagedDirectory, &Path) -> Result<bool, OpenReadError>,
    ) -> Result<()> {
        let damaged = |path: &Path, how: &str| {
            let name = path.display();
            Err(KbError::Damaged(format!("its file {name} {how}")))
        };
        // Opened again, to read no more than is asked for: what is open here is there whatever became
        // of its name.
        let index = Index::open(SafeDirectory::open(&self.dir, &COMPONENTS)?)?;
        // Or another process could commit and tidy up between the list and the look.
        let _kept = index.directory().acquire_lock(&META_LOCK);
        for segment in index.load_metas()?.segments {
            for component in COMPONENTS.into_iter().flat_map(SegmentComponent::try_from) {
                if component == SegmentComponent::Delete && !segment.has_deletes() {
                    continue;
                }
                let path = segment.relative_path(component);
                match is_whole(index.directory(), &path) {
                    Ok(true) => {}
                    Ok(false) => return damaged(&path, "is not as it was written"),
                    Err(OpenReadError::FileDoesNotExist(_)) => {
                        return damaged(&path, "is missing");
                    }
                    Err(error) => return Err(TantivyError::from(error).into()),
                }
            }
        }
        Ok(())
    }
}

/// Changes that become visible together.
pub(crate) struct LexicalWriter {
    writer: IndexWriter<QueuedChunk>,
    fields: Fields,
}

/// A chunk that waits for a thread to index it: there may be thousands of documents that do. With
/// the last chunk of a document goes its reservation.
struct QueuedChunk {
    chunk: TantivyDocument,
    _reservation: Arc<Reservation>,
}

impl Document for QueuedChunk {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        Document::iter_fields_and_values(&self.chunk)
    }

    fn into_tantivy_document(self) -> TantivyDocument {
        self.chunk
    }
}

impl LexicalWriter {
    /// Forgets everything.
    pub fn clear(&self) -> Result<()> {
        self.writer.delete_all_documents()?;
        Ok(())
    }

    /// Forgets a document.
    pub fn remove(&self, document: u32) {
        let term = Term::from_field_u64(self.fields.document, u64::from(document));
        self.writer.delete_term(term);
    }

    /// Adds a document's chunks, which stay together, with its language. The reservation ends when all are indexed.
    pub fn add<'a>(
        &self,
        document: u32,
        chunks: impl Iterator<Item = &'a Chunk> + Clone,
        reservation: Reservation,
    ) -> Result<()> {
        let fields = self.fields;
        let reservation = Arc::new(reservation);
        let language = tokens::detect(chunks.clone().map(|chunk| chunk.text.as_str()));
        let rows = (0_u32..).zip(chunks).map(|(at, chunk)| {
            let mut stored = TantivyDocument::new();
            stored.add_u64(fields.document, u64::from(document));
            stored.add_u64(fields.row, ChunkId::new(document, at).pack());
            stored.add_text(fields.words, tokens::mark(language, &chunk.heading));
            stored.add_text(fields.words, tokens::mark(language, &chunk.text));
            for name in tokens::name_keys(&chunk.names) {
                stored.add_text(fields.names, name);
            }
            if let Some(place) = &chunk.place {
                let place = serde_json::to_string(place).unwrap_or_default();
                stored.add_text(fields.place, place);
            }
            UserOperation::Add(QueuedChunk {
                chunk: stored,
                _reservation: Arc::clone(&reservation),
            })
        });
        let rows: Vec<UserOperation<QueuedChunk>> = rows.collect();
        self.writer.run(rows)?;
        Ok(())
    }

    /// Makes all changes visible, or none.
    pub fn commit(&mut self, payload: Commit) -> Result<()> {
        let mut prepared = self.writer.prepare_commit()?;
        let json = serde_json::to_string(&payload).unwrap_or_default();
        prepared.set_payload(&json);
        prepared.commit()?;
        Ok(())
    }

    /// Waits until what should be one is one.
    pub fn finish(self) -> Result<()> {
        self.writer.wait_merging_threads()?;
        Ok(())
    }
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextOptions::default()
        .set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(TOKENIZER)
                .set_index_option(IndexRecordOption::WithFreqs),
        )
        .set_stored();
    let name = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false),
    );
    let fields = Fields {
        document: builder.add_u64_field("document", INDEXED),
        row: builder.add_u64_field("row", FAST),
        words: builder.add_text_field("words", words),
        names: builder.add_text_field("names", name),
        place: builder.add_text_field("place", STORED),
    };
    (builder.build(), fields)
}

/// Removes the words and the journal that a folder of the index holds.
pub(crate) fn discard(dir: &Path) -> Result<()> {
    let lexical = dir.join("lexical");
    clear(&lexical)?;
    remove_files(dir, is_journal).map_err(KbError::io(dir))?;
    for folder in [lexical.as_path(), dir] {
        // Where something else is left, it stays with its folder.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Removes the files of tantivy in this folder, without a look at what is in them. A person may have put
/// something beside them: only what is named as tantivy names its files goes.
fn clear(lexical: &Path) -> Result<()> {
    remove_files(lexical, is_of_tantivy).map_err(KbError::io(lexical))
}

fn remove_files(folder: &Path, is_ours: impl Fn(&str) -> bool) -> io::Result<()> {
    refuse_link(folder)?;
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(&is_ours) {
            continue;
        }
        let removed = if entry.file_type()?.is_dir() {
            fs::remove_dir(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A segment's files are called by its id, a temporary one by six letters.
fn is_of_tantivy(name: &str) -> bool {
    let all = |text: &str, length: usize, is: fn(&u8) -> bool| {
        text.len() == length && text.bytes().all(|byte| is(&byte))
    };
    let is_segment = name
        .split_once('.')
        .is_some_and(|(id, _)| all(id, 32, u8::is_ascii_hexdigit));
    let random = name.strip_prefix(".tmp");
    let is_temporary = random.is_some_and(|text| all(text, 6, u8::is_ascii_alphanumeric));
    is_segment || is_temporary || SINGLE.contains(&name)
}
