//! One commit of the embedded store, as it is searched.
//!
//! A chunk is named by its document's number and its place there, which is how the lexical index
//! knows it; the vectors know it by its key, and `holders` puts the two together. The view of the
//! next commit takes over what this one has worked out, but for what changed.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use imbl::GenericHashMap;
use imbl::shared_ptr::DefaultSharedPtr;
use rustc_hash::FxBuildHasher;

use super::documents::{Change, Documents, StoredDocument};
use super::holders::{Holders, Pending};
use super::lexical::{LexicalIndex, LexicalView, Payload, Row};
use super::manifest::Journal;
use super::vectors::Vectors;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::document::{Document, NameMatches, NameQuery, PathContents};
use crate::kb::index::limits::{Limits, Within};
use crate::kb::index::matches::{ChunkId, Fetched, LexicalMatches, Match, Passage, Wanted};
use crate::kb::index::names::{self, DocumentName};
use crate::kb::index::port::{Counts, PendingCursor, PendingPage, Reader};
use crate::kb::index::spelling::as_written;
use crate::kb::links::{Link, LinkTargets};

/// In how many passages the spelling of what was meant is looked for.
const SPELLING: usize = 5;

type ByNumber = GenericHashMap<u32, Arc<StoredDocument>, FxBuildHasher, DefaultSharedPtr>;

/// One commit.
pub(crate) struct View {
    /// What it says about itself.
    pub commit: Payload,
    /// Whether the journal that the commit names could be read.
    pub sound: bool,
    pub documents: Documents,
    pub next_number: u32,
    by_number: OnceLock<ByNumber>,
    holders: OnceLock<Holders>,
    pending: Mutex<Option<Pending>>,
    /// The pending chunks as the first page of them found them; the other pages are of the same.
    pending_list: Mutex<Arc<[(ChunkId, ChunkKey)]>>,
    lexical: LexicalView,
    vectors: Arc<RwLock<Vectors>>,
}

impl View {
    pub(crate) fn new(
        commit: Payload,
        (documents, next_number): (Documents, u32),
        lexical: LexicalView,
        vectors: Arc<RwLock<Vectors>>,
    ) -> Self {
        Self {
            commit,
            sound: true,
            documents,
            next_number,
            by_number: OnceLock::new(),
            holders: OnceLock::new(),
            pending: Mutex::new(None),
            pending_list: Mutex::new(Arc::default()),
            lexical,
            vectors,
        }
    }

    /// The commit that comes after this one by these changes.
    pub(crate) fn after(
        &self,
        commit: Payload,
        (documents, next_number): (Documents, u32),
        changes: &[Change],
        lexical: LexicalView,
    ) -> Self {
        let vectors = Arc::clone(&self.vectors);
        let mut next = Self::new(commit, (documents, next_number), lexical, vectors);
        if let Some(known) = self.by_number.get() {
            let mut by_number = known.clone();
            for change in changes {
                if let Some(before) = &change.before {
                    by_number.remove(&before.number);
                }
                if let Some(after) = &change.after {
                    by_number.insert(after.number, Arc::clone(after));
                }
            }
            next.by_number = OnceLock::from(by_number);
        }
        if let Some(known) = self.holders.get() {
            let holders = known.after(changes);
            let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let pending = pending.as_ref();
            next.pending = Mutex::new(pending.map(|known| known.after(changes, &holders)));
            next.holders = OnceLock::from(holders);
        }
        next
    }

    /// How many rows of the vectors no chunk needs, and what the others are for.
    pub(crate) fn stale_rows(&self, vectors: &Vectors) -> usize {
        let needed = self.holders().len() - self.pending_in(vectors).len();
        vectors.len().saturating_sub(needed)
    }

    /// Whether any chunk says what has this key.
    pub(crate) fn contains_key(&self, key: &ChunkKey) -> bool {
        self.holders().contains(key)
    }

    fn holders(&self) -> &Holders {
        self.holders.get_or_init(|| Holders::of(&self.documents))
    }

    fn pending_in(&self, vectors: &Vectors) -> Pending {
        let holders = self.holders();
        let mut known = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pending = known
            .take()
            .filter(|known| known.knows(vectors))
            .unwrap_or_else(|| Pending::of(holders, vectors));
        pending.catch_up(holders, vectors);
        known.insert(pending).clone()
    }

