//! The store of the engine on other machines, behind the port. And what a store is like as a whole.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::batch::RemoteBatch;
use super::reader::RemoteReader;
use super::schema;
use super::space::{BEGIN, Space, other_versions, take};
use super::store_address::{StoreAccess, StoreAddress};
use super::store_server::{Connection, Purpose, StoreServer, values};
use super::vectors::RemoteVectorBatch;
use crate::kb::error::KbError;
use crate::kb::index::port::{Batch, Lease, Limits, Reader, Result, Store, VectorBatch};
use crate::text::Trouble;

/// Removing the rows of a large space takes a while.
const REMOVING: Duration = Duration::from_hours(6);

/// A shared index, opened.
pub(crate) struct OpenedStore {
    pub store: Box<dyn Store>,
    /// The address without the password.
    pub address: String,
    /// The name of the space there.
    pub space: String,
}

/// Opens the index at an address that others share; asks nothing there yet. Where the address names
/// no space, it is called `name`. `writer` are the machine and what the names of the documents begin
/// with that this process keeps up to date.
pub(crate) fn open_shared(
    access: &StoreAccess,
    name: &str,
    writer: (String, Vec<String>),
    model_id: &str,
) -> Result<OpenedStore> {
    let address = StoreAddress::parse(access)?;
    let space = address.space.clone().unwrap_or_else(|| name.to_owned());
    if space.is_empty() {
        return Err(KbError::Setting(Trouble::new(
            "KB_AGENT_STORE_URL names no space, and no folder is named",
            "add ?space=NAME to it",
        )));
    }
    let server = StoreServer::new(address)?;
    Ok(OpenedStore {
        address: server.address.display.clone(),
        store: Box::new(RemoteStore::new(server, space.clone(), writer, model_id)),
        space,
    })
}

/// The state of a store, as the user that its address names sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreState {
    /// The address without the password.
    pub address: String,
    /// The space that it names.
    pub space: Option<String>,
    /// The version of PostgreSQL, such as `18.1`.
    pub server: String,
    /// The version of pgvector; `None` where it is missing.
    pub vector: Option<String>,
    /// Whether what goes there is encrypted.
    pub is_encrypted: bool,
    /// Whether it is a replica, and how many milliseconds it is behind.
    pub lag_ms: Option<i64>,
    /// Whether what this version keeps is there.
    pub is_prepared: bool,
    /// Whether the user may change it.
    pub may_write: bool,
    /// The spaces, by name.
    pub spaces: Vec<SpaceState>,
    /// The spaces that other versions of the program keep there, each with its schema.
    pub of_other_versions: Vec<(String, String)>,
}

/// The contents of a space of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceState {
    /// Its name.
    pub name: String,
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Milliseconds since 1970 of its last commit.
    pub generation: u64,
    /// The embedding of its vectors; `None` while there are none.
    pub model: Option<String>,
    /// Whether a process changes its documents at this moment.
    pub is_written: bool,
    /// Whether a process adds vectors at this moment.
    pub is_embedded: bool,
}

impl StoreServer {
    /// Looks at the store; makes nothing.
    pub fn state(self: &Arc<Self>, limits: Limits<'_>) -> Result<StoreState> {
        let mut connection = self.open(Purpose::Reading, limits)?;
        let asked = include_str!("sql/state.sql");
        let rows = connection.rows(asked, values![schema::name()], limits)?;
        let gone = || KbError::Outdated("it gave no answer".to_owned());
        let row = rows.first().ok_or_else(gone)?;
        // Some say behind it where it comes from.
        let version: &str = row.get(0);
        let version = version.split(' ').next().unwrap_or_default();
        let lag_ms = row.get(2);
        let mut state = StoreState {
            address: self.address.display.clone(),
            space: self.address.space.clone(),
            server: version.to_owned(),
            vector: row.get(1),
            is_encrypted: self.address.is_encrypted(),
            lag_ms,
            is_prepared: row.get(3),
            may_write: lag_ms.is_none() && row.get::<_, Option<bool>>(5) == Some(true),
            spaces: Vec::new(),
            of_other_versions: other_versions(&mut connection, limits)?,
        };
        if !state.is_prepared {
            return Ok(state);
        }
        if row.get::<_, Option<bool>>(4) != Some(true) {
            return Err(KbError::Store(Trouble::new(
                format!(
                    "the user of {} may not read the store",
                    self.address.display
                ),
                "have its owner run what `kb-agent store init --print-sql --reader ROLE` prints",
            )));
        }
        let asked = include_str!("sql/spaces.sql").replace("{schema}", &schema::name());
        let rows = connection.rows(&asked, Vec::new(), limits)?;
        let spaces = rows.iter().map(|row| SpaceState {
            name: row.get(0),
            documents: row.get::<_, i64>(1).cast_unsigned(),
            chunks: row.get::<_, i64>(2).cast_unsigned(),
            generation: row.get::<_, i64>(3).cast_unsigned(),
            model: row.get(4),
            is_written: row.get(5),
            is_embedded: row.get(6),
        });
        state.spaces = spaces.collect();
        let is_here = |name: &String| state.spaces.iter().any(|space| space.name == *name);
        state.of_other_versions.retain(|(name, _)| !is_here(name));
        Ok(state)
    }

