//! A file's text, or why it has none.
//!
//! Decoding and conversion are decided once, here, so that the line numbers of the index, of grep
//! and of `read_file` agree. `format` says what a file is; one file a format turns it into lines
//! with their places. Documents come from anywhere, and what takes them apart was not written
//! against harm: it runs in a process of its own (`readers` start and end it, `child` is it, `wire`
//! is what they say to each other, with `label`), on a thread that is `confined` where there is no
//! program to start, and `archive` and the formats bound what comes out of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

pub use child::{READER_ARGUMENT, read_documents};
use confined::confined;
pub(super) use decode::utf_16_by_pattern;
use draft::Draft;
pub(super) use draft::{MAX_TEXT_BYTES, plain};
use format::Format;
pub(super) use label::{MAX_LABEL_BYTES, label, labelled};
use readers::Readers;
pub(super) use readers::Session;
pub use reason::SkipReason;

use super::names::stem;
use super::opened::Opened;
use crate::domain::{LineRange, Place};
use crate::files::Unreadable;

mod archive;
mod child;
mod compound;
mod confined;
mod decode;
mod docx;
mod dos;
mod draft;
mod epub;
mod format;
#[cfg(fuzzing)]
pub mod fuzz;
mod html;
mod json;
mod label;
mod mail;
mod notebook;
mod odf;
mod office;
mod pdf;
mod pptx;
mod readers;
mod reason;
mod records;
mod rows;
mod sheet;
mod wire;
mod xls;
mod xml;

/// A document that takes longer on a thread is given up.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Text files larger than this are not indexed.
pub(super) const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;
/// Most of a PDF or a presentation is pictures, so these may be larger.
pub(super) const MAX_DOCUMENT_BYTES: u64 = 64 * 1024 * 1024;

/// How much of a file tells its format.
pub(super) const SNIFF_BYTES: usize = 8 * 1024;

/// What a document says, as lines of text, whatever its format.
///
/// Everything that points into a document points at these lines: chunks, grep, links and
/// `read_file`. A format that is looked up otherwise says for each line where that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    /// The lines.
    pub text: String,
    /// What the document calls itself, where its format has a field for that.
    pub title: Option<String>,
    /// How its structure is marked.
    pub shape: Shape,
    /// Where its places begin, in the order of their lines; empty for formats made of lines.
    pub places: Vec<Mark>,
}

/// From this line on, this place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// From 1.
    pub line: usize,
    /// Until the next mark.
    pub place: Place,
}

/// How the structure of an extraction is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Headings, fences and tables as in Markdown.
    Markdown,
    /// Paragraphs between blank lines.
    Plain,
    /// Items that begin at the margin.
    Code,
    /// Headings by the line below them, as in reStructuredText.
    Rst,
    /// Headings by their stars, as in Org.
    Org,
    /// Laid out from what a program wrote for programs.
    Data,
    /// Each line a row, each saying what its values are.
    Rows,
}

impl Extraction {
    /// Text made of lines; the name tells how it is structured.
    pub fn of_text(source: &str, text: String) -> Self {
        let shape = Shape::of(Path::new(source));
        Self {
            title: shape.title(&text),
            text,
            shape,
            places: Vec::new(),
        }
    }

    /// Where these lines are in a format that has places.
    pub fn place(&self, lines: LineRange) -> Option<Place> {
        let first = self.places.partition_point(|mark| mark.line <= lines.start);
        let end = self.places.partition_point(|mark| mark.line <= lines.end);
        let within = &self.places[first.saturating_sub(1)..end];
        let mut marks = within.iter().map(|mark| &mark.place);
        let place = marks.next()?.clone();
        marks.try_fold(place, |place, next| place.hull(next))
    }

    /// What to call the document when nothing in it does.
    pub(super) fn name(&self, source: &str) -> String {
        self.title
            .clone()
            .unwrap_or_else(|| stem(source).to_owned())
    }
}

impl Shape {
    /// What a text made of lines says its title is, before it begins.
    fn title(self, text: &str) -> Option<String> {
        const HEAD: usize = 50;
        let mut head = text.lines().take(HEAD);
        let named = |line: &str, mark: &str| {
            let begins = line.get(..mark.len())?.eq_ignore_ascii_case(mark);
            begins.then(|| {
                line[mark.len()..]
                    .trim()
                    .trim_matches(['"', '\''])
                    .to_owned()
            })
        };
        let title = match self {
            Self::Markdown if head.next()?.trim_end() == "---" => head
                .take_while(|line| !matches!(line.trim_end(), "---" | "..."))
                .find_map(|line| named(line, "title:")),
            Self::Org => head
                .take_while(|line| !line.starts_with("* "))
                .find_map(|line| named(line, "#+title:")),
            _ => None,
        };
        title.filter(|title| !title.is_empty())
    }