    fn document(&self, number: u32) -> Option<&StoredDocument> {
        let by_number = self.by_number.get_or_init(|| {
            let documents = self.documents.shared();
            documents.map(|one| (one.number, Arc::clone(one))).collect()
        });
        by_number.get(&number).map(|document| &**document)
    }

    fn chunk_of(&self, row: Row) -> Option<ChunkId> {
        let document = self.document(row.document)?;
        let is_there = (row.chunk as usize) < document.chunks.len();
        is_there.then(|| ChunkId::new(row.document, row.chunk))
    }

    /// A chunk's document and its place there.
    fn place_of(&self, chunk: ChunkId) -> Option<(&StoredDocument, usize)> {
        let document = self.document(chunk.document())?;
        let at = chunk.ordinal() as usize;
        (at < document.chunks.len()).then_some((document, at))
    }

    fn found(&self, chunk: ChunkId, score: f64) -> Option<Match> {
        let (document, at) = self.place_of(chunk)?;
        Some(Match {
            chunk,
            source: document.document.source.clone(),
            lines: document.chunks[at].lines,
            score,
        })
    }

    /// The row of a chunk's vector.
    fn row(&self, chunk: ChunkId, vectors: &Vectors) -> Option<usize> {
        let (document, at) = self.place_of(chunk)?;
        vectors.row_of(&document.chunks[at].key)
    }

    /// The nearest chunks of all.
    fn nearest(
        &self,
        vector: &[f32],
        k: usize,
        vectors: &Vectors,
        stop: &AtomicBool,
    ) -> Result<Vec<(ChunkId, f64)>, KbError> {
        let holders = self.holders();
        let is_live = |row| vectors.key(row).is_some_and(|key| holders.contains(key));
        let mut found = Vec::new();
        for (row, score) in vectors.nearest(vector, k, &is_live, stop)? {
            let chunks = vectors.key(row).map(|key| holders.chunks(key));
            found.extend(chunks.into_iter().flatten().map(|chunk| (*chunk, score)));
        }
        Ok(found)
    }

    /// The nearest chunks of these documents, each looked at; all that are as near as the last.
    fn nearest_within<'a>(
        &self,
        vector: &[f32],
        k: usize,
        sources: impl Iterator<Item = &'a String>,
        (vectors, within): (&Vectors, Within<'_>),
    ) -> Result<Vec<(ChunkId, f64)>, KbError> {
        let documents = sources.filter_map(|source| self.documents.get(source));
        let all = documents
            .flat_map(|document| {
                let chunks = (0_u32..).zip(&document.chunks);
                chunks.map(|(at, entry)| (ChunkId::new(document.number, at), entry.key))
            })
            .filter_map(|(chunk, key)| Some((chunk, vectors.row_of(&key)?)));
        let mut found: Vec<(ChunkId, f64)> = Vec::new();
        within.limits().in_pieces(all, |piece| {
            let (chunks, rows): (Vec<ChunkId>, Vec<usize>) = piece.into_iter().unzip();
            let cosines = vectors.cosines(vector, &rows)?.unwrap_or_default();
            found.extend(chunks.into_iter().zip(cosines));
            Ok(())
        })?;
        if let Some(last) = k.checked_sub(1).filter(|last| *last < found.len()) {
            let (_, last, _) = found.select_nth_unstable_by(last, |a, b| b.1.total_cmp(&a.1));
            let last = last.1;
            found.retain(|(_, cosine)| *cosine >= last);
        }
        Ok(found)
    }
}

impl View {
    fn passage(&self, chunk: ChunkId) -> Result<Option<Passage>, KbError> {
        let Some((document, at)) = self.place_of(chunk) else {
            return Ok(None);
        };
        let row = Row {
            document: document.number,
            chunk: at as u32,
        };
        let missing = || KbError::Damaged("a passage is missing".to_owned());
        let wording = self.lexical.wording(row)?.ok_or_else(missing)?;
        Ok(Some(Passage {
            source: document.document.source.clone(),
            lines: document.chunks[at].lines,
            place: wording.place,
            heading: wording.heading,
            text: wording.text,
        }))
    }

