//! A file's text, or why it has none.
//!
//! Decoding and conversion are decided once, here, so that the line numbers of the index, of grep
//! and of `read_file` agree. `format` says what a file is; one file a format turns it into lines
//! with their places. Documents come from anywhere, and what takes them apart was not written
//! against harm: it runs in a process of its own (`isolation`), and `archive` and the formats bound what
//! comes out of it.

mod agenda;
mod archive;
mod decode;
mod draft;
mod extraction;
mod format;
#[cfg(fuzzing)]
pub mod fuzz;
mod html;
mod isolation;
mod mail;
mod markdown;
mod microsoft;
mod notebook;
mod odf;
mod office;
mod pdf;
mod readable;
mod recognition;
mod rst;
mod sheet;
mod troff;

use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::thread;

use encoding_rs::Encoding;
use tokio_util::sync::CancellationToken;

use super::opened::Opened;
use crate::domain::{FileFormat, FileKind};
use crate::files::{Unreadable, read_all};
use format::{Reading, kind_of, reading};
use isolation::Readers;

pub(super) use decode::utf_16_by_pattern;
pub(super) use draft::MAX_TEXT_BYTES;
pub use extraction::{Extraction, Mark, SkipReason, TextLayout};
pub(super) use extraction::{
    MAX_DOCUMENT_BYTES, MAX_ENCODED_BYTES, MAX_FILE_BYTES, SNIFF_BYTES, names_only,
};
pub(super) use isolation::ReadingSession;
pub use isolation::{READER_ARGUMENT, read_documents};
pub use recognition::{PROGRAMS as RECOGNITION_PROGRAMS, TextRecognition};

/// Deep nesting needs a large stack.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Whether the lines of this file are those of its text, so that they are read where they lie.
///
/// `false` also for what cannot be read: reading it then gives the reason.
pub(super) fn is_lines(file: &Opened) -> bool {
    let head = file.head(SNIFF_BYTES);
    head.is_ok_and(|head| is_lines_by(file.path(), &head, file.size()))
}

/// [`is_lines`] for a caller that has begun to read it: `head` is how it begins, some
/// [`SNIFF_BYTES`] of its `size`. What is text but too large to be converted is searched as it is.
fn is_lines_by(path: &Path, head: &[u8], size: u64) -> bool {
    let kind = kind_of(path, head);
    let is_text = FileFormat::by_kind(kind).is_some_and(FileFormat::is_text);
    format::is_lines(kind) || is_text && size > MAX_FILE_BYTES
}

/// Whether a search of a file's own bytes finds what its lines say; `head` is how it begins, some
/// [`SNIFF_BYTES`] of its `size`.
pub(super) fn is_searched_as_written(path: &Path, head: &[u8], size: u64) -> bool {
    let is_rewritten = size <= MAX_FILE_BYTES && format::is_rewritten(kind_of(path, head));
    !is_rewritten && is_lines_by(path, head, size)
}

/// Whether a file of that name and size is too large to be indexed.
pub(super) fn is_too_large(path: &Path, size: u64) -> bool {
    // What it is by its name is only asked where that decides.
    size > MAX_FILE_BYTES && (size > MAX_DOCUMENT_BYTES || !format::is_document(path))
}

/// How a file that [`is_too_large`] is left out: text can still be searched where it lies.
pub(super) fn too_large(file: &Opened) -> SkipReason {
    let is_text = |head: &[u8]| Encoding::for_bom(head).is_some() || !head.contains(&0);
    match file.head(SNIFF_BYTES) {
        Ok(head) if is_lines_by(file.path(), &head, file.size()) && is_text(&head) => {
            SkipReason::LargeText(file.size())
        }
        _ => SkipReason::TooLarge(file.size()),
    }
}

/// Reads documents of any known format, those that have to be taken apart in processes of their
/// own where it is given the program that does that.
#[derive(Debug, Default)]
pub(super) struct Extractor {
    readers: Option<Readers>,
    recognition: Option<TextRecognition>,
}

impl Extractor {
    /// Has documents taken apart by processes of `program`, which is this program. Without it, they are taken
    /// apart in this process, and a hostile one can take it along.
    pub fn read_by(&mut self, program: PathBuf) {
        self.readers = Some(Readers::new(program));
    }

