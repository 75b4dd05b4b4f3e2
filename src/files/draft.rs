//! A text that is edited in a program of its own.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::{Unreadable, read_text_bounded};

/// More than this is not read back, bytes.
const LONGEST: u64 = 1 << 20;

/// A private file that holds a text while an editor has it; it is gone once this is dropped.
#[derive(Debug)]
pub struct Draft {
    file: NamedTempFile,
    text: String,
}

impl Draft {
    /// Writes the text to a file of its own. Editors tell by the ending that it is Markdown.
    pub fn create(text: &str) -> io::Result<Self> {
        let mut file = tempfile::Builder::new()
            .prefix("kb-agent-question-")
            .suffix(".md")
            .tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let text = text.to_owned();
        Ok(Self { file, text })
    }

    /// Where the editor finds it.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The text as the editor left it, which may have put another file in its place; an error is one
    /// line that names the file, which is kept then.
    pub fn read(self) -> Result<String, String> {
        self.read_text()
            .map_err(|error| self.keep(&format!("The question cannot be read: {error}")))
    }

    /// Keeps the file where it holds another text than at first; returns the reason for that with the
    /// path, in one line.
    pub fn keep(self, reason: &str) -> String {
        let is_kept = match self.read_text() {
            Ok(text) => text != self.text,
            Err(error) => !error.is_missing(),
        };
        if !is_kept {
            return format!("{reason}.");
        }
        match self.file.keep() {
            Ok((_, path)) => format!("{reason}; what was written is in {}.", path.display()),
            Err(error) => format!("{reason}; what was written is lost: {error}."),
        }
    }

    fn read_text(&self) -> Result<String, Unreadable> {
        read_text_bounded(self.path(), LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_cannot_be_read_is_kept_and_named() {
        let too_long = vec![b'a'; usize::try_from(LONGEST).unwrap() + 1];
        for written in [b"\xff".to_vec(), too_long] {
            let draft = Draft::create("first").unwrap();
            let path = draft.path().to_owned();
            fs::write(&path, &written).unwrap();
            let reason = draft.read().unwrap_err();
            assert!(reason.contains(&path.display().to_string()), "{reason}");
            assert_eq!(fs::read(&path).unwrap(), written);
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn only_what_was_changed_is_kept() {
        let draft = Draft::create("first").unwrap();
        let path = draft.path().to_owned();
        assert_eq!(draft.keep("It failed"), "It failed.");
        assert!(!path.exists());
        let draft = Draft::create("first").unwrap();
        fs::remove_file(draft.path()).unwrap();
        assert_eq!(draft.keep("It failed"), "It failed.");
    }
}
