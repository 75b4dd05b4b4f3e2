//! The one door to what is indexed.
//!
//! Searching knows these verbs and nothing of files, so that a remote engine can stand behind
//! them. The embedded store joins the lexical index, the vectors and the manifest; a reader sees
//! one commit of all of them, also while the next one is being written.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::KbError;
use super::lexical::{self, LexicalIndex, LexicalView};
use super::manifest::{Document, Manifest};
use super::vectors::Vectors;
use crate::domain::{LineRange, Place};

/// Raised when what is on disk changes its shape; an older index is then made anew.
const FORMAT: u32 = 2;

/// The hash of what a chunk says: what names its vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ChunkKey(pub(super) [u8; Self::BYTES]);

impl ChunkKey {
    pub(super) const BYTES: usize = 16;

    /// Of a chunk's indexed text.
    pub(super) fn of(text: &str) -> Self {
        let mut key = [0; Self::BYTES];
        key.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..Self::BYTES]);
        Self(key)
    }

    pub(super) fn to_hex(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// Anything else than a key gives the key of nothing.
    pub(super) fn from_hex(hex: &str) -> Self {
        Self(u128::from_str_radix(hex, 16).unwrap_or(0).to_be_bytes())
    }
}

impl Serialize for ChunkKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for ChunkKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Ok(Self::from_hex(&hex))
    }
}

/// An indexed chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its file, as evidence names it.
    pub source: String,
    /// Where in the file.
    pub lines: LineRange,
    /// Where in a format that has places.
    pub place: Option<Place>,
    /// The headings above it.
    pub heading: String,
    /// The text of these lines.
    pub text: String,
    /// Names its vector.
    pub(super) key: ChunkKey,
}

/// A passage and how well it matched, by the measure of the search that found it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Match {
    /// The passage.
    pub passage: Passage,
    /// BM25 or cosine.
    pub score: f64,
}

impl Match {
    pub(super) fn best_first(a: &Self, b: &Self) -> Ordering {
        let place = |m: &Self| (m.passage.source.clone(), m.passage.lines.start);
        b.score
            .total_cmp(&a.score)
            .then_with(|| place(a).cmp(&place(b)))
    }
}

/// What a lexical search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct LexicalMatches {
    /// Best first, with their BM25.
    pub matches: Vec<Match>,
    /// The BM25 of a passage that holds all terms of the query well: what makes the scores of
    /// different queries comparable.
    pub full: f64,
}

/// Documents to stay within; `None` for all.
pub(super) type Within<'a> = Option<&'a HashSet<String>>;

/// What can be asked of an index.
pub(super) trait Store: Send + Sync {
    /// The chunks that hold the query's words, best first.
    fn lexical(&self, query: &str, k: usize, within: Within<'_>)
    -> Result<LexicalMatches, KbError>;

    /// The chunks nearest to the vector with their cosine, best first; only those that have one.
    fn semantic(&self, vector: &[f32], k: usize, within: Within<'_>)
    -> Result<Vec<Match>, KbError>;

    /// The cosine of each of these chunks, where it is known.
    fn similarities(&self, vector: &[f32], keys: &[ChunkKey]) -> Result<Vec<Option<f64>>, KbError>;

    /// The chunks with that key: more than one when documents repeat each other.
    fn passages(&self, key: &ChunkKey) -> Result<Vec<Passage>, KbError>;

    /// All documents, ordered by name.
    fn documents(&self) -> Result<Arc<[Document]>, KbError>;
}

/// The store in the data folder.
pub(super) struct EmbeddedStore {
    dir: PathBuf,
    pub lexical: LexicalIndex,
    pub vectors: RwLock<Vectors>,
    view: RwLock<Arc<View>>,
    /// Held while a view is loaded, or an older one could replace a newer one.
    loading: Mutex<()>,
}

/// One commit.
pub(super) struct View {
    pub generation: u64,
    /// Whether the manifest that the commit names could be read.
    pub sound: bool,
    pub documents: Arc<[Document]>,
    pub live: HashSet<ChunkKey>,
    pub chunks: usize,
    pub lexical: LexicalView,
}

impl EmbeddedStore {
    /// Opens the index in a subfolder of `home`; `None` when there is none yet.
    pub fn open(home: &Path, model_id: &str) -> Result<Option<Self>, KbError> {
        let dir = dir_in(home);
        match LexicalIndex::open(&dir.join("lexical"))? {
            Some(lexical) => Self::over(dir, lexical, model_id).map(Some),
            None => Ok(None),
        }
    }

    /// Makes the lexical index anew, whatever is there. The vectors stay: they are named by what
    /// they were made of, so that the chunks find them again. Only under the lock.
    pub fn create(home: &Path, model_id: &str) -> Result<Self, KbError> {
        let dir = dir_in(home);
        fs::create_dir_all(&dir).map_err(KbError::io(&dir))?;
        let lexical = LexicalIndex::create(&dir.join("lexical"))?;
        Self::over(dir, lexical, model_id)
    }

    /// Removes all that is indexed, the vectors included. Only under the lock.
    pub fn discard(home: &Path) -> Result<(), KbError> {
        lexical::remove(&dir_in(home))
    }

    fn over(dir: PathBuf, lexical: LexicalIndex, model_id: &str) -> Result<Self, KbError> {
        let vectors = RwLock::new(Vectors::open(&dir, model_id)?);
        let view = RwLock::new(Arc::new(load(&dir, &lexical)?));
        Ok(Self {
            dir,
            lexical,
            vectors,
            view,
            loading: Mutex::new(()),
        })
    }

    /// Where its files are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The commit that is searched now.
    pub fn view(&self) -> Arc<View> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&view)
    }

