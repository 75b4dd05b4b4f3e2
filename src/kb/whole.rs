//! Whole documents, to be read and not searched: of a base, and single files without one.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio_util::sync::CancellationToken;

use super::base::KnowledgeBase;
use super::error::KbError;
use super::extract;
use super::extract::{Extraction, Extractor, SkipReason, TextRecognition};
use super::index::{EmbeddedStore, Limits, Passage};
use super::opened::Opened;
use super::source::{Roots, Sources, TextCache};
use crate::agent::ports::ToolError;

/// A file of the base as the index reads it, and where it lies.
#[derive(Debug)]
pub struct WholeDocument {
    /// Its text and places.
    pub extraction: Extraction,
    /// The canonical path; below a root of the base.
    pub path: PathBuf,
    /// Whether the lines of the text are the lines of the file.
    pub is_lines: bool,
    /// When it was changed last, where the system tells.
    pub modified: Option<SystemTime>,
}

/// The documents of a base for reading without a search: its index is not opened.
#[derive(Debug)]
pub struct DocumentReader {
    roots: Roots,
    texts: TextCache,
}

impl DocumentReader {
    /// Opens these folders and files. Texts that are slow to extract are cached with their index below
    /// `index_home`; processes of `program` extract them, see [`KnowledgeBase::reading_by`].
    pub fn open(
        sources: impl Into<Sources>,
        index_home: &Path,
        program: Option<&Path>,
    ) -> Result<Self, KbError> {
        let roots = Roots::open(sources)?;
        let mut texts = TextCache::open(&EmbeddedStore::home_of(&roots, index_home)?);
        if let Some(program) = program {
            texts.extractor.read_by(program.to_owned());
        }
        Ok(Self { roots, texts })
    }

    /// Reads a document as [`KnowledgeBase::whole_document`] does.
    pub fn whole_document(
        &self,
        source: &str,
        cancel: &CancellationToken,
    ) -> Result<WholeDocument, ToolError> {
        read(&self.roots, &self.texts, source, cancel)
    }
}

impl KnowledgeBase {
    /// The document that evidence names `source`, as it is now. Blocks, for as long as taking it
    /// apart takes, and gives up soon after `cancel` is cancelled.
    pub fn whole_document(
        &self,
        source: &str,
        cancel: &CancellationToken,
    ) -> Result<WholeDocument, ToolError> {
        read(self.roots(), self.texts(), source, cancel)
    }
}

impl KnowledgeBase {
    /// Reads a file of the base, which need not be a document of the index, and says why it cannot be read.
    /// Blocks.
    pub fn can_read(&self, resolved: &Path, cancel: &CancellationToken) -> Result<(), ToolError> {
        self.read_unless(resolved, cancel).map(drop)
    }
}

/// The most empty lines between two passages; no document has more.
const MOST_BETWEEN: usize = 1_000_000;
/// Passages of a beginning: about as much as a hundred thousand letters, which most documents do not have.
const PASSAGES_OF_BEGINNING: usize = 100;

impl KnowledgeBase {
    /// The text of a document whose file is not on this machine, put together from its passages in the
    /// shared index. `None` where the index is not shared or has no such document.
    pub(crate) fn stored_document(
        &self,
        source: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<Extraction>, KbError> {
        if self.shared_store().is_none() {
            return Ok(None);
        }
        let (reader, limits) = (self.reader(), || Limits::of_a_call(cancel));
        let known = reader.look_up(&[source], limits())?;
        let document = known.into_iter().next().and_then(|known| known.document);
        let Some(document) = document else {
            return Ok(None);
        };
        let passages = reader.openings(&[source], document.chunks, limits())?;
        Ok(Some(put_together(source, &passages)))
    }

    /// The beginnings of such documents, each with its name, by one call. None where the index is not shared.
    pub(crate) fn stored_beginnings(
        &self,
        sources: &[&str],
        cancel: &CancellationToken,
    ) -> Result<Vec<(String, Extraction)>, KbError> {
        if self.shared_store().is_none() || sources.is_empty() {
            return Ok(Vec::new());
        }
        let (reader, limits) = (self.reader(), Limits::of_a_call(cancel));
        let passages = reader.openings(sources, PASSAGES_OF_BEGINNING, limits)?;
        let documents = passages.chunk_by(|a, b| a.source == b.source);
        let documents = documents.filter_map(|passages| {
            let source = &passages.first()?.source;
            Some((source.clone(), put_together(source, passages)))
        });
        Ok(documents.collect())
    }
}

fn put_together(source: &str, passages: &[Passage]) -> Extraction {
    let mut lines: Vec<&str> = Vec::new();
    for passage in passages {
        let first = passage.lines.start.saturating_sub(1);
        if first > lines.len() + MOST_BETWEEN {
            continue;
        }
        lines.resize(lines.len().max(first), "");
        for (at, line) in (first..).zip(passage.text.lines()) {
            if at < lines.len() {
                lines[at] = line;
            } else {
                lines.push(line);
            }
        }
    }
    Extraction::of_text(source, lines.join("\n"))
}

fn read(
    roots: &Roots,
    texts: &TextCache,
    source: &str,
    cancel: &CancellationToken,
) -> Result<WholeDocument, ToolError> {
    let path = roots.resolve(source)?;
    let failed = |reason: SkipReason| ToolError::Failed(format!("{source}: {reason}"));
    let file = roots.open_file(&path).map_err(SkipReason::from);
    let file = file.map_err(failed)?;
    let extraction = texts.document_unless(&file, source, cancel);
    Ok(WholeDocument {
        extraction: extraction.map_err(failed)?,
        is_lines: extract::is_lines(&file),
        modified: file.meta().modified().ok(),
        path,
    })
}

/// A file's text with its places, and what it says of itself.
#[derive(Debug)]
pub struct FileText {
    /// The text, its title and places, and what is missing from it.
    pub extraction: Extraction,
    /// Title, aliases, tags, date: each key that stands above the text, with its values.
    pub fields: Vec<(String, Vec<String>)>,
}

impl FileText {
    /// Reads the file at `path`; documents are taken apart by processes of `program`, see
    /// [`KnowledgeBase::reading_by`](super::KnowledgeBase::reading_by).
    pub fn read(
        path: &Path,
        program: Option<&Path>,
        recognition: Option<TextRecognition>,
    ) -> Result<Self, SkipReason> {
        let path = path.canonicalize()?;
        let folder = path.parent().unwrap_or(&path);
        let file = Opened::beneath(folder, &path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut extractor = Extractor::default();
        if let Some(program) = program {
            extractor.read_by(program.to_owned());
        }
        if let Some(recognition) = recognition {
            extractor.recognise(recognition);
        }
        let extraction = extractor.extract(&file, &name, &CancellationToken::new())?;
        Ok(Self {
            fields: extraction.fields(),
            extraction,
        })
    }
}
