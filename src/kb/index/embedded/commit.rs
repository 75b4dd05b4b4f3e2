//! Writing the store in the data folder.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use super::lexical::{LexicalWriter, Payload};
use super::lock::{Held, Right, try_lock};
use super::manifest::{Entries, Entry, Journal};
use super::store::EmbeddedStore;
use super::view::View;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::documents::{Change, ChunkEntry, Document, Documents};
use crate::kb::index::port::{Batch, Incoming, Snapshot, Store, VectorBatch};
use crate::kb::source::Stamp;

/// A change of more documents than this is worth several threads.
const LARGE: usize = 200;

/// Vectors of vanished chunks that are tolerated before the files are written anew.
const STALE_ROWS: usize = 1000;

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

    fn begin_vectors(&self) -> Result<Box<dyn VectorBatch + '_>, KbError> {
        let held = self.held(Right::Vectors)?;
        let view = self.reload()?;
        let mut vectors = self.vectors.write().unwrap_or_else(PoisonError::into_inner);
        vectors.refresh()?;
        if view.stale_rows(&vectors) > STALE_ROWS.max(vectors.len() / 2) {
            vectors.compact(|key| view.contains_key(key))?;
        }
        drop(vectors);
        Ok(Box::new(EmbeddingBatch::new(self, held)))
    }
}

/// Changes to the documents, under the lock.
pub(crate) struct DocumentBatch<'a> {
    store: &'a EmbeddedStore,
    _held: Held,
    /// The last commit.
    view: Arc<View>,
    /// What that held, or nothing.
    before: Documents,
    documents: Documents,
    next_number: u32,
    /// What was put or removed since the last commit.
    touched: BTreeSet<String>,
    /// Made when there is something to write.
    writer: Option<LexicalWriter>,
    large: bool,
    /// Everything is forgotten first.
    afresh: bool,
    /// The next commit begins another journal.
    anew: bool,
}

impl<'a> DocumentBatch<'a> {
    /// Begins with what `view` holds, or with nothing.
    pub fn new(store: &'a EmbeddedStore, held: Held, view: Arc<View>, afresh: bool) -> Self {
        let afresh = afresh || !view.sound || view.next_number > u32::MAX / 2;
        let (before, next_number) = if afresh {
            (Documents::default(), 0)
        } else {
            (view.documents.clone(), view.next_number)
        };
        Self {
            store,
            _held: held,
            documents: before.clone(),
            before,
            next_number,
            touched: BTreeSet::new(),
            writer: None,
            large: false,
            afresh,
            anew: afresh || view.commit.journal.number == 0,
            view,
        }
    }

    fn put_document(&mut self, document: Document) {
        self.touched.insert(document.source.clone());
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
            next_number: self.next_number,
        }
    }
}

impl Batch for DocumentBatch<'_> {
    fn documents(&self) -> Documents {
        self.before.clone()
    }

    fn is_afresh(&self) -> bool {
        self.afresh
    }

    fn expect(&mut self, documents: usize) {
        self.large = documents > LARGE;
    }

    fn put(&mut self, document: Incoming) -> Result<(), KbError> {
        self.remove(&document.source)?;
        let number = self.next_number;
        self.next_number += 1;
        let chunks = document.chunks.iter().map(|(_, chunk)| chunk);
        self.writer()?.add(number, chunks, document.reservation)?;
        let chunks = document.chunks.iter().map(|(key, chunk)| ChunkEntry {
            key: *key,
            lines: chunk.lines,
        });
        self.put_document(Document {
            source: document.source,
            title: document.title,
            hash: document.hash,
            stamp: document.stamp,
            mtime_is_reliable: document.mtime_is_reliable,
            number,
            chunks: chunks.collect(),
            links: document.links.into(),
        });
        Ok(())
    }

    fn keep(&mut self, source: &str, stamp: Stamp, mtime_is_reliable: bool) {
        if let Some(document) = self.documents.get(source) {
            self.put_document(Document {
                stamp,
                mtime_is_reliable,
                ..document.clone()
            });
        }
    }

    fn remove(&mut self, source: &str) -> Result<(), KbError> {
        if let Some(gone) = self.documents.remove(source) {
            self.touched.insert(gone.source.clone());
            self.writer()?.remove(gone.number);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), KbError> {
        if self.touched.is_empty() && !(self.afresh && self.anew) {
            return Ok(());
        }
        let dir = &self.store.dir;
        let generation = Journal::next_number(self.view.commit.generation);
        let journal = self.view.commit.journal;
        let journal = if self.anew || journal.is_mostly_overtaken(self.documents.len()) {
            let all = self.documents.shared().map(Arc::clone).map(Entry::Put);
            Journal::write_anew(dir, generation, &self.entries(all.collect()))?
        } else {
            let changed = self.touched.iter();
            let changed = changed.map(|source| match self.documents.get_shared(source) {
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
        let documents = (self.documents.clone(), self.next_number);
        let touched = std::mem::take(&mut self.touched);
        let was_cleared = std::mem::take(&mut self.anew) && self.afresh;
        self.view = if was_cleared {
            self.store.show_afresh(commit, documents)?
        } else {
            let (shown, now) = (&self.view.documents, &self.documents);
            let changes = touched.iter().map(|source| Change {
                before: shown.get_shared(source).map(Arc::clone),
                after: now.get_shared(source).map(Arc::clone),
            });
            let changes: Vec<Change> = changes.collect();
            self.store.show(&self.view, commit, documents, &changes)?
        };
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), KbError> {
        self.commit()?;
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
            // The segments that were merged need not be kept open.
            self.store.look_again()?;
        }
        Ok(())
    }
}

/// Vectors to come, under their lock.
pub(crate) struct EmbeddingBatch<'a> {
    store: &'a EmbeddedStore,
    _held: Held,
}

impl<'a> EmbeddingBatch<'a> {
    /// Adds to what is there.
    pub fn new(store: &'a EmbeddedStore, held: Held) -> Self {
        Self { store, _held: held }
    }
}

impl VectorBatch for EmbeddingBatch<'_> {
    fn put(&mut self, vectors: &[(ChunkKey, Vec<f32>)]) -> Result<(), KbError> {
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

    fn complete(&mut self) {
        let rows = &self.store.vectors;
        let rows = rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.remove_other_models();
    }

    fn clear(&mut self) -> Result<(), KbError> {
        let rows = &self.store.vectors;
        let mut rows = rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.compact(|_| false)
    }
}
