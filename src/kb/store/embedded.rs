//! The store in the data folder: the lexical index, the vectors and the manifest as one.
//!
//! Below `home` lie the vectors, which stay valid as long as the model does, and a folder for the
//! words and the manifest, which is named by everything that decides what is in it: another
//! version of the program finds another folder, or none, and makes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::commit::{DocumentBatch, EmbeddingBatch};
use super::join::Join;
use super::{
    Batch, ChunkId, ChunkKey, LexicalMatches, Match, Passage, Snapshot, Store, VectorBatch, Within,
};
use crate::kb::error::KbError;
use crate::kb::lexical::{self, LexicalIndex, LexicalView, Row};
use crate::kb::lock::{Held, Right, lock, try_lock};
use crate::kb::manifest::{Document, Manifest};
use crate::kb::shelf;
use crate::kb::tokens;
use crate::kb::vectors::Vectors;

/// Raised when what is on disk changes its shape, or when the same files would be read or cut
/// into other chunks.
const FORMAT: u32 = 3;

/// The store in the data folder.
pub(in crate::kb) struct EmbeddedStore {
    pub(super) home: PathBuf,
    pub(super) dir: PathBuf,
    pub(super) lexical: LexicalIndex,
    pub(super) vectors: Arc<RwLock<Vectors>>,
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
    pub next_number: u32,
    /// Which document has a number; ordered by number.
    by_number: Vec<(u32, u32)>,
    /// How many chunks come before each document, and after the last.
    first: Vec<usize>,
    lexical: LexicalView,
    vectors: Arc<RwLock<Vectors>>,
    join: Mutex<Option<Arc<Join>>>,
}

impl EmbeddedStore {
    /// Opens the index in `home`. A first opening makes files and a damaged index is made anew:
    /// both only under the lock, and both only when that is what is wrong. Every other failure is
    /// the caller's to see.
    pub fn open(home: &Path, model_id: &str) -> Result<Self, KbError> {
        match Self::open_existing(home, model_id) {
            Ok(None) | Err(KbError::Damaged(_)) => {}
            Ok(Some(store)) => return Ok(store),
            Err(error) => return Err(error),
        }
        let _held = lock(home, Right::Documents)?;
        // Another process may have done it meanwhile.
        match Self::open_existing(home, model_id) {
            Ok(Some(store)) => return Ok(store),
            Ok(None) => {}
            Err(KbError::Damaged(why)) => {
                tracing::warn!(%why, "the index is damaged and is made anew");
            }
            Err(error) => return Err(error),
        }
        // The vectors stay: they are named by what they were made of, so that the chunks find
        // them again.
        let dir = dir_in(home);
        fs::create_dir_all(&dir).map_err(KbError::io(&dir))?;
        let lexical = LexicalIndex::create(&dir.join("lexical"))?;
        Self::over(home, dir, lexical, model_id)
    }

    /// Removes the words and the manifest, whatever is there.
    pub fn discard(home: &Path) -> Result<(), KbError> {
        let _held = lock(home, Right::Documents)?;
        lexical::remove(&dir_in(home))
    }

    fn open_existing(home: &Path, model_id: &str) -> Result<Option<Self>, KbError> {
        let dir = dir_in(home);
        match LexicalIndex::open(&dir.join("lexical"))? {
            Some(lexical) => Self::over(home, dir, lexical, model_id).map(Some),
            None => Ok(None),
        }
    }

    fn over(
        home: &Path,
        dir: PathBuf,
        lexical: LexicalIndex,
        model_id: &str,
    ) -> Result<Self, KbError> {
        let vectors = Arc::new(RwLock::new(Vectors::open(home, model_id)?));
        let view = RwLock::new(Arc::new(load(&dir, &lexical, &vectors)?));
        Ok(Self {
            home: home.to_owned(),
            dir,
            lexical,
            vectors,
            view,
            loading: Mutex::new(()),
        })
    }