    /// Removes a space; whether there was one. [`KbError::Locked`] while it is written.
    pub fn drop_space(self: &Arc<Self>, name: &str, limits: Limits<'_>) -> Result<bool> {
        let mut connection = take(self, name, "documents", limits)?;
        let asked = "SELECT space, generation > 0 FROM spaces WHERE name = $1";
        let rows = connection.rows(asked, values![name.to_owned()], limits)?;
        let Some(row) = rows.first() else {
            return Ok(false);
        };
        let tables = ["chunks", "documents", "terms", "spaces"];
        let number: i32 = row.get(0);
        let removed = tables.map(|table| format!("DELETE FROM {table} WHERE space = {number};"));
        let all = format!("{BEGIN} {} COMMIT", removed.concat());
        connection.execute(all, limits.lasting(REMOVING))?;
        Ok(row.get(1))
    }
}

/// A space of a server, as this process searches and writes it.
pub(crate) struct RemoteStore {
    space: Arc<Space>,
}

impl RemoteStore {
    /// Opens a space by its name; asks the server nothing yet. `labels` are the first parts of the names
    /// of the documents that this process keeps up to date on `machine`.
    pub fn new(
        server: Arc<StoreServer>,
        name: String,
        (machine, labels): (String, Vec<String>),
        model_id: &str,
    ) -> Self {
        let space = Space {
            server,
            name,
            machine,
            labels,
            last_commit: Mutex::default(),
            model_id: Mutex::new(model_id.to_owned()),
            documents: Mutex::default(),
            complete: Mutex::default(),
        };
        Self {
            space: Arc::new(space),
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

    fn refresh(&self, model_id: &str, limits: Limits<'_>) -> Result<()> {
        model_id.clone_into(&mut self.space.model_id.lock());
        self.space.refresh(limits)
    }

    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>> {
        Ok(Box::new(RemoteBatch::begin(&self.space, afresh, limits)?))
    }

    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>> {
        Ok(Box::new(RemoteVectorBatch::begin(&self.space, limits)?))
    }

    fn model_in_use(&self, limits: Limits<'_>) -> Result<Option<String>> {
        let asked = "SELECT model_id FROM spaces WHERE name = $1";
        let mut connection = self.space.reading(limits)?;
        let rows = connection.rows(asked, values![self.space.name.clone()], limits)?;
        Ok(rows.first().and_then(|row| row.get(0)))
    }

    /// Each set of roots has a leader of its own, for two machines may keep different folders of one
    /// space. A process without roots, or with the right to read only, never leads.
    ///
    /// The leadership is a right of a session, which the server ends a minute after its machine is gone.
    fn lease(&self, name: &str, _: Duration, limits: Limits<'_>) -> Result<Option<Box<dyn Lease>>> {
        limits.check()?;
        let space = &self.space;
        if space.labels.is_empty() {
            return Ok(None);
        }
        let right = format!("{}\n{name}\nlead", space.labels.join("\n"));
        match space.take(&right, limits) {
            Err(KbError::ReadOnly | KbError::Locked) => Ok(None),
            taken => Ok(Some(Box::new(RemoteLease {
                connection: Mutex::new(taken?),
                space: Arc::clone(space),
                right,
            }))),
        }
    }
}

struct RemoteLease {
    space: Arc<Space>,
    right: String,
    connection: Mutex<Connection>,
}

impl Lease for RemoteLease {
    fn renew(&self) -> Result<bool> {
        let limits = Limits::without_cancel();
        let mut connection = self.connection.lock();
        if connection.rows("SELECT", Vec::new(), limits).is_ok() {
            return Ok(true);
        }
        match self.space.take(&self.right, limits) {
            Err(KbError::Locked) => Ok(false),
            taken => {
                *connection = taken?;
                Ok(true)
            }
        }
    }
}
