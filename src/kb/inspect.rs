//! What an index is like, without opening it for use.
//!
//! Opening makes what is missing and mends what is damaged; who looks for what is wrong must find
//! it as it is. So nothing is made here but what every look at an index leaves, and whether
//! another process is at work is seen without keeping it from that.

use std::fs;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::error::KbError;
use super::index::{EmbeddedStore, Limits, Reader, Right, Store, is_held};
use super::source::{Roots, SourceFile, Sources, TextCache, WalkResult, cache, walk};
use super::update::plan;

/// The most new files that are looked into; with more of them the index is not up to date in any case.
const MOST_LOOKED_INTO: usize = 500;

/// An index, and the files it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The folders' names.
    pub name: String,
    /// The folder of the index.
    pub home: PathBuf,
    /// The name of this version's format.
    pub format: String,
    /// The state of the index.
    pub state: IndexState,
    /// Whether another process changes documents at this moment.
    pub is_written: bool,
    /// Whether another process embeds at this moment.
    pub is_embedded: bool,
    /// Files that belong to the base.
    pub files: usize,
    /// Files that are not part of the index, and will not be.
    pub left_out: usize,
    /// The folders of other versions of the program beside it.
    pub others: Vec<OtherVersion>,
    /// The damage to the vectors of the model, if there is any.
    pub damaged_vectors: Option<String>,
}

/// A folder that another version of the program has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherVersion {
    /// The name of the folder.
    pub name: String,
    /// Bytes of its files.
    pub size: u64,
}

/// The state of the folder of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexState {
    /// Nothing yet.
    Missing,
    /// Indexes of other versions of the program only, by the names of their formats.
    OtherFormat(Vec<String>),
    /// An index that cannot be read and is made anew, with the reason.
    Damaged(String),
    /// An index.
    Ready(Indexed),
}

/// What an index holds, and how the files differ from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Indexed {
    /// Documents.
    pub documents: usize,
    /// Chunks.
    pub chunks: usize,
    /// Chunks that are found by their words only.
    pub words_only: usize,
    /// Chunks without a vector of the model.
    pub pending: usize,
    /// How long the model's vectors are; `None` while there are none.
    pub dimensions: Option<usize>,
    /// Files that are not in the index yet.
    pub new: usize,
    /// Documents whose file looks different now.
    pub changed: usize,
    /// Documents whose file is gone.
    pub vanished: usize,
    /// Documents that were removed since the list of documents was last written anew.
    pub removed: usize,
}

/// Looks at the index of these folders, and at the folders. Blocks, for as long as a walk over
/// all files takes.
pub fn inspect(
    sources: impl Into<Sources>,
    index_home: &Path,
    model_id: &str,
    cancel: &CancellationToken,
) -> Result<Inspection, KbError> {
    let roots = Roots::open(sources)?;
    let home = EmbeddedStore::home_of(&roots, index_home)?;
    let others = others(&home);
    let (store, mut state) = open(&home, model_id, &others, cancel)?;
    let mut damaged_vectors = None;
    if let Some(store) = &store {
        let damage = store.damage(model_id, Limits::of_a_call(cancel))?;
        damaged_vectors = damage.vectors;
        if let Some(why) = damage.documents {
            state = IndexState::Damaged(why);
        }
    }
    let is_written = is_held(&home, Right::Documents)?;
    let is_embedded = is_held(&home, Right::Vectors)?;
    let walked = walk(&roots, cancel);
    let mut left_out = walked.skipped.len();
    if let (Some(store), IndexState::Ready(indexed)) = (&store, &mut state) {
        let unknown = compare(indexed, store.reader().as_ref(), &walked, cancel)?;
        let texts = TextCache::open(&home);
        let silent = unknown
            .iter()
            .take(MOST_LOOKED_INTO)
            .filter(|file| match roots.open_file(&file.path) {
                Ok(opened) => texts.is_left_out(&opened, &file.source, cancel) == Some(true),
                Err(_) => true,
            })
            .count();
        indexed.new -= silent;
        left_out += silent;
    }
    Ok(Inspection {
        name: roots.name(),
        home,
        format: EmbeddedStore::format(),
        state,
        is_written,
        is_embedded,
        files: walked.found.len(),
        left_out,
        others,
        damaged_vectors,
    })
}