    /// The commit that is searched now.
    pub(super) fn view(&self) -> Arc<View> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&view)
    }

    /// Moves on to the last commit, whoever made it.
    pub(super) fn reload(&self) -> Result<Arc<View>, KbError> {
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.view();
        if known.sound && known.generation == self.lexical.payload()?.generation {
            return Ok(known);
        }
        let fresh = Arc::new(load(&self.dir, &self.lexical, &self.vectors)?);
        self.install(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// The commit that this process has just made.
    pub(super) fn show(
        &self,
        generation: u64,
        documents: Arc<[Document]>,
        next_number: u32,
    ) -> Result<(), KbError> {
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let lexical = self.lexical.searcher()?;
        let vectors = Arc::clone(&self.vectors);
        let view = View {
            generation,
            next_number,
            ..View::new(documents, lexical, vectors)
        };
        self.install(Arc::new(view));
        Ok(())
    }

    /// The same commit, with its segments as they are now.
    pub(super) fn look_again(&self) -> Result<(), KbError> {
        let view = self.view();
        let documents = Arc::clone(&view.documents);
        self.show(view.generation, documents, view.next_number)
    }

    fn install(&self, fresh: Arc<View>) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        *view = fresh;
    }

    fn held(&self, right: Right<'_>) -> Result<Held, KbError> {
        try_lock(&self.home, right)?.ok_or(KbError::Locked)
    }

    /// What other versions of the program have left. What cannot be removed now is removed next
    /// time.
    fn remove_old_formats(&self) {
        for entry in fs::read_dir(&self.home).into_iter().flatten().flatten() {
            let stays = entry.path() == self.dir || entry.file_name() == shelf::FOLDER;
            if !stays && entry.path().is_dir() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Store for EmbeddedStore {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.view()
    }

    fn refresh(&self, model_id: &str) -> Result<(), KbError> {
        if let Err(error) = self.reload() {
            // What another process is about to replace need not be readable.
            let being_remade = matches!(error, KbError::Damaged(_))
                && try_lock(&self.home, Right::Documents)?.is_none();
            if !being_remade {
                return Err(error);
            }
        }
        let mut vectors = self.vectors.write().unwrap_or_else(PoisonError::into_inner);
        vectors.refresh_of(&self.home, model_id)
    }

    fn begin(&self, afresh: bool) -> Result<Box<dyn Batch + '_>, KbError> {
        let held = self.held(Right::Documents)?;
        self.remove_old_formats();
        let view = self.reload()?;
        Ok(Box::new(DocumentBatch::new(self, held, &view, afresh)))
    }

    fn begin_vectors(&self) -> Result<Box<dyn VectorBatch + '_>, KbError> {
        let held = self.held(Right::Vectors)?;
        let view = self.reload()?;
        let mut vectors = self.vectors.write().unwrap_or_else(PoisonError::into_inner);
        vectors.refresh()?;
        let join = view.join(&vectors);
        if join.stale() > STALE_ROWS.max(vectors.len() / 2) {
            let live: std::collections::HashSet<ChunkKey> = view
                .documents
                .iter()
                .flat_map(|document| document.chunks.iter().map(|chunk| chunk.key))
                .collect();
            vectors.compact(|key| live.contains(key))?;
        }
        if join.pending(&view.documents).is_empty() {
            vectors.remove_other_models();
        }
        drop(vectors);
        Ok(Box::new(EmbeddingBatch::new(self, held)))
    }
}

/// Vectors of vanished chunks that are tolerated before the files are written anew.
const STALE_ROWS: usize = 1000;

impl View {
    fn new(
        documents: Arc<[Document]>,
        lexical: LexicalView,
        vectors: Arc<RwLock<Vectors>>,
    ) -> Self {
        let mut first = Vec::with_capacity(documents.len() + 1);
        first.push(0);
        let mut chunks = 0;
        for document in documents.iter() {
            chunks += document.chunks.len();
            first.push(chunks);
        }
        let numbers = documents.iter().map(|document| document.number);
        let mut by_number: Vec<(u32, u32)> = numbers.zip(0..).collect();
        by_number.sort_unstable();
        Self {
            generation: 0,
            sound: true,
            documents,
            next_number: 0,
            by_number,
            first,
            lexical,
            vectors,
            join: Mutex::new(None),
        }
    }

    /// The vectors' rows and the chunks, put together.
    fn join(&self, vectors: &Vectors) -> Arc<Join> {
        let mut known = self.join.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(join) if join.epoch == vectors.epoch() => Arc::clone(join),
            _ => {
                let fresh = Arc::new(Join::of(&self.documents, self.chunks(), vectors));
                *known = Some(Arc::clone(&fresh));
                fresh
            }
        }
    }

    fn chunk_of(&self, row: Row) -> Option<ChunkId> {
        let at = self
            .by_number
            .binary_search_by_key(&row.document, |(number, _)| *number)
            .ok()?;
        let document = self.by_number[at].1 as usize;
        let chunk = self.first[document] + row.chunk as usize;
        (chunk < self.first[document + 1]).then_some(ChunkId(chunk as u64))
    }

    /// A chunk's document and its place there.
    fn place_of(&self, chunk: ChunkId) -> Option<(&Document, usize)> {
        let chunk = chunk.0 as usize;
        let at = self.first.partition_point(|first| *first <= chunk) - 1;
        let document = self.documents.get(at)?;
        Some((document, chunk - self.first[at]))
    }

    fn found(&self, chunk: ChunkId, score: f64) -> Option<Match> {
        let (document, at) = self.place_of(chunk)?;
        Some(Match {
            chunk,
            source: document.source.clone(),
            lines: document.chunks[at].lines,
            score,
        })
    }

    fn index_of(&self, source: &str) -> Option<usize> {
        self.documents
            .binary_search_by(|document| document.source.as_str().cmp(source))
            .ok()
    }

    /// The nearest chunks of these documents, each looked at.
    fn nearest_within<'a>(
        &self,
        vector: &[f32],
        k: usize,
        sources: impl Iterator<Item = &'a String>,
        vectors: &Vectors,
        join: &Join,
    ) -> Vec<(ChunkId, f64)> {
        let chunks = sources
            .filter_map(|source| self.index_of(source))
            .flat_map(|at| self.first[at]..self.first[at + 1])
            .map(|chunk| ChunkId(chunk as u64));
        let (chunks, rows): (Vec<ChunkId>, Vec<usize>) = chunks
            .filter_map(|chunk| Some((chunk, join.row(chunk)?)))
            .unzip();
        let cosines = vectors.cosines(vector, &rows).unwrap_or_default();
        let mut found: Vec<(ChunkId, f64)> = chunks.into_iter().zip(cosines).collect();
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(k);
        found
    }
}

