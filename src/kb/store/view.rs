//! One commit of the embedded store, as it is searched.
//!
//! Chunks are numbered in the order of the documents; the lexical index knows a chunk by its
//! document's own number, the vectors by its key, and this is where the three are put together.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::join::Join;
use super::{ChunkId, ChunkKey, LexicalMatches, Match, Passage, Snapshot, Within};
use crate::kb::error::KbError;
use crate::kb::lexical::{LexicalIndex, LexicalView, Row};
use crate::kb::manifest::{Document, Manifest};
use crate::kb::vectors::Vectors;

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

impl View {
    pub(super) fn new(
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

    /// The same, as this commit.
    pub(super) fn of(self, generation: u64, next_number: u32) -> Self {
        Self {
            generation,
            next_number,
            ..self
        }
    }

    /// The vectors' rows and the chunks, put together.
    pub(super) fn join(&self, vectors: &Vectors) -> Arc<Join> {
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
            corrections: found.corrections,
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

/// Another process may commit, and tidy up, between any two of these reads: then they are done
/// again, so that documents and words always are of the same commit.
pub(super) fn load(
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
