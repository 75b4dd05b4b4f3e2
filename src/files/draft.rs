//! A text that is edited in a program of its own.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::read_text_bounded;

/// More than this is not read back, bytes.
const LONGEST: u64 = 1 << 20;

/// A private file that holds a text while an editor has it; it is gone once this is dropped.
#[derive(Debug)]
pub struct Draft(NamedTempFile);

impl Draft {
    /// Writes the text to a file of its own. Editors tell by the ending that it is Markdown.
    pub fn create(text: &str) -> io::Result<Self> {
        let mut file = tempfile::Builder::new()
            .prefix("kb-agent-question-")
            .suffix(".md")
            .tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        Ok(Self(file))
    }

    /// Where the editor finds it.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The text as the editor left it, which may have put another file in its place; an error is one
    /// line.
    pub fn read(&self) -> Result<String, String> {
        let cannot = |error| format!("what was written in the editor cannot be read: {error}");
        read_text_bounded(self.path(), LONGEST).map_err(cannot)
    }
}
