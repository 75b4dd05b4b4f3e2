//! Documents as text, read once.
//!
//! A file that is lines of text is read from its place each time: that is as quick as any copy.
//! A format that has to be taken apart (a PDF takes a second) is taken apart once, and its
//! [`Extraction`] kept on disk, for the update, grep and `read_file` alike; also that a file
//! cannot be read, or every search would try again. What is kept is named by the file's path,
//! [`Stamp`], so a changed file is simply another one, and says itself whether it is whole:
//! a file that a crash cut short is not believed but made anew.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tokio_util::sync::CancellationToken;

use super::walk::SourceFile;
use crate::files::{
    create_private_dir, is_unfinished, open_unlinked, read_all, refuse_link, write_cache_by,
};
use crate::kb::extract::{
    Extraction, Extractor, MAX_ENCODED_BYTES, MAX_TEXT_BYTES, SkipReason, is_lines,
};
use crate::kb::opened::{Opened, Stamp};

/// Raised when extraction gets better, so that what is kept is made anew.
const VERSION: u32 = 7;
/// Digits of a text's name.
const NAME: usize = 32;
/// A text, what is said of it, and their hash.
const LARGEST: u64 = (MAX_TEXT_BYTES + MAX_ENCODED_BYTES) as u64 + 1024;

/// Where the texts are kept, beside the index: they outlive its formats. Other versions have
/// other folders, or each would remove what the other keeps.
pub(crate) fn folder() -> String {
    format!("texts-{VERSION}")
}

/// Whether some version of the program calls its folder so.
pub(crate) fn is_a_folder(name: &str) -> bool {
    let rest = name.strip_prefix("texts");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Where documents are read from.
#[derive(Debug)]
pub(crate) struct TextCache {
    dir: PathBuf,
    /// What reads the documents that are not kept.
    pub extractor: Extractor,
}

impl TextCache {
    /// Keeps its texts in a folder of `home`, which is made when there is something to keep.
    pub fn open(home: &Path) -> Self {
        Self {
            dir: home.join(folder()),
            extractor: Extractor::default(),
        }
    }

    /// What the file says, or why it says nothing: [`SkipReason::Stopped`] once `cancel` is cancelled
    /// while it takes long. `source` is its name as evidence gives it.
    pub fn document_unless(
        &self,
        file: &Opened,
        source: &str,
        cancel: &CancellationToken,
    ) -> Result<Extraction, SkipReason> {
        if is_lines(file) {
            return self.extractor.extract(file, source, cancel);
        }
        let before = Stamp::from_metadata(file.meta());
        let path = file.path().to_owned();
        let goal = self.dir.join(name(&path, before));
        if let Some(known) = read_kept(&goal).filter(|kept| self.extractor.is_up_to_date(kept)) {
            return known;
        }
        let made = self.extractor.extract(file, source, cancel);
        let lasting = made.as_ref().err().is_none_or(SkipReason::is_lasting);
        // What changed while it was read is not kept under either time.
        if lasting
            && fs::symlink_metadata(&path).is_ok_and(|meta| Stamp::from_metadata(&meta) == before)
            && let Err(error) = self.keep(&goal, &made)
        {
            tracing::debug!(%source, %error, "its text is not kept");
        }
        made
    }

    /// Whether nothing is to be found in this file; `None` where finding out would take long.
    /// Keeps nothing.
    pub fn is_left_out(
        &self,
        file: &Opened,
        source: &str,
        cancel: &CancellationToken,
    ) -> Option<bool> {
        if is_lines(file) {
            return Some(self.extractor.extract(file, source, cancel).is_err());
        }
        let kept = self
            .dir
            .join(name(file.path(), Stamp::from_metadata(file.meta())));
        Some(read_kept(&kept)?.is_err())
    }

    /// Removes the texts that belong to none of these files any more, and nothing that is not named
    /// as they are. What cannot be removed now is removed next time.
    pub fn tidy(&self, files: &[SourceFile]) {
        if refuse_link(&self.dir).is_err() {
            return;
        }
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return;
        };
        let used: HashSet<String> = files
            .iter()
            .map(|file| name(&file.path, file.stamp))
            .collect();
        for entry in entries.flatten() {
            let is_old = |n: &str| is_unfinished(n) || (is_a_text(n) && !used.contains(n));
            if entry.file_name().to_str().is_some_and(is_old) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn keep(&self, goal: &Path, made: &Result<Extraction, SkipReason>) -> io::Result<()> {
        create_private_dir(&self.dir)?;
        write_cache_by(goal, |file| pack(made, file))
    }
}

/// `None` where nothing is kept, or nothing whole.
fn read_kept(path: &Path) -> Option<Result<Extraction, SkipReason>> {
    unpack(&read_all(&open_unlinked(path).ok()?, LARGEST).ok()?)
}

fn name(path: &Path, stamp: Stamp) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&VERSION.to_le_bytes());
    for part in [stamp.size, stamp.modified, stamp.changed, stamp.inode] {
        hasher.update(&part.to_le_bytes());
    }
    hasher.update(path.as_os_str().as_encoded_bytes());
    hasher.finalize().to_hex()[..NAME].to_owned()
}