/// Whether some version of the program has kept the index of some folders here.
pub fn holds_an_index(index_home: &Path) -> bool {
    let entries = fs::read_dir(index_home).into_iter().flatten().flatten();
    let folders = |entries: fs::ReadDir| {
        let entries = entries.flatten();
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    };
    let homes = entries.filter_map(|entry| fs::read_dir(entry.path()).ok());
    homes.flat_map(folders).any(|folder| {
        let name = folder.file_name();
        name.to_str().is_some_and(EmbeddedStore::is_a_format)
    })
}

/// The folders of other versions, in the order of their names.
fn others(home: &Path) -> Vec<OtherVersion> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut others: Vec<OtherVersion> = folders
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_ours = EmbeddedStore::is_a_format(&name) || cache::is_a_folder(&name);
            (is_ours && !EmbeddedStore::is_own(&name)).then(|| OtherVersion {
                size: size_of_files(&entry.path()),
                name,
            })
        })
        .collect();
    others.sort_by(|a, b| a.name.cmp(&b.name));
    others
}

/// The size in bytes of all files below a folder; links are not followed.
fn size_of_files(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of_files(&entry.path()),
        _ => entry.metadata().map_or(0, |meta| meta.len()),
    });
    sizes.sum()
}

fn open(
    home: &Path,
    model_id: &str,
    others: &[OtherVersion],
    cancel: &CancellationToken,
) -> Result<(Option<EmbeddedStore>, IndexState), KbError> {
    if !home.is_dir() {
        return Ok((None, IndexState::Missing));
    }
    let state = match EmbeddedStore::open_existing(home, model_id) {
        Ok(Some(store)) => {
            let (reader, limits) = (store.reader(), Limits::of_a_call(cancel));
            if reader.generation() == 0 {
                return Ok((None, IndexState::Missing));
            }
            let counts = reader.counts(limits)?;
            let indexed = Indexed {
                documents: counts.documents,
                chunks: counts.chunks,
                words_only: counts.words_only,
                pending: reader.pending_count(limits)?,
                dimensions: store.dimensions(limits)?,
                removed: store.removals(),
                ..Indexed::default()
            };
            return Ok((Some(store), IndexState::Ready(indexed)));
        }
        Ok(None) => {
            let names = others.iter().map(|other| other.name.clone());
            let formats: Vec<String> = names
                .filter(|name| EmbeddedStore::is_a_format(name))
                .collect();
            if formats.is_empty() {
                IndexState::Missing
            } else {
                IndexState::OtherFormat(formats)
            }
        }
        Err(KbError::Damaged(why)) => IndexState::Damaged(why),
        Err(error) => return Err(error),
    };
    Ok((None, state))
}

