//! The store of the engine on other machines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::batch::RemoteBatch;
use super::commits;
use super::lease::RemoteLease;
use super::space::Space;
use super::space_reader::RemoteReader;
use super::store_server::StoreServer;
use super::vectors::RemoteVectorBatch;
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;
use crate::kb::index::port::{Batch, Lease, Reader, Store, VectorBatch};

/// A space of a server, as this process searches and writes it.
pub(crate) struct RemoteStore {
    space: Arc<Space>,
    listens: AtomicBool,
}

impl RemoteStore {
    /// Opens a space by its name; asks the server nothing yet. `labels` are the first parts of the names
    /// of the documents that this process keeps up to date on `machine`.
    pub fn new(
        server: Arc<StoreServer>,
        space_name: String,
        (machine, labels): (String, Vec<String>),
        model_id: &str,
    ) -> Self {
        let space = Space::new(server, space_name, machine, labels, model_id);
        Self {
            space: Arc::new(space),
            listens: AtomicBool::new(false),
        }
    }

    /// How many round trips its calls have taken.
    #[cfg(test)]
    pub fn round_trips(&self) -> u64 {
        self.space.server.round_trips()
    }
}

impl Store for RemoteStore {
    fn reader(&self) -> Arc<dyn Reader> {
        let commit = self.space.last_commit();
        Arc::new(RemoteReader::new(Arc::clone(&self.space), commit, false))
    }

    fn refresh(&self, model_id: &str, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        self.space.use_model(model_id);
        self.space.refresh(limits).map(drop)
    }

    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>, KbError> {
        limits.check()?;
        Ok(Box::new(RemoteBatch::begin(&self.space, afresh, limits)?))
    }

    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>, KbError> {
        limits.check()?;
        Ok(Box::new(RemoteVectorBatch::begin(&self.space, limits)?))
    }

    fn model_in_use(&self, limits: Limits<'_>) -> Result<Option<String>, KbError> {
        limits.check()?;
        self.space.model_in_use(limits)
    }

    /// Each set of roots has a leader of its own, for two machines may keep different folders of one
    /// space. A process without roots, or with the right to read only, never leads.
    fn lease(
        &self,
        name: &str,
        time: Duration,
        limits: Limits<'_>,
    ) -> Result<Option<Box<dyn Lease>>, KbError> {
        limits.check()?;
        if !self.listens.swap(true, Ordering::Relaxed) {
            commits::follow(&self.space);
        }
        let space = &self.space;
        if space.labels.is_empty() {
            return Ok(None);
        }
        let name = format!("{}\n{}\n{name}", space.name, space.labels.join("\n"));
        match RemoteLease::take(&space.server, name, time, limits) {
            Ok(lease) => Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lease>)),
            Err(KbError::ReadOnly) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
