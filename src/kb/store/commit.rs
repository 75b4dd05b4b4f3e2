//! Writing the store in the data folder.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::embedded::EmbeddedStore;
use super::view::View;
use super::{Batch, ChunkKey, Incoming, VectorBatch};
use crate::kb::error::KbError;
use crate::kb::lexical::{LexicalWriter, Payload};
use crate::kb::lock::Held;
use crate::kb::manifest::{ChunkEntry, Document, Manifest};
use crate::kb::walk::Stamp;

/// A change of more documents than this is worth several threads.
const LARGE: usize = 200;

/// Changes to the documents, under the lock.
pub(super) struct DocumentBatch<'a> {
    store: &'a EmbeddedStore,
    _held: Held,
    before: Arc<[Document]>,
    generation: u64,
    next_number: u32,
    /// All documents; made when there is something to change.
    documents: Option<BTreeMap<String, Document>>,
    /// Made when there is something to write.
    writer: Option<LexicalWriter>,
    large: bool,
    /// Everything is to be forgotten first.
    clear: bool,
    dirty: bool,
}

impl<'a> DocumentBatch<'a> {
    /// Begins with what `view` holds, or with nothing.
    pub fn new(store: &'a EmbeddedStore, held: Held, view: &View, afresh: bool) -> Self {
        let afresh = afresh || !view.sound || view.next_number > u32::MAX / 2;
        Self {
            store,
            _held: held,
            before: if afresh {
                Arc::default()
            } else {
                Arc::clone(&view.documents)
            },
            generation: view.generation,
            next_number: if afresh { 0 } else { view.next_number },
            documents: None,
            writer: None,
            large: false,
            clear: afresh,
            dirty: afresh,
        }
    }

    fn documents_mut(&mut self) -> &mut BTreeMap<String, Document> {
        self.dirty = true;
        let before = &self.before;
        self.documents.get_or_insert_with(|| {
            let named = before.iter().map(|d| (d.source.clone(), d.clone()));
            named.collect()
        })
    }

    fn writer(&mut self) -> Result<&mut LexicalWriter, KbError> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.store.lexical.writer(self.large)?,
        };
        if std::mem::take(&mut self.clear) {
            writer.clear()?;
        }
        Ok(self.writer.insert(writer))
    }
}

impl Batch for DocumentBatch<'_> {
    fn documents(&self) -> Arc<[Document]> {
        Arc::clone(&self.before)
    }

    fn expect(&mut self, documents: usize) {
        self.large = documents > LARGE;
    }

    fn put(&mut self, document: Incoming) -> Result<(), KbError> {
        self.remove(&document.source)?;
        let number = self.next_number;
        self.next_number += 1;
        self.writer()?
            .add(number, document.chunks.iter().map(|(_, chunk)| chunk))?;
        let chunks = document.chunks.iter().map(|(key, chunk)| ChunkEntry {
            key: *key,
            lines: chunk.lines,
        });
        let indexed = Document {
            source: document.source.clone(),
            title: document.title,
            hash: document.hash,
            stamp: document.stamp,
            settled: document.settled,
            number,
            chunks: chunks.collect(),
            links: document.links.into(),
        };
        self.documents_mut().insert(document.source, indexed);
        Ok(())
    }

    fn keep(&mut self, source: &str, stamp: Stamp, settled: bool) {
        if let Some(document) = self.documents_mut().get_mut(source) {
            document.stamp = stamp;
            document.settled = settled;
        }
    }

    fn remove(&mut self, source: &str) -> Result<(), KbError> {
        if let Some(gone) = self.documents_mut().remove(source) {
            self.writer()?.remove(gone.number);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), KbError> {
        if !self.dirty {
            return Ok(());
        }
        let manifest = Manifest {
            documents: self.documents_mut().values().cloned().collect(),
            next_number: self.next_number,
        };
        let generation = Manifest::next_generation(self.generation);
        manifest.save(&self.store.dir, generation)?;
        self.writer()?.commit(Payload { generation })?;
        self.generation = generation;
        Manifest::tidy(&self.store.dir, generation);
        self.dirty = false;
        self.store
            .show(generation, manifest.documents.into(), manifest.next_number)
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
pub(super) struct EmbeddingBatch<'a> {
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
        let rows = &self.store.vectors;
        let mut rows = rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.append(vectors)
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
