//! One commit of the embedded store, as it is searched.
//!
//! A chunk is named by its document's number and its place there, which is how the lexical index
//! knows it; the vectors know it by its key, and [`ChunksByKey`] puts the two together. The view of the
//! next commit takes over what this one has worked out, but for what changed.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use imbl::GenericHashSet;
use imbl::shared_ptr::DefaultSharedPtr;
use parking_lot::{Mutex, RwLock};

use super::documents::{Change, ChunksByKey, Documents, JournalMark};
use super::lexical::{Commit, LexicalIndex, LexicalView};
use super::vectors::Vectors;
use crate::kb::error::KbError;
use crate::kb::index::names::{self, DocumentName};
use crate::kb::index::port::{
    ChunkId, ChunkKey, Counts, Document, FetchOptions, FetchedChunk, KeyHash, LexicalMatches,
    Limits, LinksBySource, MOST_NAMED, Match, NameMatches, NameQuery, Passage, PathContents,
    PendingCursor, PendingPage, Reader, Result, Within,
};
use crate::kb::index::search_terms::corrections;
use crate::kb::links::LinkTargets;
use crate::kb::source::is_prose;

/// One commit.
pub(crate) struct View {
    /// What is stored with it.
    pub commit: Commit,
    pub documents: Documents,
    holders: OnceLock<ChunksByKey>,
    /// Worked out when first needed.
    lacking: Mutex<Option<Lacking>>,
    /// The pending chunks in order, as the first of all pages found them, behind the lineage of the vectors.
    pending_list: Mutex<Option<PendingList>>,
    lexical: LexicalView,
    vectors: Arc<RwLock<Vectors>>,
}

/// The lineage of the vectors, and the chunks that lacked one.
type PendingList = (u64, Vec<(ChunkId, ChunkKey)>);

/// The texts without a vector. They follow each commit and each new row by what those change, so that
/// one saved file does not cost a look at all texts.
#[derive(Clone)]
struct Lacking {
    texts: GenericHashSet<ChunkKey, KeyHash, DefaultSharedPtr>,
    /// The lineage of the vectors that were looked at, and how many they were.
    lineage: u64,
    rows: usize,
}

impl View {
    /// Counts the rows of vectors that no chunk needs.
    pub(crate) fn stale_rows(&self, vectors: &Vectors) -> usize {
        let needed = self.holders().len() - self.lacking(vectors).texts.len();
        vectors.len().saturating_sub(needed)
    }

    /// Whether any chunk has this key.
    pub(crate) fn contains_key(&self, key: &ChunkKey) -> bool {
        !self.holders().chunks(key).is_empty()
    }

    fn holders(&self) -> &ChunksByKey {
        self.holders
            .get_or_init(|| ChunksByKey::new(&self.documents))
    }

    /// The texts without a vector. They are looked for among all texts where other vectors came in the
    /// place of those that were known.
    fn lacking(&self, vectors: &Vectors) -> Lacking {
        let mut known = self.lacking.lock();
        let lineage = vectors.lineage();
        let mut lacking = known
            .take_if(|known| known.lineage == lineage)
            .unwrap_or_else(|| {
                let texts = self.holders().keys();
                let texts = texts.filter(|key| vectors.row_of(key).is_none());
                let (texts, rows) = (texts.copied().collect(), vectors.len());
                Lacking {
                    texts,
                    lineage,
                    rows,
                }
            });
        for row in lacking.rows..vectors.len() {
            vectors.key(row).map(|key| lacking.texts.remove(key));
        }
        lacking.rows = vectors.len();
        known.insert(lacking).clone()
    }

    /// What lacked a vector at the commit before, with what these changes made of it.
    fn lacking_after(&self, changes: &[Change], holders: &ChunksByKey) -> Option<Lacking> {
        let known = self.lacking.lock();
        let mut lacking = known.clone()?;
        drop(known);
        let vectors = self.vectors.read();
        for key in changes.iter().flat_map(Change::keys) {
            if holders.chunks(&key).is_empty() {
                lacking.texts.remove(&key);
            } else if vectors.row_of(&key).is_none() {
                lacking.texts.insert(key);
            }
        }
        Some(lacking)
    }