fn is_a_text(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == NAME && name.bytes().all(is_digit)
}

/// The hash of the rest, the length of what is said of the text, that, the text.
fn pack(made: &Result<Extraction, SkipReason>, to: &mut impl Write) -> io::Result<()> {
    let said = Extraction::encode(made)?;
    let text = made.as_ref().map_or("", |document| &document.text);
    let length = (said.len() as u64).to_le_bytes();
    let parts = [&length, said.as_slice(), text.as_bytes()];
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    to.write_all(hasher.finalize().as_bytes())?;
    parts.into_iter().try_for_each(|part| to.write_all(part))
}

fn unpack(bytes: &[u8]) -> Option<Result<Extraction, SkipReason>> {
    let (hash, body) = bytes.split_at_checked(blake3::OUT_LEN)?;
    if blake3::hash(body).as_bytes() != hash {
        return None;
    }
    let (length, body) = body.split_first_chunk()?;
    let (said, text) = body.split_at_checked(u64::from_le_bytes(*length) as usize)?;
    Extraction::decode(said, str::from_utf8(text).ok()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Place, PlaceUnit};
    use crate::kb::extract::{Mark, TextLayout};

    fn document() -> Extraction {
        Extraction {
            text: "one\n\ntwo\n".to_owned(),
            title: Some("A title\nof two lines".to_owned()),
            shape: TextLayout::Plain,
            places: vec![Mark {
                line: 1,
                place: Place {
                    unit: PlaceUnit::Page,
                    name: None,
                    start: 1,
                    end: 1,
                },
            }],
            missing: Vec::new(),
        }
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_torn_does_not() {
        for made in [
            Ok(document()),
            Err(SkipReason::Damaged("its end".to_owned())),
        ] {
            let mut packed = Vec::new();
            pack(&made, &mut packed).unwrap();
            assert_eq!(unpack(&packed), Some(made));
            for end in 0..packed.len() {
                assert_eq!(unpack(&packed[..end]), None);
            }
        }
    }

    #[test]
    fn another_time_size_or_file_is_another_text() {
        let path = Path::new("/a/b.pdf");
        let stamp = |size, modified, changed, inode| Stamp {
            size,
            modified,
            changed,
            inode,
        };
        let names = [
            name(path, stamp(1, 2, 3, 4)),
            name(path, stamp(2, 1, 3, 4)),
            name(path, stamp(1, 3, 3, 4)),
            name(path, stamp(1, 2, 4, 4)),
            name(path, stamp(1, 2, 3, 5)),
            name(Path::new("/a/c.pdf"), stamp(1, 2, 3, 4)),
        ];
        assert_eq!(HashSet::from(names).len(), 6);
    }
}
