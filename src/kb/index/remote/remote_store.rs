//! The store of the engine on other machines, behind the port: opening it, leading, and commits of other
//! processes, known as soon as the server tells of them. And what a store is like as a whole.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client};

use super::batch::RemoteBatch;
use super::reader::RemoteReader;
use super::schema;
use super::space::{COMMIT, Commit, Space, WriteRight};
use super::store_address::{StoreAccess, StoreAddress};
use super::store_server::sql::{FLOAT8, TEXT};
use super::store_server::{Purpose, StoreServer};
use super::vectors::RemoteVectorBatch;
use crate::kb::error::KbError;
use crate::kb::index::port::{Batch, Lease, Limits, Reader, Result, Store, VectorBatch};
use crate::text::Trouble;

/// Giving a lease back is waited for so long; it ends by itself all the same.
const GIVING_BACK: Duration = Duration::from_secs(2);
/// Notifications that wait.
const QUEUE: usize = 16;
/// A connection that broke is made anew after this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

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
        let mut connection = self.bare_connection(Purpose::Reading, limits)?;
        let schema = schema::name();
        let asked = include_str!("sql/state.sql");
        let rows = connection.rows(asked, &[(&schema, TEXT)], limits)?;
        let gone = || KbError::Outdated("it gave no answer".to_owned());
        let row = rows.first().ok_or_else(gone)?;
        // Some say behind it where it comes from.
        let version: &str = row.get(0);
        let version = version.split(' ').next().unwrap_or_default();
        let mut state = StoreState {
            address: self.address.display.clone(),
            space: self.address.space.clone(),
            server: version.to_owned(),
            vector: row.get(1),
            is_encrypted: self.address.is_encrypted(),
            lag_ms: row.get(2),
            is_prepared: row.get(3),
            may_write: false,
            spaces: Vec::new(),
        };
        if !state.is_prepared {
            return Ok(state);
        }
        state.may_write = row.get::<_, bool>(5) && state.lag_ms.is_none();
        if !row.get::<_, bool>(4) {
            return Err(KbError::Store(Trouble::new(
                format!(
                    "the user of {} may not read the store",
                    self.address.display
                ),
                "have its owner run what `kb-agent store init --print-sql --reader ROLE` prints",
            )));
        }
        let asked = format!(
            "SELECT s.name, s.documents, s.chunks, s.generation, m.id
            FROM {schema}.spaces s LEFT JOIN {schema}.models m ON m.model = s.model
            WHERE s.name IS NOT NULL ORDER BY s.name"
        );
        for row in connection.rows(&asked, &[], limits)? {
            let name: String = row.get(0);
            state.spaces.push(SpaceState {
                is_written: WriteRight::Documents.is_held(&mut connection, &name, limits)?,
                is_embedded: WriteRight::Vectors.is_held(&mut connection, &name, limits)?,
                documents: row.get::<_, i64>(1).cast_unsigned(),
                chunks: row.get::<_, i64>(2).cast_unsigned(),
                generation: row.get::<_, i64>(3).cast_unsigned(),
                model: row.get(4),
                name,
            });
        }
        Ok(state)
    }

    /// Removes a space; whether there was one. [`KbError::Locked`] while it is written.
    pub fn drop_space(self: &Arc<Self>, name: &str, limits: Limits<'_>) -> Result<bool> {
        let mut connection = self.connection(Purpose::Writing, limits)?;
        WriteRight::Documents.take(&mut connection, name, limits)?;
        let asked = "SELECT space FROM spaces WHERE name = $1";
        let rows = connection.rows(asked, &[(&name, TEXT)], limits)?;
        let number: Option<i32> = rows.first().map(|row| row.get(0));
        if let Some(number) = number {
            let tables = schema::drop_space(number);
            let all = format!("BEGIN; {tables} DELETE FROM spaces WHERE space = {number}; COMMIT;");
            connection.execute(&all, limits)?;
        }
        connection.give_back_rights();
        Ok(number.is_some())
    }
}

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
            names: Mutex::default(),
            complete: Mutex::default(),
        };
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

    fn refresh(&self, model_id: &str, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        self.space.use_model(model_id);
        self.space.refresh(limits).map(drop)
    }

    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>> {
        limits.check()?;
        Ok(Box::new(RemoteBatch::begin(&self.space, afresh, limits)?))
    }

    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>> {
        limits.check()?;
        Ok(Box::new(RemoteVectorBatch::begin(&self.space, limits)?))
    }

    fn model_in_use(&self, limits: Limits<'_>) -> Result<Option<String>> {
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
    ) -> Result<Option<Box<dyn Lease>>> {
        limits.check()?;
        if !self.listens.swap(true, Ordering::Relaxed) {
            follow(&self.space);
        }
        let space = &self.space;
        if space.labels.is_empty() {
            return Ok(None);
        }
        let name = format!("{}\n{}\n{name}", space.name, space.labels.join("\n"));
        match RemoteLease::take(&space.server, name, time, limits) {
            Err(KbError::ReadOnly) => Ok(None),
            taken => Ok(taken?.map(|lease| Box::new(lease) as Box<dyn Lease>)),
        }
    }
}