    fn cosine(
        &self,
        chunk: ChunkId,
        vector: &[f32],
        vectors: &Vectors,
    ) -> Result<Option<f64>, KbError> {
        let Some(row) = self.row(chunk, vectors) else {
            return Ok(None);
        };
        let cosines = vectors.cosines(vector, &[row])?;
        Ok(cosines.and_then(|cosines| cosines.first().copied()))
    }

    /// All chunks without a vector, those of documents that lack few first.
    fn pending_chunks(&self) -> Arc<[(ChunkId, ChunkKey)]> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        let (holders, pending) = (self.holders(), self.pending_in(&vectors));
        drop(vectors);
        let chunks = pending.keys().filter_map(|key| {
            let first = holders.chunks(key).iter().min()?;
            Some((*first, *key))
        });
        let mut chunks: Vec<(ChunkId, ChunkKey)> = chunks.collect();
        chunks.sort_unstable();
        let lacking = chunks.chunk_by(|a, b| a.0.document() == b.0.document());
        let mut lacking: Vec<_> = lacking
            .filter_map(|lacks| {
                let document = self.document(lacks.first()?.0.document())?;
                Some((lacks, &document.document.source))
            })
            .collect();
        lacking.sort_unstable_by_key(|(lacks, source)| (lacks.len(), *source));
        lacking
            .into_iter()
            .flat_map(|(lacks, _)| lacks)
            .copied()
            .collect()
    }
}

impl Reader for View {
    fn generation(&self) -> u64 {
        self.commit.generation
    }

    fn counts(&self, limits: Limits<'_>) -> Result<Counts, KbError> {
        limits.check()?;
        Ok(Counts {
            documents: self.documents.len(),
            chunks: self.documents.chunks(),
        })
    }

    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Arc<Document>>, KbError> {
        limits.check()?;
        let some = self.documents.after(after).take(limit);
        Ok(some.map(|stored| Arc::clone(&stored.document)).collect())
    }

    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>, KbError> {
        limits.check()?;
        let contents = paths.iter().map(|path| {
            let stored = self.documents.get(path);
            PathContents {
                document: stored.map(|stored| Arc::clone(&stored.document)),
                is_folder: self.documents.lie_in(path),
            }
        });
        Ok(contents.collect())
    }

    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches, KbError> {
        limits.check()?;
        let names = self.documents.iter().map(|stored| DocumentName {
            source: &stored.document.source,
            title: &stored.document.title,
        });
        names::matches(&names.collect::<Vec<_>>(), query)
    }

    fn links_of(
        &self,
        sources: &[&str],
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        limits.check()?;
        let known = sources
            .iter()
            .filter_map(|source| self.documents.get(source));
        let mut links: Vec<(String, Vec<Link>)> = known
            .map(|stored| (stored.document.source.clone(), stored.links()))
            .collect();
        links.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(links)
    }

    fn links_to(
        &self,
        targets: &LinkTargets,
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        let mut found = Vec::new();
        for stored in self.documents.iter() {
            limits.check()?;
            let mut links = stored.links();
            links.retain(|link| targets.are_meant_by(link));
            if !links.is_empty() {
                found.push((stored.document.source.clone(), links));
            }
        }
        Ok(found)
    }

