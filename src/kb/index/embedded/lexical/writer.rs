//! Changing the index of the words.

use std::sync::Arc;
use std::thread;

use tantivy::directory::error::LockError;
use tantivy::indexer::{LogMergePolicy, UserOperation};
use tantivy::{Document, Index, IndexWriter, TantivyDocument, TantivyError, Term};

use super::{Fields, Payload};
use crate::kb::budget::Reservation;
use crate::kb::chunk::Chunk;
use crate::kb::index::embedded::lock::patiently;
use crate::kb::index::port::{ChunkId, Result};
use crate::kb::index::tokens;

/// Each thread flushes a segment when it has filled this. Tantivy asks for at least 15 MB.
const BYTES_A_THREAD: usize = 48_000_000;
const MOST_THREADS: usize = 8;
/// A segment of which more than this share was removed is written anew without it.
const REMOVED_SHARE: f32 = 0.3;

/// Changes that become visible together.
pub(crate) struct LexicalWriter {
    writer: IndexWriter<QueuedChunk>,
    fields: Fields,
}

/// A chunk that waits for a thread to index it: there may be thousands of documents that do. With
/// the last chunk of a document goes its reservation.
struct QueuedChunk {
    chunk: TantivyDocument,
    _reservation: Arc<Reservation>,
}

impl Document for QueuedChunk {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        Document::iter_fields_and_values(&self.chunk)
    }

    fn into_tantivy_document(self) -> TantivyDocument {
        self.chunk
    }
}

impl LexicalWriter {
    /// A small change is left to one thread: each that takes part leaves a segment of its own.
    pub(super) fn new(index: &Index, fields: Fields, large: bool) -> Result<Self> {
        let threads = if large {
            thread::available_parallelism().map_or(1, usize::from)
        } else {
            1
        };
        let threads = threads.min(MOST_THREADS);
        // No other process writes; but a child that is being started may hold the last writer's lock.
        let writer =
            patiently(
                || match index.writer_with_num_threads(threads, threads * BYTES_A_THREAD) {
                    Err(TantivyError::LockFailure(LockError::LockBusy, _)) => Ok(None),
                    made => Ok(Some(made?)),
                },
            )?;
        let mut merging = LogMergePolicy::default();
        merging.set_del_docs_ratio_before_merge(REMOVED_SHARE);
        writer.set_merge_policy(Box::new(merging));
        Ok(Self { writer, fields })
    }

    /// Forgets everything.
    pub fn clear(&self) -> Result<()> {
        self.writer.delete_all_documents()?;
        Ok(())
    }

    /// Forgets a document.
    pub fn remove(&self, document: u32) {
        let term = Term::from_field_u64(self.fields.document, u64::from(document));
        self.writer.delete_term(term);
    }

    /// Adds a document's chunks, which stay together, with its language. The reservation ends when all are indexed.
    pub fn add<'a>(
        &self,
        document: u32,
        chunks: impl Iterator<Item = &'a Chunk> + Clone,
        reservation: Reservation,
    ) -> Result<()> {
        let fields = self.fields;
        let reservation = Arc::new(reservation);
        let language = tokens::detect(chunks.clone().map(|chunk| chunk.text.as_str()));
        let rows = (0_u32..).zip(chunks).map(|(at, chunk)| {
            let mut stored = TantivyDocument::new();
            stored.add_u64(fields.document, u64::from(document));
            stored.add_u64(fields.row, ChunkId::new(document, at).pack());
            stored.add_text(fields.words, tokens::mark(language, &chunk.heading));
            stored.add_text(fields.words, tokens::mark(language, &chunk.text));
            for name in tokens::name_keys(&chunk.names) {
                stored.add_text(fields.names, name);
            }
            if let Some(place) = &chunk.place {
                let place = serde_json::to_string(place).unwrap_or_default();
                stored.add_text(fields.place, place);
            }
            UserOperation::Add(QueuedChunk {
                chunk: stored,
                _reservation: Arc::clone(&reservation),
            })
        });
        let rows: Vec<UserOperation<QueuedChunk>> = rows.collect();
        self.writer.run(rows)?;
        Ok(())
    }

    /// Makes all changes visible, or none.
    pub fn commit(&mut self, payload: Payload) -> Result<()> {
        let mut prepared = self.writer.prepare_commit()?;
        let json = serde_json::to_string(&payload).unwrap_or_default();
        prepared.set_payload(&json);
        prepared.commit()?;
        Ok(())
    }

    /// Waits until what should be one is one.
    pub fn finish(self) -> Result<()> {
        self.writer.wait_merging_threads()?;
        Ok(())
    }
}
