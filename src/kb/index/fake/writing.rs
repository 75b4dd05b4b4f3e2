//! Changing the index in memory, and leading.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::fake_reader::FakeReader;
use super::server::{Server, Stored, unreachable_server};
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::document::{Document, LocalStamp, NewDocument};
use crate::kb::index::limits::Limits;
use crate::kb::index::port::{Batch, Lease, Reader, VectorBatch};

pub(super) struct FakeLease {
    pub(super) server: Arc<Server>,
    pub(super) name: String,
    pub(super) holder: u64,
    pub(super) time: Duration,
}

impl Lease for FakeLease {
    fn renew(&self) -> Result<bool, KbError> {
        let mut state = self.server.state();
        let now = state.clock;
        let held = state.leases.get_mut(&self.name);
        let own = held.filter(|(holder, end)| *holder == self.holder && *end > now);
        Ok(own.map(|held| held.1 = now + self.time).is_some())
    }
}

impl Drop for FakeLease {
    fn drop(&mut self) {
        let mut state = self.server.state();
        let held = state.leases.get(&self.name);
        if held.is_some_and(|(holder, _)| *holder == self.holder) {
            state.leases.remove(&self.name);
        }
    }
}

pub(super) enum FakeChange {
    Put(NewDocument),
    Remove(String),
}

pub(super) struct FakeBatch<'a> {
    pub(super) server: &'a Arc<Server>,
    pub(super) machine: u32,
    pub(super) generation: &'a AtomicU64,
    pub(super) holder: u64,
    pub(super) afresh: bool,
    pub(super) changes: Vec<FakeChange>,
    pub(super) stamps: Vec<(String, LocalStamp)>,
}

impl Batch for FakeBatch<'_> {
    fn previous_reader(&self) -> Option<Arc<dyn Reader>> {
        let reader = || FakeReader {
            server: Arc::clone(self.server),
            machine: self.machine,
            generation: self.generation.load(Ordering::Relaxed),
        };
        (!self.afresh).then(|| Arc::new(reader()) as Arc<dyn Reader>)
    }

    fn expect(&mut self, _: usize) {}

    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<(), KbError> {
        drop(self.server.call("put", limits)?);
        self.changes.push(FakeChange::Put(document));
        Ok(())
    }

    fn keep(&mut self, source: &str, stamp: LocalStamp, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        self.stamps.push((source.to_owned(), stamp));
        Ok(())
    }

    fn remove(&mut self, source: &str, limits: Limits<'_>) -> Result<(), KbError> {
        drop(self.server.call("remove", limits)?);
        self.changes.push(FakeChange::Remove(source.to_owned()));
        Ok(())
    }

    fn commit(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        let machine = self.machine;
        let mut state = self.server.call("commit", limits)?;
        let clear = std::mem::take(&mut self.afresh);
        if clear {
            state.documents.clear();
        }
        let is_changed = clear || !self.changes.is_empty();
        for change in self.changes.drain(..) {
            match change {
                FakeChange::Remove(source) => {
                    state.documents.remove(&source);
                }
                FakeChange::Put(document) => {
                    state.next_number += 1;
                    let source = document.source;
                    state
                        .stamps
                        .insert((machine, source.clone()), document.stamp);
                    let stored = Stored {
                        document: Document {
                            source: source.clone(),
                            title: document.title,
                            hash: document.hash,
                            bytes: document.stamp.stamp.size,
                            modified: document.stamp.stamp.modified,
                            chunks: document.chunks.len(),
                            stamp: None,
                        },
                        number: state.next_number,
                        links: document.links,
                        chunks: document.chunks,
                    };
                    state.documents.insert(source, stored);
                }
            }
        }
        for (source, stamp) in self.stamps.drain(..) {
            state.stamps.insert((machine, source), stamp);
        }
        if is_changed {
            state.generation = (state.clock.as_millis() as u64).max(state.generation + 1);
        }
        let generation = self.generation;
        generation.store(state.generation, Ordering::Relaxed);
        if state.fails() {
            // It is done, and what comes back is lost.
            return Err(unreachable_server());
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, limits: Limits<'_>) -> Result<(), KbError> {
        self.commit(limits)
    }
}

impl Drop for FakeBatch<'_> {
    fn drop(&mut self) {
        let mut state = self.server.state();
        state.writer.take_if(|holder| *holder == self.holder);
    }
}

pub(super) struct FakeVectorBatch<'a> {
    pub(super) server: &'a Arc<Server>,
    pub(super) holder: u64,
}

impl VectorBatch for FakeVectorBatch<'_> {
    fn put_vectors(
        &mut self,
        vectors: &[(ChunkKey, Vec<f32>)],
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        let mut state = self.server.call("put_vectors", limits)?;
        state.vectors.extend(vectors.iter().cloned());
        Ok(())
    }

    fn complete(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        self.server.call("complete", limits).map(drop)
    }

    fn clear(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        let mut state = self.server.call("clear", limits)?;
        state.vectors.clear();
        Ok(())
    }
}

impl Drop for FakeVectorBatch<'_> {
    fn drop(&mut self) {
        let mut state = self.server.state();
        state.vector_writer.take_if(|holder| *holder == self.holder);
    }
}
