//! The chunks by their words: BM25 over an on-disk index.
//!
//! The index also stores what the chunks say, so that what is shown is what was indexed even when
//! the file has changed since; where they are is the journal's to know. A row is named by its
//! chunk, which a search reads without touching what is stored. A commit is atomic, and its payload names
//! the journal that belongs to it.

mod directory;
mod search;
mod writer;

use std::path::{Path, PathBuf};
use std::{fs, io, panic};

use serde::{Deserialize, Serialize};
use tantivy::directory::error::OpenReadError;
use tantivy::directory::{Directory, META_LOCK, ManagedDirectory};
use tantivy::index::SegmentComponent;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexReader, IndexSettings, ReloadPolicy};

use super::journal::{Journal, is_journal};
use crate::files::{create_private_dir, refuse_link};
use crate::kb::error::KbError;
use crate::kb::index::port::Result;
use crate::kb::index::tokens;
use directory::Files;

pub(crate) use search::LexicalView;
pub(crate) use writer::LexicalWriter;

const TOKENIZER: &str = "kb";
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
pub(crate) struct Payload {
    /// Which commit it is; 0 before the first.
    pub generation: u64,
    /// The journal of the documents of this commit.
    pub journal: Journal,
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
            let index = Index::open(Files::open(dir)?)?;
            if index.schema() != schema().0 {
                return Err(KbError::Damaged(
                    "its fields are of another version".to_owned(),
                ));
            }
            let opened = Self::over(dir, index)?;
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
            let settings = IndexSettings::default();
            Self::over(dir, Index::create(Files::open(dir)?, schema().0, settings)?)
        };
        create().map_err(|error| error.with_dir(dir))
    }

    /// Makes the files anew, as those of an empty index. Only under the lock.
    pub fn remake(&self) -> Result<()> {
        Self::create(&self.dir).map(drop)
    }

    fn over(dir: &Path, index: Index) -> Result<Self> {
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
    pub fn payload(&self) -> Result<Payload> {
        let Some(json) = self.index.load_metas()?.payload else {
            return Ok(Payload::default());
        };
        let unreadable = |error| KbError::Damaged(format!("its commit is unreadable: {error}"));
        serde_json::from_str(&json).map_err(unreadable)
    }

    /// A view of the last commit.
    pub fn searcher(&self) -> Result<LexicalView> {
        self.reader.reload()?;
        Ok(LexicalView::new(self.reader.searcher(), self.fields))
    }

    /// Starts changing the index; `large` for a change of many documents. One at a time.
    pub fn writer(&self, large: bool) -> Result<LexicalWriter> {
        LexicalWriter::new(&self.index, self.fields, large)
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
        // Opened again: what is open here is there whatever became of its name.
        let index = Index::open(Files::open_to_check(&self.dir)?)?;
        // Or another process could commit and tidy up between the list and the look.
        let _kept = index.directory().acquire_lock(&META_LOCK);
        for segment in index.load_metas()?.segments {
            let components = COMPONENTS
                .iter()
                .map(|name| SegmentComponent::try_from(*name));
            for component in components.flatten() {
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
                    Err(error) => return Err(tantivy::TantivyError::from(error).into()),
                }
            }
        }
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
