use std::path::PathBuf;

use super::Timestamp;

/// A document as the person in front of the screen reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentText {
    /// Its file, as it was asked for.
    pub source: String,
    /// The line that was asked for.
    pub line: usize,
    /// Its text as the index reads it, or why there is none: one line, clean.
    pub part: Result<DocumentPart, String>,
}

/// Lines of a document around the one that was asked for, clean of what a terminal obeys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentPart {
    /// The number of the first of these lines, from 1.
    pub first: usize,
    /// The lines: at most [`DocumentPart::MOST_BYTES`] in all, each at most
    /// [`DocumentPart::LONGEST_LINE`] characters.
    pub lines: Vec<String>,
    /// How many the document has.
    pub total: usize,
    /// Pages, slides, sheets or cells that begin among these lines: line and name.
    pub places: Vec<(usize, String)>,
    /// What the document holds and these lines cannot show, a sentence each.
    pub missing: Vec<String>,
    /// When the file was changed last, where the system tells.
    pub modified: Option<Timestamp>,
    /// Where an editor finds these very lines; `None` where the text was extracted.
    pub path: Option<PathBuf>,
}

impl DocumentPart {
    /// How much of a document is sent at once, bytes.
    pub const MOST_BYTES: usize = 1 << 20;
    /// What a longer line is cut to, characters.
    pub const LONGEST_LINE: usize = 8_000;

    /// A line by its number, if it is among these.
    pub fn line(&self, number: usize) -> Option<&str> {
        let at = number.checked_sub(self.first)?;
        self.lines.get(at).map(String::as_str)
    }

    /// The number of the last of these lines; below `first` when there is none.
    pub fn last(&self) -> usize {
        self.first + self.lines.len() - 1
    }
}