    fn openings(
        &self,
        sources: &[&str],
        passages: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Passage>, KbError> {
        let mut found = Vec::new();
        for stored in sources
            .iter()
            .filter_map(|source| self.documents.get(source))
        {
            limits.check()?;
            let first = stored.chunks.len().min(passages) as u32;
            for at in 0..first {
                found.extend(self.passage(ChunkId::new(stored.number, at))?);
            }
        }
        Ok(found)
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
        within.go_on()?;
        let numbers: Option<Vec<u32>> = within.documents.map(|sources| {
            let documents = sources
                .iter()
                .filter_map(|source| self.documents.get(source));
            documents.map(|document| document.number).collect()
        });
        let found = self.lexical.search(query, k, numbers.as_deref())?;
        let matches = found.rows.into_iter();
        let mut matches: Vec<Match> = matches
            .filter_map(|(row, score)| self.found(self.chunk_of(row)?, score))
            .collect();
        matches.sort_by(Match::best_first);
        matches.truncate(k);
        let mut corrections = found.corrections;
        if !corrections.is_empty() {
            let best = matches.iter().take(SPELLING);
            let best = best.map(|found| self.passage(found.chunk));
            let best: Vec<Option<Passage>> = best.collect::<Result<_, _>>()?;
            let best = best.iter().flatten();
            let texts: Vec<&str> = best
                .flat_map(|passage| [passage.heading.as_str(), passage.text.as_str()])
                .collect();
            for correction in &mut corrections {
                correction.spelt = as_written(&correction.meant, &texts);
            }
        }
        Ok(LexicalMatches {
            matches,
            full: Some(found.full),
            corrections,
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
        let nearest = match within.documents {
            Some(sources) => self.nearest_within(vector, k, sources.iter(), (&vectors, within))?,
            None => self.nearest(vector, k, &vectors, within.stop)?,
        };
        drop(vectors);
        within.go_on()?;
        let matches = nearest.into_iter();
        let mut matches: Vec<Match> = matches
            .filter_map(|(chunk, score)| self.found(chunk, score))
            .collect();
        matches.sort_by(Match::best_first);
        matches.truncate(k);
        Ok(matches)
    }

    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: Wanted<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<Fetched>>, KbError> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        let fetch = |chunk: &ChunkId| {
            if self.place_of(*chunk).is_none() {
                return Ok(None);
            }
            limits.check()?;
            let passage = wanted.passages.then(|| self.passage(*chunk));
            let cosine = wanted.cosine_with;
            let cosine = cosine.map(|vector| self.cosine(*chunk, vector, &vectors));
            Ok(Some(Fetched {
                passage: passage.transpose()?.flatten(),
                cosine: cosine.transpose()?.flatten(),
            }))
        };
        chunks.iter().map(fetch).collect()
    }

    fn vectors(
        &self,
        keys: &[ChunkKey],
        limits: Limits<'_>,
    ) -> Result<Vec<Option<Vec<f32>>>, KbError> {
        limits.check()?;
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        keys.iter().map(|key| vectors.vector(key)).collect()
    }

    /// The cursor is a place in the list that the first page found.
    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage, KbError> {
        limits.check()?;
        let mut known = self
            .pending_list
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let from = match after {
            None => {
                *known = self.pending_chunks();
                0
            }
            Some(PendingCursor(from)) => from as usize,
        };
        let rest = known.get(from..).unwrap_or_default();
        let chunks = rest[..rest.len().min(limit)].to_vec();
        let end = from + chunks.len();
        let next = (end < known.len()).then_some(PendingCursor(end as u64));
        Ok(PendingPage { chunks, next })
    }

    fn pending_count(&self, limits: Limits<'_>) -> Result<usize, KbError> {
        limits.check()?;
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        Ok(self.pending_in(&vectors).len())
    }
}

/// Another process may commit, and tidy up, between any two of these reads: then they are done
/// again, so that documents and words always are of the same commit. Of a journal that `known`
/// has read, only what came since is.
pub(crate) fn load(
    dir: &Path,
    lexical: &LexicalIndex,
    vectors: &Arc<RwLock<Vectors>>,
    known: Option<&View>,
) -> Result<View, KbError> {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        let commit = lexical.payload()?;
        let Journal { number, len, .. } = commit.journal;
        let known = known.filter(|known| {
            let journal = known.commit.journal;
            known.sound && number > 0 && journal.number == number && journal.len <= len
        });
        let from = known.map_or(0, |known| known.commit.journal.len);
        let entries = commit.journal.read(dir, from)?;
        let searcher = lexical.searcher()?;
        if lexical.payload()? != commit {
            continue;
        }
        let sound = entries.is_some();
        let entries = entries.unwrap_or_default();
        return Ok(match known {
            Some(known) if sound => {
                let next_number = match len {
                    len if len == from => known.next_number,
                    _ => entries.next_number,
                };
                let mut documents = known.documents.clone();
                let changes = entries.apply(&mut documents);
                known.after(commit, (documents, next_number), &changes, searcher)
            }
            _ => {
                let next_number = entries.next_number;
                let mut documents = Documents::default();
                entries.apply(&mut documents);
                View {
                    sound,
                    ..View::new(
                        commit,
                        (documents, next_number),
                        searcher,
                        Arc::clone(vectors),
                    )
                }
            }
        });
    }
    Err(KbError::Locked)
}
