//! What a search of the files finds, and how it was read.

use crate::domain::{LineRange, Place, Score};

/// How many lines are shown before and after a match.
pub(super) const CONTEXT_LINES: usize = 10;
/// The most lines of a merged passage, or a file that matches everywhere would be one passage.
pub(super) const MAX_PASSAGE_LINES: usize = 80;
/// The most bytes of a passage: wide lines are shown with fewer lines around them.
pub(super) const MAX_PASSAGE_BYTES: usize = 40_000;
/// The most bytes that are shown of one line; longer lines are data.
pub(crate) const MAX_LINE_BYTES: usize = 4000;

/// Matching lines with what surrounds them.
#[derive(Debug, Clone, PartialEq)]
pub struct GrepPassage {
    /// The file, as evidence names it.
    pub source: String,
    /// Where in the file.
    pub lines: LineRange,
    /// The lines from the first match to the last.
    pub matching: LineRange,
    /// Where in a format that has places.
    pub place: Option<Place>,
    /// The text of these lines.
    pub text: String,
    /// The share of the query's words that it holds, rare words counting more; 1.0 for a pattern.
    pub score: Score,
}

/// How a query was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAs {
    /// Words, any of which may match.
    Words,
    /// A regular expression.
    Pattern,
    /// Words after all: as the regular expression that it is by its marks, it is found nowhere.
    WordsOfPattern,
    /// Literal text, though it has the marks of a regular expression: it does not compile.
    BrokenPattern,
    /// Literal text, because there is no word in it.
    Marks,
}