impl Snapshot for View {
    fn commit(&self) -> u64 {
        self.generation
    }

    fn documents(&self) -> Arc<[Document]> {
        Arc::clone(&self.documents)
    }

    fn chunks(&self) -> usize {
        self.first.last().copied().unwrap_or(0)
    }

    fn lexical(
        &self,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches, KbError> {
        if !self.sound {
            return Ok(LexicalMatches::default());
        }
        let numbers: Option<Vec<u32>> = within.map(|sources| {
            let documents = sources.iter().filter_map(|source| self.index_of(source));
            documents.map(|at| self.documents[at].number).collect()
        });
        let found = self.lexical.search(query, k, numbers.as_deref())?;
        let matches = found.rows.into_iter();
        let mut matches: Vec<Match> = matches
            .filter_map(|(row, score)| self.found(self.chunk_of(row)?, score))
            .collect();
        matches.sort_by(Match::best_first);
        matches.truncate(k);
        Ok(LexicalMatches {
            matches,
            full: found.full,
        })
    }

    fn semantic(
        &self,
        vector: &[f32],
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Match>, KbError> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        vectors.fits(vector)?;
        let join = self.join(&vectors);
        let nearest: Vec<(ChunkId, f64)> = match within {
            Some(sources) => self.nearest_within(vector, k, sources.iter(), &vectors, &join),
            None => vectors
                .nearest(vector, k, &|row| join.is_live(row))
                .into_iter()
                .flat_map(|(row, score)| join.chunks(row).map(move |chunk| (chunk, score)))
                .collect(),
        };
        drop(vectors);
        let matches = nearest.into_iter();
        let mut matches: Vec<Match> = matches
            .filter_map(|(chunk, score)| self.found(chunk, score))
            .collect();
        matches.sort_by(Match::best_first);
        matches.truncate(k);
        Ok(matches)
    }

    fn similarities(
        &self,
        vector: &[f32],
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<f64>>, KbError> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        let join = self.join(&vectors);
        let cosine = |chunk: &ChunkId| {
            let row = join.row(*chunk)?;
            vectors.cosines(vector, &[row])?.first().copied()
        };
        Ok(chunks.iter().map(cosine).collect())
    }

    fn passages(&self, chunks: &[ChunkId]) -> Result<Vec<Passage>, KbError> {
        let missing = || KbError::Damaged("a passage is missing".to_owned());
        chunks
            .iter()
            .map(|chunk| {
                let (document, at) = self.place_of(*chunk).ok_or_else(missing)?;
                let row = Row {
                    document: document.number,
                    chunk: at as u32,
                };
                let wording = self.lexical.wording(row)?.ok_or_else(missing)?;
                Ok(Passage {
                    source: document.source.clone(),
                    lines: document.chunks[at].lines,
                    place: wording.place,
                    heading: wording.heading,
                    text: wording.text,
                })
            })
            .collect()
    }

    fn chunk(&self, source: &str, at: usize) -> Option<ChunkId> {
        let document = self.index_of(source)?;
        let chunk = self.first[document] + at;
        (chunk < self.first[document + 1]).then_some(ChunkId(chunk as u64))
    }

    fn pending(&self) -> Result<Arc<[(ChunkId, ChunkKey)]>, KbError> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        Ok(self.join(&vectors).pending(&self.documents))
    }
}

fn dir_in(home: &Path) -> PathBuf {
    home.join(format!("v{FORMAT}-{}", tokens::VERSION))
}

/// Another process may commit, and tidy up, between any two of these reads: then they are done
/// again, so that documents and words always are of the same commit.
fn load(
    dir: &Path,
    lexical: &LexicalIndex,
    vectors: &Arc<RwLock<Vectors>>,
) -> Result<View, KbError> {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        let generation = lexical.payload()?.generation;
        let manifest = match generation {
            0 => Some(Manifest::default()),
            _ => Manifest::load(dir, generation)?,
        };
        let searcher = lexical.searcher()?;
        if lexical.payload()?.generation == generation {
            let sound = manifest.is_some();
            let manifest = manifest.unwrap_or_default();
            return Ok(View {
                generation,
                sound,
                next_number: manifest.next_number,
                ..View::new(manifest.documents.into(), searcher, Arc::clone(vectors))
            });
        }
    }
    Err(KbError::Locked)
}