    /// Turns on recognition of the text of scans and pictures.
    pub fn recognise(&mut self, recognition: TextRecognition) {
        self.recognition = Some(recognition);
    }

    /// Whether what was kept of a document is what would be made of it now.
    pub fn is_up_to_date(&self, kept: &Result<Extraction, SkipReason>) -> bool {
        self.recognition.is_none() || !wants_recognition(kept)
    }

    /// Begins a session; reader processes stay alive between documents until it is dropped.
    pub fn session(&self) -> ReadingSession<'_> {
        ReadingSession::begin(self.readers.as_ref())
    }

    /// What a document says; once `cancel` is cancelled, one that takes long is not waited for.
    pub fn extract(
        &self,
        file: &Opened,
        source: &str,
        cancel: &CancellationToken,
    ) -> Result<Extraction, SkipReason> {
        let kind = kind_of(file.path(), &file.head(SNIFF_BYTES)?);
        let reading = reading(kind);
        let size = file.size();
        if let Some((shape, readable)) = reading.of_lines() {
            // Nothing at all is no text either, except for text.
            if size == 0 && format::is_document(file.path()) {
                return Err(SkipReason::NoText("the file is empty".to_owned()));
            }
            let text = decode::decode(read_bytes(file.rewound()?, size, MAX_FILE_BYTES)?)?;
            let text = match readable {
                Some(readable) => readable(&text),
                None => text,
            };
            return Ok(Extraction {
                shape,
                ..Extraction::of_text(source, text)
            });
        }
        if let Reading::Not(what) = reading {
            return Err(SkipReason::Unsupported(what.to_owned()));
        }
        if size == 0 {
            return Err(SkipReason::NoText("the file is empty".to_owned()));
        }
        let limit = format::limit(kind);
        if size > limit {
            return Err(SkipReason::TooLarge(size));
        }
        // Only its ending matters.
        let name = file.path().file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let extracted = self.extract_isolated(file.file(), &name, size, limit, cancel);
        match &self.recognition {
            Some(recognition) if wants_recognition(&extracted) => {
                let with_text = match kind {
                    FileKind::Picture => recognition.of_picture(file.file(), cancel)?,
                    _ => recognition.of_scan(file.file(), cancel)?,
                };
                let size = with_text.metadata()?.len();
                match self.extract_isolated(
                    &with_text,
                    "recognised.pdf",
                    size,
                    MAX_DOCUMENT_BYTES,
                    cancel,
                ) {
                    // Kept as it is, or it would be recognised again at every start.
                    Err(SkipReason::Scan) => Err(SkipReason::NoText(
                        "text recognition found none on its pages".to_owned(),
                    )),
                    extracted => extracted,
                }
            }
            _ => extracted,
        }
    }

    fn extract_isolated(
        &self,
        file: &File,
        name: &str,
        size: u64,
        limit: u64,
        cancel: &CancellationToken,
    ) -> Result<Extraction, SkipReason> {
        let Some(readers) = &self.readers else {
            let mut file = file;
            file.rewind()?;
            let bytes = read_bytes(file, size, limit)?;
            let work = || isolation::extract_bytes(Path::new(name), bytes);
            let reader = thread::Builder::new().stack_size(STACK_BYTES);
            return thread::scope(|scope| {
                let reading = reader.spawn_scoped(scope, work)?;
                let broke_off = |_| Err(SkipReason::BrokeOff);
                reading.join().unwrap_or_else(broke_off)
            });
        };
        let document = isolation::DocumentFile {
            file,
            name,
            size,
            limit,
        };
        readers.read(&document, cancel)
    }
}

/// Whether pages or the whole are pictures that may show text.
fn wants_recognition(extracted: &Result<Extraction, SkipReason>) -> bool {
    match extracted {
        Ok(document) => document
            .missing
            .iter()
            .any(|line| line.contains(pdf::PICTURE_PAGE)),
        Err(reason) => matches!(reason, SkipReason::Scan | SkipReason::Picture),
    }
}

/// A whole file of at most `limit` bytes.
fn read_bytes(file: &File, size: u64, limit: u64) -> Result<Vec<u8>, SkipReason> {
    read_all(file, limit).map_err(|why| match why {
        Unreadable::TooLarge { .. } => SkipReason::TooLarge(size),
        why => why.into(),
    })
}