/// Counts the differences; returns the files that no document is of.
fn compare<'a>(
    indexed: &mut Indexed,
    reader: &dyn Reader,
    walked: &'a WalkResult,
    cancel: &CancellationToken,
) -> Result<Vec<&'a SourceFile>, KbError> {
    let plan = plan(walked, Some(reader), cancel)?;
    let mut unknown = Vec::new();
    for changed in plan.changed {
        match changed.old {
            // A file that was changed a moment before it was read looks changed to an update.
            Some(old) if old.stamp.map(|own| own.stamp) == Some(changed.file.stamp) => {}
            Some(_) => indexed.changed += 1,
            None => unknown.push(changed.file),
        }
    }
    indexed.new = unknown.len();
    indexed.vanished = plan.vanished.len();
    Ok(unknown)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agent::ports::{EmbedError, Embedder};
    use crate::kb::KnowledgeBase;
    use crate::kb::index::try_lock;

    struct Constant;

    impl Embedder for Constant {
        fn model_id(&self) -> &'static str {
            "constant"
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
        }
    }

    fn look(docs: &Path, home: &Path, model: &str) -> Inspection {
        inspect(&[docs.to_owned()], home, model, &CancellationToken::new()).unwrap()
    }

    fn indexed(docs: &Path, home: &Path) -> KnowledgeBase {
        let base = KnowledgeBase::open(&[docs.to_owned()], home, Arc::new(Constant)).unwrap();
        base.update(&|_| {}, &CancellationToken::new()).unwrap();
        base
    }

    #[test]
    fn a_base_without_an_index_gets_none_by_being_looked_at() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(docs.path().join("a.md"), "one\n").unwrap();
        let seen = look(docs.path(), home.path(), "constant");
        assert_eq!((seen.state, seen.files), (IndexState::Missing, 1));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_differs_from_the_files_is_counted() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = |name: &str| docs.path().join(name);
        for name in ["a.md", "b.md", "c.md"] {
            fs::write(file(name), format!("the text of {name}\n")).unwrap();
        }
        fs::write(file("picture.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
        drop(indexed(docs.path(), home.path()));
        let all = Indexed {
            documents: 3,
            chunks: 3,
            dimensions: Some(2),
            ..Indexed::default()
        };
        let seen = look(docs.path(), home.path(), "constant");
        assert_eq!((seen.state, seen.left_out), (IndexState::Ready(all), 1));

        fs::write(file("a.md"), "another and longer text\n").unwrap();
        fs::remove_file(file("b.md")).unwrap();
        fs::write(file("d.md"), "new\n").unwrap();
        let seen = look(docs.path(), home.path(), "constant");
        let differs = Indexed {
            new: 1,
            changed: 1,
            vanished: 1,
            ..all
        };
        assert_eq!(seen.state, IndexState::Ready(differs));
        // Another model has no vectors yet.
        let other = look(docs.path(), home.path(), "other");
        let unembedded = Indexed {
            pending: 3,
            dimensions: None,
            ..differs
        };
        assert_eq!(other.state, IndexState::Ready(unembedded));
    }

    #[test]
    fn removed_documents_are_counted_until_the_index_is_made_anew() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["a.md", "b.md", "c.md"] {
            fs::write(docs.path().join(name), format!("the text of {name}\n")).unwrap();
        }
        let removed = || match look(docs.path(), home.path(), "constant").state {
            IndexState::Ready(indexed) => indexed.removed,
            other => panic!("{other:?}"),
        };
        drop(indexed(docs.path(), home.path()));
        assert_eq!(removed(), 0);
        fs::remove_file(docs.path().join("b.md")).unwrap();
        assert_eq!(removed(), 0, "the index does not know of it yet");
        drop(indexed(docs.path(), home.path()));
        fs::write(docs.path().join("a.md"), "another and longer text\n").unwrap();
        let base = indexed(docs.path(), home.path());
        assert_eq!(removed(), 1, "a changed document was not removed");
        drop(base);
        let place = look(docs.path(), home.path(), "constant").home;
        EmbeddedStore::discard(&place).unwrap();
        drop(indexed(docs.path(), home.path()));
        assert_eq!(removed(), 0);
    }

    #[test]
    fn damage_and_other_formats_are_reported_and_left_alone() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(docs.path().join("a.md"), "one\n").unwrap();
        drop(indexed(docs.path(), home.path()));
        let place = look(docs.path(), home.path(), "constant").home;
        let format = place.join(EmbeddedStore::format());
        let meta = format.join("lexical/meta.json");
        let whole = fs::read(&meta).unwrap();
        fs::write(&meta, "no JSON").unwrap();
        let seen = look(docs.path(), home.path(), "constant");
        assert!(matches!(seen.state, IndexState::Damaged(_)), "{seen:?}");
        assert_eq!(fs::read(&meta).unwrap(), b"no JSON");

        fs::write(&meta, whole).unwrap();
        fs::rename(&format, place.join("v1-1")).unwrap();
        let seen = look(docs.path(), home.path(), "constant");
        assert_eq!(seen.state, IndexState::OtherFormat(vec!["v1-1".to_owned()]));
        assert!(!format.exists());
    }

    #[test]
    fn a_writer_at_work_is_seen_and_not_disturbed() {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(docs.path().join("a.md"), "one\n").unwrap();
        drop(indexed(docs.path(), home.path()));
        let place = look(docs.path(), home.path(), "constant").home;
        let held = try_lock(&place, Right::Documents).unwrap().unwrap();
        let seen = look(docs.path(), home.path(), "constant");
        assert!(seen.is_written && !seen.is_embedded);
        assert!(matches!(seen.state, IndexState::Ready(_)));
        drop(held);
        assert!(!look(docs.path(), home.path(), "constant").is_written);
    }
}
