//! What a file is: by what it begins with first, by its name second.
//!
//! Names lie: a report saved as `.xls` is often HTML, a renamed picture is no text. What the bytes
//! say plainly decides; the name decides between things that begin alike, such as kinds of text.

use std::path::Path;

use super::Shape;

/// How a file has to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Decoded, line by line.
    Lines(Shape),
}

impl Format {
    /// `head` is how the file begins.
    pub fn of(path: &Path, _head: &[u8]) -> Self {
        Self::Lines(Shape::of(path))
    }
}
