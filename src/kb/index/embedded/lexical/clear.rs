//! Making room for another index, without a look at what is in the files.
//!
//! A person may have put something beside them: only what is named as tantivy names its files goes.

use std::fs;
use std::io;
use std::path::Path;

use crate::files::refuse_link;
use crate::kb::error::KbError;
use crate::kb::index::embedded::journal::is_journal;

/// Tantivy's files that are not of a segment.
const SINGLE: [&str; 4] = [
    "meta.json",
    ".managed.json",
    ".tantivy-writer.lock",
    ".tantivy-meta.lock",
];

/// Removes the words and the journal that a folder of the index holds.
pub(crate) fn discard(dir: &Path) -> Result<(), KbError> {
    let lexical = dir.join("lexical");
    clear(&lexical)?;
    remove_files(dir, is_journal).map_err(KbError::io(dir))?;
    for folder in [lexical.as_path(), dir] {
        // Where something else is left, it stays with its folder.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Removes the files of tantivy in this folder.
pub(super) fn clear(lexical: &Path) -> Result<(), KbError> {
    remove_files(lexical, is_of_tantivy).map_err(KbError::io(lexical))
}

fn remove_files(folder: &Path, is_ours: impl Fn(&str) -> bool) -> io::Result<()> {
    refuse_link(folder)?;
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(&is_ours) {
            continue;
        }
        let removed = if entry.file_type()?.is_dir() {
            fs::remove_dir(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A segment's files are called by its id, a temporary one by six letters.
fn is_of_tantivy(name: &str) -> bool {
    let all = |text: &str, length: usize, is: fn(&u8) -> bool| {
        text.len() == length && text.bytes().all(|byte| is(&byte))
    };
    let is_segment = name
        .split_once('.')
        .is_some_and(|(id, _)| all(id, 32, u8::is_ascii_hexdigit));
    let random = name.strip_prefix(".tmp");
    let is_temporary = random.is_some_and(|text| all(text, 6, u8::is_ascii_alphanumeric));
    is_segment || is_temporary || SINGLE.contains(&name)
}