    fn match_for(&self, chunk: ChunkId, score: f64) -> Option<Match> {
        let (document, at) = self.documents.place_of(chunk)?;
        Some(Match {
            chunk,
            source: document.document.source.clone(),
            lines: document.chunks[at].lines,
            score,
        })
    }

    /// The nearest chunks of all.
    fn nearest(
        &self,
        vector: &[f32],
        k: usize,
        vectors: &Vectors,
        within: Within<'_>,
    ) -> Result<Vec<(ChunkId, f64)>> {
        let holders = self.holders();
        let is_live = |row| {
            let chunks = vectors.key(row).map_or(&[][..], |key| holders.chunks(key));
            chunks.iter().any(|chunk| within.lets_through(*chunk))
        };
        let mut found = Vec::new();
        for (row, score) in vectors.nearest(vector, k, &is_live, within.cancel)? {
            let chunks = vectors.key(row).map(|key| holders.chunks(key));
            let chunks = chunks.into_iter().flatten();
            let chunks = chunks.filter(|chunk| within.lets_through(**chunk));
            found.extend(chunks.map(|chunk| (*chunk, score)));
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
    ) -> Result<Vec<(ChunkId, f64)>> {
        let Some(cosine) = vectors.cosine_with(vector)? else {
            return Ok(Vec::new());
        };
        let documents = sources.filter_map(|source| self.documents.get(source));
        let all = documents.flat_map(|document| document.keys());
        let all = all.filter(|(chunk, _)| within.lets_through(*chunk));
        let mut found: Vec<(ChunkId, f64)> = Vec::new();
        within.limits().in_pieces(all, |piece| {
            let measured = piece.into_iter();
            found.extend(measured.filter_map(|(chunk, key)| Some((chunk, cosine(&key)?))));
            Ok(())
        })?;
        if let Some(last) = k.checked_sub(1).filter(|last| *last < found.len()) {
            let (_, last, _) = found.select_nth_unstable_by(last, |a, b| b.1.total_cmp(&a.1));
            let last = last.1;
            found.retain(|(_, cosine)| *cosine >= last);
        }
        Ok(found)
    }

    /// The numbers of the documents that a search is limited to.
    fn numbers(&self, within: Within<'_>) -> Option<Vec<u32>> {
        let sources = within.documents?.iter();
        let documents = sources.filter_map(|source| self.documents.get(source));
        Some(documents.map(|document| document.number).collect())
    }

    fn passage(&self, chunk: ChunkId) -> Result<Option<Passage>> {
        let Some((document, at)) = self.documents.place_of(chunk) else {
            return Ok(None);
        };
        let (source, lines) = (&document.document.source, document.chunks[at].lines);
        let passage = self.lexical.passage(chunk, source, lines)?;
        let missing = || KbError::Damaged("a passage is missing".to_owned());
        Ok(Some(passage.ok_or_else(missing)?))
    }

    /// The chunks with a name of that key, at most [`MOST_NAMED`].
    fn matches_by_name(&self, key: &str, within: Within<'_>) -> Result<Vec<Match>> {
        let chunks = self.lexical.chunks_with_name(key)?.into_iter();
        let matches = chunks.filter_map(|chunk| self.match_for(chunk, 0.0));
        let is_within = |found: &Match| {
            let these = within.documents;
            these.is_none_or(|these| these.contains(&found.source))
                && within.lets_through(found.chunk)
        };
        Ok(Match::best(matches.filter(is_within), MOST_NAMED))
    }

    /// The first chunk of each text without a vector: prose first, and what was written last before what
    /// is older.
    fn pending_chunks(&self, vectors: &Vectors) -> Vec<(ChunkId, ChunkKey)> {
        let texts = self.lacking(vectors).texts.into_iter();
        let first = |key: ChunkKey| Some((*self.holders().chunks(&key).iter().min()?, key));
        let mut chunks: Vec<(ChunkId, ChunkKey)> = texts.filter_map(first).collect();
        chunks.sort_unstable();
        let lacking = chunks.chunk_by(|a, b| a.0.document() == b.0.document());
        let mut lacking: Vec<_> = lacking
            .filter_map(|lacks| {
                let (document, _) = self.documents.place_of(lacks.first()?.0)?;
                Some((lacks, &*document.document))
            })
            .collect();
        lacking.sort_by_cached_key(|(_, document)| {
            let source = document.source.as_str();
            (!is_prose(source), Reverse(document.modified), source)
        });
        let sorted = lacking.into_iter().flat_map(|(lacks, _)| lacks);
        sorted.copied().collect()
    }
}

impl Reader for View {
    fn generation(&self) -> u64 {
        self.commit.generation
    }

