use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
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
pub struct Block {
    pub kind: BlockKind,
    /// The lines of the passage, from 0.
    pub lines: Range<usize>,
    /// The headings above, outermost first.
    pub headings: Vec<String>,
    /// What it says, without marks that only lay it out.
    pub text: String,
    /// Its sentences, list items and table rows in order. Lines of code are none.
    pub sentences: Vec<Sentence>,
}

/// A sentence, list item or table row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Its bytes in the passage.
    pub range: Range<usize>,
    pub text: String,
}

impl Block {
    /// The innermost heading above; empty where there is none.
    pub fn heading(&self) -> &str {
        self.headings.last().map_or("", String::as_str)
    }
}

/// The bytes of each line of a text, without its end.
pub fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut end = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let start = end;
        end += line.len();
        start..start + line.trim_end_matches('\n').len()
    });
    lines.collect()
}
