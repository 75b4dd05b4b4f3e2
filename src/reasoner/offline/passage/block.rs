use std::ops::Range;

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum BlockKind {
    Paragraph,
    List,
    Table,
    Code,
    Row,
    Slide,
    /// Metadata at the top of a file.
    Fields,
}

/// Lines of a passage that are quoted together.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Block {
    pub(in super::super) kind: BlockKind,
    /// The lines of the passage, from 0.
    pub(in super::super) lines: Range<usize>,
    /// The headings above, outermost first.
    pub(in super::super) headings: Vec<String>,
    /// What it says, without marks that only lay it out.
    pub(in super::super) text: String,
    /// Its sentences, list items and table rows in order. Lines of code are none.
    pub(in super::super) sentences: Vec<Sentence>,
}

/// A sentence, list item or table row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Sentence {
    /// Its bytes in the text of the passage.
    pub(in super::super) range: Range<usize>,
    /// What it says, without marks that only lay it out.
    pub(in super::super) text: String,
}

impl Block {
    /// The innermost heading above; empty where there is none.
    pub(in super::super) fn heading(&self) -> &str {
        self.headings.last().map_or("", String::as_str)
    }
}
