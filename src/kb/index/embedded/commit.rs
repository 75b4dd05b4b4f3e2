//! Writing the store in the data folder.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::documents::{ChunkEntry, Documents, StoredDocument};
use super::journal::{Entries, Entry, Journal};
use super::lexical::{LexicalWriter, Payload};
use super::lock::{LockGuard, Right, try_lock};
use super::store::EmbeddedStore;
use super::view::View;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::document::{Document, LocalStamp, NewDocument};
use crate::kb::index::limits::Limits;
use crate::kb::index::port::{Batch, Lease, Reader, Store, VectorBatch};

/// A change of more documents than this is worth several threads.
const LARGE: usize = 200;

/// Vectors of vanished chunks that are tolerated before the files are written anew.
const STALE_ROWS: usize = 1000;

impl Store for EmbeddedStore {
    fn reader(&self) -> Arc<dyn Reader> {
        self.view()
    }

    fn refresh(&self, model_id: &str, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
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

    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>, KbError> {
        limits.check()?;
        let held = self.acquire(Right::Documents)?;
        let whole = self.lexical.has_its_files();
        let (view, whole) = match (self.reload(), whole) {
            (Err(KbError::Damaged(why)), _) => (self.view(), Err(KbError::Damaged(why))),
            (view, whole) => (view?, whole),
        };
        let damaged = match whole {
            Err(KbError::Damaged(why)) => {
                tracing::warn!(%why, "the index is damaged and is made anew");
                true
            }
            whole => whole.map(|()| false)?,
        };
        let afresh = afresh || damaged;
        Ok(Box::new(DocumentBatch::new(self, held, view, afresh)))
    }

    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>, KbError> {
        limits.check()?;
        let held = self.acquire(Right::Vectors)?;
        let view = self.reload()?;
        let mut vectors = self.vectors.write().unwrap_or_else(PoisonError::into_inner);
        vectors.refresh()?;
        if view.stale_rows(&vectors) > STALE_ROWS.max(vectors.len() / 2) {
            vectors.compact(|key| view.contains_key(key))?;
        }
        drop(vectors);
        Ok(Box::new(EmbeddingBatch {
            store: self,
            _held: held,
        }))
    }

    fn dimensions(&self, limits: Limits<'_>) -> Result<Option<usize>, KbError> {
        limits.check()?;
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        Ok(vectors.dimensions())
    }

    /// A lock that its process holds for as long as it lives.
    fn lease(
        &self,
        name: &str,
        _: Duration,
        limits: Limits<'_>,
    ) -> Result<Option<Box<dyn Lease>>, KbError> {
        limits.check()?;
        let held = try_lock(&self.home, Right::Upkeep(name))?;
        Ok(held.map(|held| Box::new(held) as Box<dyn Lease>))
    }
}

/// Changes to the documents, under the lock.
pub(crate) struct DocumentBatch<'a> {
    store: &'a EmbeddedStore,
    _held: LockGuard,
    /// The last commit.
    view: Arc<View>,
    /// The commit that the batch began with.
    found: Arc<View>,
    documents: Documents,
    /// Names of documents that were put or removed since the last commit.
    touched: BTreeSet<String>,
    /// The writer, made when there is something to write.
    writer: Option<LexicalWriter>,
    large: bool,
    /// Whether all documents are removed first.
    afresh: bool,
    /// Whether the next commit begins another journal.
    anew: bool,
}

impl<'a> DocumentBatch<'a> {
    /// Begins with what `view` holds, or with nothing.
    pub fn new(store: &'a EmbeddedStore, held: LockGuard, view: Arc<View>, afresh: bool) -> Self {
        let afresh = afresh || view.documents.next_number > u32::MAX / 2;
        let documents = if afresh {
            Documents::default()
        } else {
            view.documents.clone()
        };
        Self {
            store,
            _held: held,
            documents,
            found: Arc::clone(&view),
            touched: BTreeSet::new(),
            writer: None,
            large: false,
            afresh,
            anew: afresh || view.commit.journal.number == 0,
            view,
        }
    }

    fn store_document(&mut self, document: StoredDocument) {
        self.touched.insert(document.document.source.clone());
        self.documents.insert(Arc::new(document));
    }

    fn writer(&mut self) -> Result<&mut LexicalWriter, KbError> {
        if let Some(writer) = self.writer.take() {
            return Ok(self.writer.insert(writer));
        }
        let writer = self.store.lexical.writer(self.large)?;
        if self.afresh {
            writer.clear()?;
        }
        Ok(self.writer.insert(writer))
    }

    fn entries(&self, list: Vec<Entry>) -> Entries {
        Entries {
            list,
            next_number: self.documents.next_number,
        }
    }
}