    /// Moves on to the last commit, whoever made it.
    pub fn reload(&self) -> Result<Arc<View>, KbError> {
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.view();
        if known.sound && known.generation == self.lexical.payload()?.generation {
            return Ok(known);
        }
        let fresh = Arc::new(load(&self.dir, &self.lexical)?);
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        *view = Arc::clone(&fresh);
        Ok(fresh)
    }

    /// Reads the vectors again, with what another process has added.
    pub fn reload_vectors(&self, model_id: &str) -> Result<(), KbError> {
        {
            let known = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
            if known.is_current() {
                return Ok(());
            }
        }
        let fresh = Vectors::open(&self.dir, model_id)?;
        let mut vectors = self.vectors.write().unwrap_or_else(PoisonError::into_inner);
        *vectors = fresh;
        Ok(())
    }

    /// How many chunks have no vector yet.
    pub fn pending(&self) -> usize {
        let view = self.view();
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        view.live
            .iter()
            .filter(|key| !vectors.contains(key))
            .count()
    }
}

impl Store for EmbeddedStore {
    fn lexical(
        &self,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches, KbError> {
        let view = self.view();
        if !view.sound {
            return Ok(LexicalMatches::default());
        }
        view.lexical.search(query, k, within)
    }

    fn semantic(
        &self,
        vector: &[f32],
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Match>, KbError> {
        let view = self.view();
        let subset: Option<HashSet<ChunkKey>> = within.map(|sources| {
            view.documents
                .iter()
                .filter(|document| sources.contains(&document.source))
                .flat_map(|document| document.chunks.iter().copied())
                .collect()
        });
        let wanted = subset.as_ref().unwrap_or(&view.live);
        let nearest = {
            let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
            vectors.nearest(vector, k, |key| wanted.contains(key))
        };
        let mut matches = Vec::with_capacity(nearest.len());
        for (key, score) in nearest {
            for passage in view.lexical.passages(&key)? {
                if within.is_none_or(|sources| sources.contains(&passage.source)) {
                    matches.push(Match { passage, score });
                }
            }
        }
        matches.sort_by(Match::best_first);
        matches.truncate(k);
        Ok(matches)
    }

    fn similarities(&self, vector: &[f32], keys: &[ChunkKey]) -> Result<Vec<Option<f64>>, KbError> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        Ok(keys.iter().map(|key| vectors.cosine(vector, key)).collect())
    }

    fn passages(&self, key: &ChunkKey) -> Result<Vec<Passage>, KbError> {
        self.view().lexical.passages(key)
    }

    fn documents(&self) -> Result<Arc<[Document]>, KbError> {
        Ok(Arc::clone(&self.view().documents))
    }
}

fn dir_in(home: &Path) -> PathBuf {
    home.join(format!("v{FORMAT}"))
}

/// Another process may commit, and tidy up, between any two of these reads: then they are done
/// again, so that documents and words always are of the same commit.
fn load(dir: &Path, lexical: &LexicalIndex) -> Result<View, KbError> {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        let generation = lexical.payload()?.generation;
        let manifest = match generation {
            0 => Some(Manifest::default()),
            _ => Manifest::load(dir, generation)?,
        };
        let searcher = lexical.searcher()?;
        if lexical.payload()?.generation == generation {
            return Ok(view_of(generation, manifest, searcher));
        }
    }
    Err(KbError::Locked)
}

fn view_of(generation: u64, manifest: Option<Manifest>, lexical: LexicalView) -> View {
    let sound = manifest.is_some();
    let documents = manifest.unwrap_or_default().documents;
    let chunks = documents.iter().map(|document| document.chunks.len()).sum();
    let live = documents
        .iter()
        .flat_map(|document| document.chunks.iter().copied())
        .collect();
    View {
        generation,
        sound,
        documents: documents.into(),
        live,
        chunks,
        lexical,
    }
}
