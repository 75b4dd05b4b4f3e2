//! An index in memory that promises no more than the port does: the engine on another machine of
//! the tests.
//!
//! Each call takes 5 ms of a clock of its own and is counted; a reader sees whatever is there at the
//! moment; calls fail at random where that is asked for, a commit also after it is done; stamps
//! belong to the machine that took them. It has no statistics of terms and knows no near ones.

mod fake_reader;
mod server;
mod writing;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::limits::Limits;
use super::port::{Batch, Lease, Reader, Store, VectorBatch};
use crate::kb::error::KbError;
use fake_reader::FakeReader;
pub(crate) use server::Server;
use writing::{FakeBatch, FakeLease, FakeVectorBatch};

/// The server as one machine uses it.
pub(crate) struct FakeStore {
    server: Arc<Server>,
    machine: u32,
    generation: AtomicU64,
}

impl FakeStore {
    /// Opens the server as the machine of that number.
    pub fn new(server: &Arc<Server>, machine: u32) -> Self {
        let generation = server.state().generation;
        Self {
            server: Arc::clone(server),
            machine,
            generation: AtomicU64::new(generation),
        }
    }
}

impl Store for FakeStore {
    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(FakeReader {
            server: Arc::clone(&self.server),
            machine: self.machine,
            generation: self.generation.load(Ordering::Relaxed),
        })
    }

    fn refresh(&self, _: &str, limits: Limits<'_>) -> Result<(), KbError> {
        let state = self.server.call("refresh", limits)?;
        self.generation.store(state.generation, Ordering::Relaxed);
        Ok(())
    }

    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>, KbError> {
        let holder = self.server.holder();
        let mut state = self.server.call("begin", limits)?;
        if state.writer.is_some() {
            return Err(KbError::Locked);
        }
        state.writer = Some(holder);
        Ok(Box::new(FakeBatch {
            server: &self.server,
            machine: self.machine,
            generation: &self.generation,
            holder,
            afresh,
            changes: Vec::new(),
            stamps: Vec::new(),
        }))
    }

    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>, KbError> {
        let holder = self.server.holder();
        let mut state = self.server.call("begin_vectors", limits)?;
        if state.vector_writer.is_some() {
            return Err(KbError::Locked);
        }
        state.vector_writer = Some(holder);
        Ok(Box::new(FakeVectorBatch {
            server: &self.server,
            holder,
        }))
    }

    fn lease(
        &self,
        name: &str,
        time: Duration,
        limits: Limits<'_>,
    ) -> Result<Option<Box<dyn Lease>>, KbError> {
        let holder = self.server.holder();
        let mut state = self.server.call("lease", limits)?;
        let now = state.clock;
        if state.leases.get(name).is_some_and(|(_, end)| *end > now) {
            return Ok(None);
        }
        state.leases.insert(name.to_owned(), (holder, now + time));
        Ok(Some(Box::new(FakeLease {
            server: Arc::clone(&self.server),
            name: name.to_owned(),
            holder,
            time,
        })))
    }
}