impl Batch for DocumentBatch<'_> {
    fn previous_reader(&self) -> Option<Arc<dyn Reader>> {
        (!self.afresh).then(|| Arc::clone(&self.found) as Arc<dyn Reader>)
    }

    fn expect(&mut self, documents: usize) {
        self.large = documents > LARGE;
    }

    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<(), KbError> {
        self.remove(&document.source, limits)?;
        let number = self.documents.next_number;
        self.documents.next_number += 1;
        let chunks = document.chunks.iter().map(|(_, chunk)| chunk);
        self.writer()?.add(number, chunks, document.reservation)?;
        let chunks = document.chunks.iter().map(|(key, chunk)| ChunkEntry {
            key: *key,
            lines: chunk.lines,
        });
        let chunks: Vec<ChunkEntry> = chunks.collect();
        let links = serde_json::to_string(&document.links).unwrap_or_default();
        let LocalStamp { stamp, .. } = document.stamp;
        self.store_document(StoredDocument {
            document: Arc::new(Document {
                source: document.source,
                title: document.title,
                hash: document.hash,
                bytes: stamp.size,
                modified: stamp.modified,
                chunks: chunks.len(),
                stamp: Some(document.stamp),
            }),
            number,
            chunks,
            links: links.into(),
        });
        Ok(())
    }

    fn keep(&mut self, source: &str, local: LocalStamp, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        if let Some(known) = self.documents.get(source) {
            let document = Document {
                bytes: local.stamp.size,
                modified: local.stamp.modified,
                stamp: Some(local),
                ..(*known.document).clone()
            };
            self.store_document(StoredDocument {
                document: Arc::new(document),
                ..(**known).clone()
            });
        }
        Ok(())
    }

    fn remove(&mut self, source: &str, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        if let Some(gone) = self.documents.remove(source) {
            self.touched.insert(gone.document.source.clone());
            self.writer()?.remove(gone.number);
        }
        Ok(())
    }

    fn commit(&mut self, _: Limits<'_>) -> Result<(), KbError> {
        if self.touched.is_empty() && !(self.afresh && self.anew) {
            return Ok(());
        }
        let dir = &self.store.dir;
        let generation = Journal::next_number(self.view.commit.generation);
        let journal = self.view.commit.journal;
        let journal = if self.anew || journal.is_mostly_overtaken(self.documents.len()) {
            let all = self.documents.iter().map(Arc::clone).map(Entry::Put);
            Journal::write_anew(dir, generation, &self.entries(all.collect()))?
        } else {
            let changed = self.touched.iter();
            let changed = changed.map(|source| match self.documents.get(source) {
                Some(document) => Entry::Put(Arc::clone(document)),
                None => Entry::Gone(source.clone()),
            });
            journal.append(dir, &self.entries(changed.collect()))?
        };
        let commit = Payload {
            generation,
            journal,
        };
        self.writer()?.commit(commit)?;
        journal.tidy(dir);
        self.touched.clear();
        self.anew = false;
        self.view = self.store.reload()?;
        // What is the same is kept once.
        self.documents = self.view.documents.clone();
        Ok(())
    }

    fn finish(mut self: Box<Self>, limits: Limits<'_>) -> Result<(), KbError> {
        self.commit(limits)?;
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
            // The segments that were merged need not be kept open.
            self.store.look_again()?;
        }
        Ok(())
    }
}

/// Adds vectors, under their lock.
pub(crate) struct EmbeddingBatch<'a> {
    store: &'a EmbeddedStore,
    _held: LockGuard,
}

impl VectorBatch for EmbeddingBatch<'_> {
    fn put_vectors(
        &mut self,
        vectors: &[(ChunkKey, Vec<f32>)],
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        limits.check()?;
        let Some((_, first)) = vectors.first().filter(|(_, first)| !first.is_empty()) else {
            return Ok(());
        };
        let rows = &self.store.vectors;
        let writing = || rows.write().unwrap_or_else(PoisonError::into_inner);
        let read = || rows.read().unwrap_or_else(PoisonError::into_inner);
        read().fits(first)?;
        if !read().has_room(first.len()) {
            writing().make_room(first.len())?;
        }
        // The disk is waited for with nothing held that a search needs.
        let addition = read().addition(vectors);
        if let Some(addition) = addition {
            addition.write()?;
            writing().refresh()?;
        }
        Ok(())
    }

    fn complete(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        let rows = &self.store.vectors;
        let rows = rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.remove_other_models();
        Ok(())
    }

    fn clear(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        let rows = &self.store.vectors;
        let mut rows = rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.compact(|_| false)
    }
}
