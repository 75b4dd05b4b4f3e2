//! A file's text, or why it has none.
//!
//! Decoding and conversion are decided once, here, so that the line numbers of the index, of grep
//! and of `read_file` agree. `format` says what a file is; one file a format turns it into lines
//! with their places. Documents come from anywhere: what takes one apart runs `confined`, and
//! `archive` and the formats bound what comes out of it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

use confined::confined;
use draft::Draft;
pub(super) use draft::plain;
use format::Format;
pub use reason::SkipReason;

use super::names::stem;
use crate::domain::{LineRange, Place};

mod archive;
mod compound;
mod confined;
mod decode;
mod docx;
mod dos;
mod draft;
mod epub;
mod format;
mod html;
mod json;
mod mail;
mod notebook;
mod odf;
mod office;
mod pdf;
mod pptx;
mod reason;
mod records;
mod rows;
mod sheet;
mod xls;
mod xml;

/// A document that takes longer is given up.
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
/// `false` also for what cannot be opened: reading it then gives the reason.
pub(super) fn is_lines(path: &Path) -> bool {
    head_of(path).is_ok_and(|(head, size)| is_lines_by(path, &head, size))
}

/// [`is_lines`] for somebody who has the file open: `head` is how it begins, some
/// [`SNIFF_BYTES`] of its `size`. What is text but too large to be converted is searched as it is.
pub(super) fn is_lines_by(path: &Path, head: &[u8], size: u64) -> bool {
    match Format::of(path, head) {
        Format::Lines(_) => true,
        format => format.is_text() && size > MAX_FILE_BYTES,
    }
}

/// Why a file of that size cannot be indexed, if that is why.
pub(super) fn too_large(path: &Path, size: u64) -> Option<SkipReason> {
    let limit = if format::is_document(path) {
        MAX_DOCUMENT_BYTES
    } else {
        MAX_FILE_BYTES
    };
    (size > limit).then(|| {
        let is_text = |head: &[u8]| Encoding::for_bom(head).is_some() || !head.contains(&0);
        match head_of(path) {
            Ok((head, _)) if is_lines_by(path, &head, size) && is_text(&head) => {
                SkipReason::LargeText(size)
            }
            _ => SkipReason::TooLarge(size),
        }
    })
}

/// Reads a document of any known format; once `stop` is raised, one that takes long is not waited
/// for.
pub(super) fn extract(
    path: &Path,
    source: &str,
    stop: &AtomicBool,
) -> Result<Extraction, SkipReason> {
    let (head, size) = head_of(path)?;
    let format = Format::of(path, &head);
    if let Format::Lines(shape) = format {
        // Nothing at all is no text either, except for text.
        if size == 0 && format::is_document(path) {
            return Err(SkipReason::NoText("the file is empty".to_owned()));
        }
        let text = read_text(path)?;
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
    let path = path.to_owned();
    confined(TIME_LIMIT, stop, move || convert(&path, format))
}

fn convert(path: &Path, format: Format) -> Result<Extraction, SkipReason> {
    match format {
        Format::Pdf => pdf::document(read_bytes(path, MAX_DOCUMENT_BYTES)?),
        Format::Mail => mail::document(&read_bytes(path, MAX_DOCUMENT_BYTES)?),
        Format::Archive | Format::Compound => {
            let size = head_of(path)?.1;
            if size > MAX_DOCUMENT_BYTES {
                return Err(SkipReason::TooLarge(size));
            }
            if format == Format::Archive {
                return office::document(path);
            }
            office::old_document(&read_bytes(path, MAX_DOCUMENT_BYTES)?)
        }
        Format::Html => html::document(path, &read_text(path)?),
        Format::Records => records::document(path, &read_text(path)?),
        Format::Notebook => notebook::document(&read_text(path)?),
        Format::PackedJson => {
            let mut draft = Draft::default();
            draft.push(&json::laid_out(&read_text(path)?));
            draft.finish(Shape::Data, None, "the file is empty")
        }
        Format::Lines(_) | Format::Unread(_) => Err(SkipReason::Binary),
    }
}

/// The beginning of a file and its size. Opening a pipe waits for somebody to write into it, so
/// what is no file is not opened.
fn head_of(path: &Path) -> Result<(Vec<u8>, u64), SkipReason> {
    let refused = |error: io::Error| SkipReason::Unreadable(error.to_string());
    let meta = fs::metadata(path).map_err(refused)?;
    if !meta.is_file() {
        return Err(SkipReason::NotRegular);
    }
    let mut head = Vec::new();
    File::open(path)
        .map_err(refused)?
        .take(SNIFF_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(refused)?;
    Ok((head, meta.len()))
}

/// Reads a file as text, in whatever encoding, without a byte order mark; single broken bytes
/// become `�`.
pub(super) fn read_text(path: &Path) -> Result<String, SkipReason> {
    decode::decode(read_bytes(path, MAX_FILE_BYTES)?)
}

/// A whole file of at most `limit` bytes.
fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, SkipReason> {
    let refused = |error: io::Error| SkipReason::Unreadable(error.to_string());
    let meta = fs::metadata(path).map_err(refused)?;
    if !meta.is_file() {
        return Err(SkipReason::NotRegular);
    }
    if meta.len() > limit {
        return Err(SkipReason::TooLarge(meta.len()));
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
    // A file can grow between the two looks at it, so the limit holds for the reading too.
    File::open(path)
        .map_err(refused)?
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(refused)?;
    if bytes.len() as u64 > limit {
        return Err(SkipReason::TooLarge(bytes.len() as u64));
    }
    Ok(bytes)
}