    fn counts(&self, limits: Limits<'_>) -> Result<Counts> {
        limits.check()?;
        Ok(Counts {
            documents: self.documents.len(),
            chunks: self.documents.chunks,
            words_only: self.documents.words_only,
        })
    }

    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Arc<Document>>> {
        limits.check()?;
        let some = self.documents.after_name(after).take(limit);
        Ok(some.map(|stored| Arc::clone(&stored.document)).collect())
    }

    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>> {
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

    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches> {
        limits.check()?;
        let names = self.documents.iter().map(|stored| DocumentName {
            source: &stored.document.source,
            title: &stored.document.title,
        });
        names::matches(&names.collect::<Vec<_>>(), query)
    }

    fn chunks_with(&self, terms: &[&str], within: Within<'_>) -> Result<Vec<ChunkId>> {
        within.go_on()?;
        let numbers = self.numbers(within);
        self.lexical.chunks_with(terms, numbers.as_deref())
    }

    fn links_of(&self, sources: &[&str], limits: Limits<'_>) -> Result<LinksBySource> {
        limits.check()?;
        let known = sources.iter();
        let known = known.filter_map(|source| self.documents.get(source));
        let links = known.map(|stored| (stored.document.source.clone(), stored.links()));
        let mut links: LinksBySource = links.collect();
        links.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(links)
    }

    fn links_to(&self, targets: &LinkTargets, limits: Limits<'_>) -> Result<LinksBySource> {
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
    ) -> Result<Vec<Passage>> {
        let known = sources.iter();
        let mut found = Vec::new();
        for stored in known.filter_map(|source| self.documents.get(source)) {
            limits.check()?;
            for (chunk, _) in stored.keys().take(passages) {
                found.extend(self.passage(chunk)?);
            }
        }
        Ok(found)
    }

    fn lexical(
        &self,
        query: &str,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches> {
        within.go_on()?;
        let numbers = self.numbers(within);
        let found = self
            .lexical
            .search(query, k, numbers.as_deref(), within.chunks)?;
        let matches = found.chunks.into_iter();
        let matches = matches.filter_map(|(chunk, score)| self.match_for(chunk, score));
        let matches = Match::best(matches, k);
        Ok(LexicalMatches {
            corrections: corrections(&found.terms, &matches, self, within.limits())?,
            named: name.map_or(Ok(Vec::new()), |key| self.matches_by_name(key, within))?,
            full: Some(found.full),
            matches,
        })
    }

    fn semantic(&self, vector: &[f32], k: usize, within: Within<'_>) -> Result<Vec<Match>> {
        let vectors = self.vectors.read();
        vectors.fits(vector)?;
        let nearest = match within.documents {
            Some(sources) => self.nearest_within(vector, k, sources.iter(), (&vectors, within))?,
            None => self.nearest(vector, k, &vectors, within)?,
        };
        drop(vectors);
        within.go_on()?;
        let matches = nearest.into_iter();
        let matches = matches.filter_map(|(chunk, score)| self.match_for(chunk, score));
        Ok(Match::best(matches, k))
    }

    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: FetchOptions<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<FetchedChunk>>> {
        limits.check()?;
        let vectors = self.vectors.read();
        let cosine = wanted.cosine_with.map(|vector| vectors.cosine_with(vector));
        let cosine = cosine.transpose()?.flatten();
        let fetch = |chunk: &ChunkId| {
            let (document, at) = self.documents.place_of(*chunk)?;
            let cosine = cosine.as_ref();
            Some(FetchedChunk {
                passage: None,
                cosine: cosine.and_then(|cosine| cosine(&document.chunks[at].key)),
            })
        };
        let mut fetched: Vec<Option<FetchedChunk>> = chunks.iter().map(fetch).collect();
        drop(cosine);
        // The disk is waited for with nothing held that others need.
        drop(vectors);
        if wanted.passages {
            for (chunk, fetched) in chunks.iter().zip(&mut fetched) {
                limits.check()?;
                if let Some(fetched) = fetched {
                    fetched.passage = self.passage(*chunk)?;
                }
            }
        }
        Ok(fetched)
    }

    fn vectors(&self, keys: &[ChunkKey], limits: Limits<'_>) -> Result<Vec<Option<Vec<f32>>>> {
        limits.check()?;
        let vectors = self.vectors.read();
        keys.iter().map(|key| vectors.vector(key)).collect()
    }

    /// The cursor is a place in a list that all callers share, so it stays for as long as vectors are only
    /// added.
    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage> {
        limits.check()?;
        let vectors = self.vectors.read();
        let lineage = vectors.lineage();
        let mut list = self.pending_list.lock();
        list.take_if(|(of, _)| *of != lineage);
        let (_, list) = list.get_or_insert_with(|| (lineage, self.pending_chunks(&vectors)));
        let from = after.map_or(0, |PendingCursor(from)| from as usize);
        let is_pending = |at: &usize| vectors.row_of(&list[*at].1).is_none();
        let mut places = (from..list.len()).filter(is_pending);
        let chunks = places.by_ref().take(limit).map(|at| list[at]).collect();
        let next = places.next().map(|at| PendingCursor(at as u64));
        Ok(PendingPage { chunks, next })
    }

    fn pending_count(&self, limits: Limits<'_>) -> Result<usize> {
        limits.check()?;
        Ok(self.lacking(&self.vectors.read()).texts.len())
    }
}

/// The last commit. Another process may commit, and tidy up, between any two of these reads: then they
/// are done again, so that documents and words always are of the same commit. Of a journal that `known`
/// has read, only what came since is.
pub(crate) fn load(
    dir: &Path,
    index: &LexicalIndex,
    vectors: &Arc<RwLock<Vectors>>,
    known: Option<&View>,
) -> Result<View> {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        let commit = index.payload()?;
        let JournalMark { number, len, .. } = commit.journal;
        let known = known.filter(|known| {
            let journal = known.commit.journal;
            number > 0 && journal.number == number && journal.len <= len
        });
        let from = known.map_or(0, |known| known.commit.journal.len);
        let entries = commit.journal.read(dir, from)?;
        let lexical = index.searcher()?;
        if index.payload()? != commit {
            continue;
        }
        let broken = || KbError::Damaged("its list of documents is missing or broken".to_owned());
        let entries = entries.ok_or_else(broken)?;
        let mut documents = known.map_or_else(Documents::default, |known| known.documents.clone());
        let changes = entries.apply(&mut documents);
        let (named, kept) = (documents.chunks, lexical.len());
        if named != kept {
            let why = format!("it keeps {kept} passages, and its list of documents names {named}");
            return Err(KbError::Damaged(why));
        }
        let holders = known.and_then(|known| Some(known.holders.get()?.with_changes(&changes)));
        let lacking = known.zip(holders.as_ref());
        let lacking = lacking.and_then(|(known, holders)| known.lacking_after(&changes, holders));
        return Ok(View {
            commit,
            documents,
            holders: holders.map(OnceLock::from).unwrap_or_default(),
            lacking: Mutex::new(lacking),
            pending_list: Mutex::default(),
            lexical,
            vectors: Arc::clone(vectors),
        });
    }
    Err(KbError::Locked)
}
