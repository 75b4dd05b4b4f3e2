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
use super::holders::{ChunksByKey, PendingKeys};
use super::journal::Journal;
use super::lexical::{LexicalIndex, LexicalView, Payload, Row};
use super::vectors::Vectors;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::limits::Within;
use crate::kb::index::matches::{ChunkId, Match};

type ByNumber = GenericHashMap<u32, Arc<StoredDocument>, FxBuildHasher, DefaultSharedPtr>;

/// One commit.
pub(crate) struct View {
    /// What is stored with it.
    pub commit: Payload,
    pub documents: Documents,
    by_number: OnceLock<ByNumber>,
    holders: OnceLock<ChunksByKey>,
    pending: Mutex<Option<PendingKeys>>,
    /// The pending chunks as the first page of them found them; the other pages are of the same.
    pub(super) pending_list: Mutex<Arc<[(ChunkId, ChunkKey)]>>,
    pub(super) lexical: LexicalView,
    pub(super) vectors: Arc<RwLock<Vectors>>,
}

impl View {
    pub(crate) fn new(
        commit: Payload,
        documents: Documents,
        lexical: LexicalView,
        vectors: Arc<RwLock<Vectors>>,
    ) -> Self {
        Self {
            commit,
            documents,
            by_number: OnceLock::new(),
            holders: OnceLock::new(),
            pending: Mutex::new(None),
            pending_list: Mutex::new(Arc::default()),
            lexical,
            vectors,
        }
    }

    /// Makes the view of the next commit from this one and the changes between them.
    pub(crate) fn with_changes(
        &self,
        commit: Payload,
        documents: Documents,
        changes: &[Change],
        lexical: LexicalView,
    ) -> Self {
        let vectors = Arc::clone(&self.vectors);
        let mut next = Self::new(commit, documents, lexical, vectors);
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
            let holders = known.with_changes(changes);
            let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let pending = pending.as_ref();
            next.pending = Mutex::new(pending.map(|known| known.with_changes(changes, &holders)));
            next.holders = OnceLock::from(holders);
        }
        next
    }

    /// Counts the rows of vectors that no chunk needs.
    pub(crate) fn stale_rows(&self, vectors: &Vectors) -> usize {
        let needed = self.holders().len() - self.pending_in(vectors).len();
        vectors.len().saturating_sub(needed)
    }

    /// Whether any chunk has this key.
    pub(crate) fn contains_key(&self, key: &ChunkKey) -> bool {
        self.holders().contains(key)
    }

    pub(super) fn holders(&self) -> &ChunksByKey {
        self.holders
            .get_or_init(|| ChunksByKey::new(&self.documents))
    }

    pub(super) fn pending_in(&self, vectors: &Vectors) -> PendingKeys {
        let holders = self.holders();
        let mut known = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pending = known
            .take()
            .filter(|known| known.knows(vectors))
            .unwrap_or_else(|| PendingKeys::new(&self.documents, vectors));
        pending.catch_up(holders, vectors);
        known.insert(pending).clone()
    }

    pub(super) fn document(&self, number: u32) -> Option<&StoredDocument> {
        let by_number = self.by_number.get_or_init(|| {
            let documents = self.documents.iter();
            documents.map(|one| (one.number, Arc::clone(one))).collect()
        });
        by_number.get(&number).map(|document| &**document)
    }

    pub(super) fn chunk_of(&self, row: Row) -> Option<ChunkId> {
        let document = self.document(row.document)?;
        let is_there = (row.chunk as usize) < document.chunks.len();
        is_there.then(|| ChunkId::new(row.document, row.chunk))
    }

    /// A chunk's document and its place there.
    pub(super) fn place_of(&self, chunk: ChunkId) -> Option<(&StoredDocument, usize)> {
        let document = self.document(chunk.document())?;
        let at = chunk.ordinal() as usize;
        (at < document.chunks.len()).then_some((document, at))
    }

    pub(super) fn match_for(&self, chunk: ChunkId, score: f64) -> Option<Match> {
        let (document, at) = self.place_of(chunk)?;
        Some(Match {
            chunk,
            source: document.document.source.clone(),
            lines: document.chunks[at].lines,
            score,
        })
    }

    /// The row of a chunk's vector.
    pub(super) fn row(&self, chunk: ChunkId, vectors: &Vectors) -> Option<usize> {
        let (document, at) = self.place_of(chunk)?;
        vectors.row_of(&document.chunks[at].key)
    }

    /// The nearest chunks of all.
    pub(super) fn nearest(
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
    pub(super) fn nearest_within<'a>(
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

/// The last commit. Another process may commit, and tidy up, between any two of these reads: then they
/// are done again, so that documents and words always are of the same commit. Of a journal that `known`
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
            number > 0 && journal.number == number && journal.len <= len
        });
        let from = known.map_or(0, |known| known.commit.journal.len);
        let entries = commit.journal.read(dir, from)?;
        let searcher = lexical.searcher()?;
        if lexical.payload()? != commit {
            continue;
        }
        let broken = || KbError::Damaged("its list of documents is missing or broken".to_owned());
        let entries = entries.ok_or_else(broken)?;
        let mut documents = known.map_or_else(Documents::default, |known| known.documents.clone());
        let changes = entries.apply(&mut documents);
        return Ok(match known {
            Some(known) => known.with_changes(commit, documents, &changes, searcher),
            None => View::new(commit, documents, searcher, Arc::clone(vectors)),
        });
    }
    Err(KbError::Locked)
}