    fn of(path: &Path) -> Self {
        let extension = path
            .extension()
            .map(|e| e.to_string_lossy().to_lowercase())
            .unwrap_or_default();
        match extension.as_str() {
            "md" | "markdown" | "mdown" | "mkd" | "mdx" => Self::Markdown,
            "rst" | "rest" => Self::Rst,
            "org" => Self::Org,
            "" | "txt" | "text" | "log" | "adoc" | "tex" | "srt" | "vtt" => Self::Plain,
            _ => Self::Code,
        }
    }
}

/// Whether the lines of this file are its own bytes, so that they can be searched where they lie.
///
/// `false` also for what cannot be read: reading it then gives the reason.
pub(super) fn is_lines(file: &Opened) -> bool {
    let head = file.head(SNIFF_BYTES);
    head.is_ok_and(|head| is_lines_by(file.path(), &head, file.size()))
}

/// [`is_lines`] for somebody who has begun to read it: `head` is how it begins, some
/// [`SNIFF_BYTES`] of its `size`. What is text but too large to be converted is searched as it is.
pub(super) fn is_lines_by(path: &Path, head: &[u8], size: u64) -> bool {
    match Format::of(path, head) {
        Format::Lines(_) => true,
        format => format.is_text() && size > MAX_FILE_BYTES,
    }
}

/// Whether a file of that name and size is too large to be indexed.
pub(super) fn is_too_large(path: &Path, size: u64) -> bool {
    let limit = if format::is_document(path) {
        MAX_DOCUMENT_BYTES
    } else {
        MAX_FILE_BYTES
    };
    size > limit
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
/// own where it is told which program does that.
#[derive(Debug, Default)]
pub(super) struct Extractor {
    readers: Option<Readers>,
}

impl Extractor {
    /// `program` is this program; without it, documents are taken apart on threads.
    pub fn new(program: Option<PathBuf>) -> Self {
        Self {
            readers: program.map(Readers::new),
        }
    }

    /// To be held while one document after the other is read.
    pub fn session(&self) -> Session<'_> {
        Session::of(self.readers.as_ref())
    }

    /// What a document says; once `stop` is raised, one that takes long is not waited for.
    pub fn extract(
        &self,
        file: &Opened,
        source: &str,
        stop: &AtomicBool,
    ) -> Result<Extraction, SkipReason> {
        let format = Format::of(file.path(), &file.head(SNIFF_BYTES)?);
        let size = file.size();
        if let Format::Lines(shape) = format {
            // Nothing at all is no text either, except for text.
            if size == 0 && format::is_document(file.path()) {
                return Err(SkipReason::NoText("the file is empty".to_owned()));
            }
            let text = decode::decode(read_bytes(file, MAX_FILE_BYTES)?)?;
            return Ok(Extraction {
                shape,
                ..Extraction::of_text(source, text)
            });
        }
        if let Format::Unread(what) = format {
            return Err(SkipReason::Unsupported(what.to_owned()));
        }
        if size == 0 {
            return Err(SkipReason::NoText("the file is empty".to_owned()));
        }
        let limit = if format.is_text() && format != Format::Mail {
            MAX_FILE_BYTES
        } else {
            MAX_DOCUMENT_BYTES
        };
        if size > limit {
            return Err(SkipReason::TooLarge(size));
        }
        // Only its ending matters.
        let name = file.path().file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let Some(readers) = &self.readers else {
            let bytes = read_bytes(file, limit)?;
            let name = PathBuf::from(name.as_ref());
            return confined(TIME_LIMIT, stop, move || convert(&name, format, bytes));
        };
        let document = readers::Document {
            file: file.file(),
            name: &name,
            size,
            limit,
        };
        readers.read(&document, stop)
    }
}

/// What the bytes of a document say that has to be taken apart.
fn convert(name: &Path, format: Format, bytes: Vec<u8>) -> Result<Extraction, SkipReason> {
    match format {
        Format::Pdf => pdf::document(bytes),
        Format::Mail => mail::document(&bytes),
        Format::Archive => office::document(&bytes),
        Format::Compound => office::old_document(&bytes),
        Format::Html => html::document(name, &decode::decode(bytes)?),
        Format::Records => records::document(name, &decode::decode(bytes)?),
        Format::Notebook => notebook::document(&decode::decode(bytes)?),
        Format::PackedJson => {
            let mut draft = Draft::default();
            draft.push(&json::laid_out(&decode::decode(bytes)?));
            draft.finish(Shape::Data, None, "the file is empty")
        }
        Format::Lines(_) | Format::Unread(_) => Err(SkipReason::Binary),
    }
}

/// A whole file of at most `limit` bytes.
fn read_bytes(file: &Opened, limit: u64) -> Result<Vec<u8>, SkipReason> {
    file.bytes(limit).map_err(|why| match why {
        Unreadable::TooLarge { .. } => SkipReason::TooLarge(file.size()),
        why => why.into(),
    })
}