struct RemoteLease {
    server: Arc<StoreServer>,
    name: String,
    holder: String,
    seconds: f64,
}

impl RemoteLease {
    /// `None` while another holds it.
    fn take(
        server: &Arc<StoreServer>,
        name: String,
        time: Duration,
        limits: Limits<'_>,
    ) -> Result<Option<Self>> {
        let lease = Self {
            server: Arc::clone(server),
            name,
            holder: uuid::Uuid::now_v7().to_string(),
            seconds: time.as_secs_f64(),
        };
        let may = "SELECT has_table_privilege('leases', 'INSERT')";
        let mut connection = server.connection(Purpose::Writing, limits)?;
        if !connection.is_true(may, &[], limits)? {
            return Err(KbError::ReadOnly);
        }
        drop(connection);
        let taken = lease.ask(
            "INSERT INTO leases AS l VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
            ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
            WHERE l.until <= clock_timestamp() RETURNING name",
            limits,
        )?;
        Ok(taken.then_some(lease))
    }

    fn ask(&self, statement: &str, limits: Limits<'_>) -> Result<bool> {
        let mut connection = self.server.connection(Purpose::Writing, limits)?;
        let values = [
            (&self.name as _, TEXT),
            (&self.holder as _, TEXT),
            (&self.seconds as _, FLOAT8),
        ];
        Ok(!connection.rows(statement, &values, limits)?.is_empty())
    }
}

impl Lease for RemoteLease {
    fn renew(&self) -> Result<bool> {
        self.ask(
            "UPDATE leases SET until = clock_timestamp() + make_interval(secs => $3)
            WHERE name = $1 AND holder = $2 AND until > clock_timestamp() RETURNING name",
            Limits::without_cancel(),
        )
    }
}

impl Drop for RemoteLease {
    fn drop(&mut self) {
        let limits = Limits::without_cancel().lasting(GIVING_BACK);
        let given = self.ask(
            "DELETE FROM leases WHERE name = $1 AND holder = $2 AND $3 > 0 RETURNING name",
            limits,
        );
        if let Err(error) = given {
            tracing::debug!(%error, "the leadership ends by itself");
        }
    }
}

/// Moves the space on with each commit, for as long as it is used.
fn follow(space: &Arc<Space>) {
    let known = Arc::downgrade(space);
    space.server.listen(|config, tls| async move {
        let mut pause = FIRST_PAUSE;
        while known.strong_count() > 0 {
            match config.connect(tls.clone()).await {
                Ok((client, mut connection)) => {
                    let (sender, notified) = mpsc::channel(QUEUE);
                    // A query is answered only while the connection is driven.
                    let driver = tokio::spawn(async move {
                        let messages = stream::poll_fn(|context| connection.poll_message(context));
                        let mut messages = std::pin::pin!(messages);
                        while let Some(Ok(message)) = messages.next().await {
                            if let AsyncMessage::Notification(notification) = message {
                                // A full queue tells of commits already.
                                let _ = sender.try_send(notification.payload().to_owned());
                            }
                        }
                    });
                    if listen(&known, &client, notified).await {
                        pause = FIRST_PAUSE;
                    }
                    driver.abort();
                }
                Err(error) => tracing::debug!(%error, "commits are not listened for"),
            }
            tokio::time::sleep(pause).await;
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    });
}

/// Follows commits until the connection ends; whether it could listen at all, which a replica cannot.
async fn listen(
    known: &Weak<Space>,
    client: &Client,
    mut notified: mpsc::Receiver<String>,
) -> bool {
    let listening = format!("LISTEN {}", schema::channel());
    if client.batch_execute(&listening).await.is_err() {
        return false;
    }
    // What came while none listened.
    let mut is_due = true;
    loop {
        let Some(space) = known.upgrade() else { break };
        if is_due {
            let Some(commit) = last_commit(client, &space).await else {
                break;
            };
            space.move_on_to(commit);
        }
        let name = space.name.clone();
        drop(space);
        match notified.recv().await {
            Some(payload) => is_due = payload == name,
            None => break,
        }
    }
    true
}

async fn last_commit(client: &Client, space: &Space) -> Option<Commit> {
    let path = "SELECT set_config('search_path', quote_ident($1), false)";
    let path = client.query_typed(path, &[(&schema::name(), TEXT)]).await;
    path.ok()?;
    let model_id = space.model_id();
    let values = [(&space.name as _, TEXT), (&model_id as _, TEXT)];
    let rows = client.query_typed(COMMIT, &values).await.ok()?;
    rows.first().map(Commit::from_row)
}
