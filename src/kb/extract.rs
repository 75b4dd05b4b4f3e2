//! A file's text, or why it has none.
//!
//! Decoding is decided once, here, so that the line numbers of the index, of grep and of
//! `read_file` agree.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

use super::names::stem;
use crate::domain::{LineRange, Place};

/// Files larger than this are passed over.
pub(super) const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// How much is looked at before a whole file is read.
const SNIFF_BYTES: usize = 8 * 1024;

/// A few broken bytes are a slip of an editor; more than one in this many are another encoding.
const BYTES_PER_REPLACEMENT: usize = 500;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// From 1.
    pub line: usize,
    /// Until the next mark.
    pub place: Place,
}

/// How the structure of an extraction is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Headings, fences and tables as in Markdown.
    Markdown,
    /// Paragraphs between blank lines.
    Plain,
    /// Items that begin at the margin.
    Code,
}

impl Extraction {
    /// Text made of lines; the name tells how it is structured.
    pub fn of_text(source: &str, text: String) -> Self {
        Self {
            text,
            title: None,
            shape: Shape::of(Path::new(source)),
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
    fn of(path: &Path) -> Self {
        let extension = path
            .extension()
            .map(|e| e.to_string_lossy().to_lowercase())
            .unwrap_or_default();
        match extension.as_str() {
            "md" | "markdown" | "mdown" | "mkd" | "mdx" => Self::Markdown,
            "" | "txt" | "text" | "log" | "rst" | "adoc" | "org" | "tex" | "srt" => Self::Plain,
            _ => Self::Code,
        }
    }
}

/// Reads a document of any known format.
pub(super) fn extract(path: &Path, source: &str) -> Result<Extraction, SkipReason> {
    Ok(Extraction::of_text(source, read_text(path)?))
}

/// Why a file is not part of the index.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SkipReason {
    /// It holds NUL bytes.
    #[error("binary file")]
    Binary,
    /// Its bytes are not UTF-8.
    #[error("not UTF-8 text")]
    NotUtf8,
    /// It is over 10 MB.
    #[error("too large ({} MB; the limit is 10 MB)", .0 / (1024 * 1024))]
    TooLarge(u64),
    /// A link that leads out of the knowledge base, or nowhere.
    #[error("a link out of the knowledge base is not followed")]
    LinkOutside,
    /// A pipe, socket or device: opening one may wait for ever.
    #[error("not a regular file")]
    NotRegular,
    /// Its name, or that of a folder above it, is not UTF-8 or holds control characters: nothing
    /// could refer to it.
    #[error("its name is not plain text")]
    BadName,
    /// Ignore rules that cannot be read may hide anything in their folder.
    #[error("its ignore rules are not in a regular file")]
    BadRules,
    /// The system refused.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

/// Reads a file as UTF-8, without a byte order mark; single broken bytes become `�`.
pub(super) fn read_text(path: &Path) -> Result<String, SkipReason> {
    let refused = |error: io::Error| SkipReason::Unreadable(error.to_string());
    // Opening a pipe waits for somebody to write into it, so the question comes first.
    if !fs::metadata(path).map_err(refused)?.is_file() {
        return Err(SkipReason::NotRegular);
    }
    let file = File::open(path).map_err(refused)?;
    let size = file.metadata().map_err(refused)?.len();
    if size > MAX_FILE_BYTES {
        return Err(SkipReason::TooLarge(size));
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    // A file can grow between the two looks at it, so the limit holds for the reading too.
    let mut file = file.take(MAX_FILE_BYTES + 1);
    Read::by_ref(&mut file)
        .take(SNIFF_BYTES as u64)
        .read_to_end(&mut bytes)
        .map_err(refused)?;
    if bytes.contains(&0) {
        return Err(SkipReason::Binary);
    }
    file.read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(SkipReason::TooLarge(bytes.len() as u64));
    }
    decode(bytes)
}

fn decode(bytes: Vec<u8>) -> Result<String, SkipReason> {
    if memchr::memchr(0, &bytes).is_some() {
        return Err(SkipReason::Binary);
    }
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let bytes = error.as_bytes();
            let broken = bytes
                .utf8_chunks()
                .filter(|c| !c.invalid().is_empty())
                .count();
            if broken > 1 + bytes.len() / BYTES_PER_REPLACEMENT {
                return Err(SkipReason::NotUtf8);
            }
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_broken_bytes_are_replaced_and_other_encodings_refused() {
        assert_eq!(
            decode(b"caf\xe9 and more".to_vec()).unwrap(),
            "caf\u{fffd} and more"
        );
        let latin = b"d\xe9j\xe0 vu, caf\xe9, gar\xe7on, \xe9t\xe9".to_vec();
        assert_eq!(decode(latin), Err(SkipReason::NotUtf8));
        assert_eq!(decode(b"a\0b".to_vec()), Err(SkipReason::Binary));
        assert_eq!(decode(b"\xef\xbb\xbfhi".to_vec()).unwrap(), "hi");
    }
}
