//! Documents as text, read once.
//!
//! A file that is lines of text is read from its place each time: that is as quick as any copy.
//! A format that has to be taken apart (a PDF takes a second) is taken apart once, and its
//! [`Extraction`] kept on disk, for the update, grep and `read_file` alike; also that a file
//! cannot be read, or every search would try again. What is kept is named by the file's path,
//! size and time, so a changed file is simply another one, and says itself whether it is whole:
//! a file that a crash cut short is not believed but made anew.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::extract::{self, Extraction, Mark, Shape, SkipReason};
use super::walk::Found;

/// Raised when extraction gets better, so that what is kept is made anew.
const VERSION: u32 = 2;

/// Where the texts are kept, beside the index: they outlive its formats.
pub(super) const FOLDER: &str = "texts";

/// Where documents are read from.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    dir: PathBuf,
}

/// What is kept of an extraction beside its text.
#[derive(Serialize, Deserialize)]
struct Label {
    title: Option<String>,
    shape: Shape,
    places: Vec<Mark>,
}

impl Shelf {
    /// Keeps its texts in a folder of `home`, which is made when there is something to keep.
    pub fn open(home: &Path) -> Self {
        Self {
            dir: home.join(FOLDER),
        }
    }

    /// What the file says, or why it says nothing. `source` is its name as evidence gives it.
    pub fn document(&self, path: &Path, source: &str) -> Result<Extraction, SkipReason> {
        self.document_unless(path, source, &AtomicBool::new(false))
    }

    /// The same, and [`SkipReason::Stopped`] once `stop` is raised while it takes long.
    pub fn document_unless(
        &self,
        path: &Path,
        source: &str,
        stop: &AtomicBool,
    ) -> Result<Extraction, SkipReason> {
        if extract::is_lines(path) {
            return extract::extract(path, source, stop);
        }
        let Some(before) = stamp(path) else {
            return extract::extract(path, source, stop);
        };
        let goal = self.dir.join(name(path, before));
        if let Some(known) = fs::read(&goal).ok().and_then(|bytes| unpack(&bytes)) {
            return known;
        }
        let made = extract::extract(path, source, stop);
        let lasting = made.as_ref().err().is_none_or(SkipReason::is_lasting);
        // What changed while it was read is not kept under either time.
        if lasting
            && stamp(path) == Some(before)
            && let Err(error) = self.keep(&goal, &made)
        {
            tracing::debug!(%source, %error, "its text is not kept");
        }
        made
    }

    /// Whether nothing is to be found in this file; `None` where finding out would take long.
    /// Keeps nothing.
    pub fn is_left_out(&self, path: &Path, source: &str, stop: &AtomicBool) -> Option<bool> {
        if extract::is_lines(path) {
            return Some(extract::extract(path, source, stop).is_err());
        }
        let kept = self.dir.join(name(path, stamp(path)?));
        let known = fs::read(kept).ok().and_then(|bytes| unpack(&bytes))?;
        Some(known.is_err())
    }

    /// Removes the texts that belong to none of these files any more. What cannot be removed now
    /// is removed next time.
    pub fn tidy(&self, files: &[Found]) {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return;
        };
        let used: HashSet<String> = files
            .iter()
            .map(|file| name(&file.path, (file.stamp.size, file.stamp.modified)))
            .collect();
        for entry in entries.flatten() {
            let known = entry.file_name().to_str().is_some_and(|n| used.contains(n));
            if !known {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn keep(&self, goal: &Path, made: &Result<Extraction, SkipReason>) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let mut file = NamedTempFile::new_in(&self.dir)?;
        file.write_all(&pack(made)?)?;
        file.persist(goal).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Size, and nanoseconds since 1970.
fn stamp(path: &Path) -> Option<(u64, u64)> {
    let meta = fs::metadata(path).ok()?;
    let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((meta.len(), modified.as_nanos() as u64))
}

fn name(path: &Path, (size, modified): (u64, u64)) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&VERSION.to_le_bytes());
    hasher.update(&size.to_le_bytes());
    hasher.update(&modified.to_le_bytes());
    hasher.update(path.as_os_str().as_encoded_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The hash of the rest, the label, the text: a line each for the first two.
fn pack(made: &Result<Extraction, SkipReason>) -> io::Result<Vec<u8>> {
    let (label, text) = match made {
        Ok(document) => {
            let label = Label {
                title: document.title.clone(),
                shape: document.shape,
                places: document.places.clone(),
            };
            (Ok(label), document.text.as_str())
        }
        Err(reason) => (Err(reason), ""),
    };
    let label = serde_json::to_vec(&label)?;
    let body = [label.as_slice(), b"\n", text.as_bytes()].concat();
    let hash = blake3::hash(&body).to_hex();
    Ok([hash.as_bytes(), b"\n", &body].concat())
}

fn unpack(bytes: &[u8]) -> Option<Result<Extraction, SkipReason>> {
    let (hash, body) = split_line(bytes)?;
    if blake3::hash(body).to_hex().as_bytes() != hash {
        return None;
    }
    let (label, text) = split_line(body)?;
    let label: Result<Label, SkipReason> = serde_json::from_slice(label).ok()?;
    let text = str::from_utf8(text).ok()?;
    Some(label.map(|label| Extraction {
        text: text.to_owned(),
        title: label.title,
        shape: label.shape,
        places: label.places,
    }))
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'\n', bytes)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Place, PlaceUnit};

    fn document() -> Extraction {
        Extraction {
            text: "one\n\ntwo\n".to_owned(),
            title: Some("A title\nof two lines".to_owned()),
            shape: Shape::Plain,
            places: vec![Mark {
                line: 1,
                place: Place {
                    unit: PlaceUnit::Page,
                    name: None,
                    start: 1,
                    end: 1,
                },
            }],
        }
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_torn_does_not() {
        for made in [
            Ok(document()),
            Err(SkipReason::Damaged("its end".to_owned())),
        ] {
            let packed = pack(&made).unwrap();
            assert_eq!(unpack(&packed), Some(made));
            for end in 0..packed.len() {
                assert_eq!(unpack(&packed[..end]), None);
            }
        }
    }

    #[test]
    fn another_time_or_size_is_another_text() {
        let path = Path::new("/a/b.pdf");
        let names = [
            name(path, (1, 2)),
            name(path, (2, 1)),
            name(path, (1, 3)),
            name(Path::new("/a/c.pdf"), (1, 2)),
        ];
        assert_eq!(HashSet::from(names).len(), 4);
    }
}
