//! Connections to the server: made when they are needed, kept for the next call, given up with the
//! call that a stop or a deadline ends.
//!
//! The sockets live on a small runtime of their own; the port's verbs wait on the threads that call
//! them. A call is one statement, or several that are sent together, and so one round trip.

use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::{Fault, unreachable_error};
use super::schema;
use super::store_address::StoreAddress;
use super::wait::wait_for;
use crate::files::read_certificates;
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;
use crate::text::Trouble;

static NEVER: AtomicBool = AtomicBool::new(false);
/// Held while what is kept on the server is made; any number does.
const PREPARING: i64 = 0x6b62_6167_656e_7401;
/// The number of idle connections that are kept.
const KEPT: usize = 4;

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Whatever server of those that are named answers.
    Reading,
    /// The one that takes changes, so that own changes are seen; another where it does not answer.
    ReadingOwn,
    /// The one that takes changes.
    Writing,
}

/// The server or servers of one address.
pub(crate) struct StoreServer {
    address: StoreAddress,
    tls: MakeRustlsConnect,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    idle: Mutex<Vec<(Purpose, Client)>>,
    /// Statements, or groups of them sent together, that were asked; connecting is not counted.
    round_trips: AtomicU64,
}

impl StoreServer {
    /// Prepares for a server; connects to none yet.
    pub fn new(address: StoreAddress) -> Result<Arc<Self>, KbError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|error| unreachable_error(&address.display, &error))?;
        Ok(Arc::new(Self {
            tls: MakeRustlsConnect::new(tls(address.ca.as_deref())?),
            runtime: Some(runtime),
            idle: Mutex::default(),
            round_trips: AtomicU64::new(0),
            address,
        }))
    }

    /// Makes what this version keeps there, as far as it is missing.
    pub fn prepare(self: &Arc<Self>, limits: Limits<'_>) -> Result<(), KbError> {
        let made = schema::make();
        let mut connection = self.bare_connection(limits)?;
        let may = "SELECT has_database_privilege(current_database(), 'CREATE')";
        let rows = connection.rows(limits, may, &[])?;
        if !rows.first().is_some_and(|row| row.get(0)) {
            return Err(KbError::Store(Trouble::new(
                format!(
                    "the user of {} may make nothing there",
                    self.display_address()
                ),
                "run `kb-agent store init` as the owner of the database",
            )));
        }
        // One at a time: two that make the same at once would get in each other's way.
        let all = format!("BEGIN; SELECT pg_advisory_xact_lock({PREPARING}); {made} COMMIT;");
        self.run(&all, limits)
    }

    /// Runs statements over a connection of their own, whatever the server has or lacks.
    pub fn run(self: &Arc<Self>, statements: &str, limits: Limits<'_>) -> Result<(), KbError> {
        let client = self.open(Purpose::Writing, limits)?;
        let mut connection = self.lend(client, Purpose::Writing);
        let done = async |client: &Client| client.batch_execute(statements).await;
        connection.is_kept = false;
        connection.call(limits, done)
    }

    /// A connection to look at the server by, whatever it has or lacks.
    pub(super) fn bare_connection(
        self: &Arc<Self>,
        limits: Limits<'_>,
    ) -> Result<Connection, KbError> {
        let client = self.open(Purpose::Reading, limits)?;
        let mut connection = self.lend(client, Purpose::Reading);
        connection.is_kept = false;
        Ok(connection)
    }

    /// The address without the password.
    pub fn display_address(&self) -> &str {
        &self.address.display
    }

    /// The space that the address names.
    pub fn space_name(&self) -> Option<&str> {
        self.address.space.as_deref()
    }

    /// Whether what goes to the server is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.address.is_encrypted()
    }

    #[cfg(test)]
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// Borrows a connection for some calls. It goes back when it is dropped.
    pub fn connection(
        self: &Arc<Self>,
        purpose: Purpose,
        limits: Limits<'_>,
    ) -> Result<Connection, KbError> {
        let known = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|(_, client)| !client.is_closed());
            let fits = |(of, _): &(Purpose, Client)| *of == purpose;
            idle.iter().rposition(fits).map(|at| idle.swap_remove(at).1)
        };
        let client = match known {
            Some(client) => client,
            None => self.connect(purpose, limits)?,
        };
        Ok(self.lend(client, purpose))
    }

    fn lend(self: &Arc<Self>, client: Client, purpose: Purpose) -> Connection {
        Connection {
            server: Arc::clone(self),
            purpose,
            client: Some(client),
            is_kept: true,
        }
    }

    /// Opens a connection without checking the server.
    fn open(self: &Arc<Self>, purpose: Purpose, limits: Limits<'_>) -> Result<Client, KbError> {
        wait_for(self.spawn_connection(self.config(purpose)), limits)?
    }

    fn connect(self: &Arc<Self>, purpose: Purpose, limits: Limits<'_>) -> Result<Client, KbError> {
        let client = match self.open(purpose, limits) {
            Err(KbError::Store(_)) if purpose == Purpose::ReadingOwn => {
                return self.connect(Purpose::Reading, limits);
            }
            // Only replicas answer.
            Err(KbError::Store(_))
                if purpose == Purpose::Writing
                    && self.connect(Purpose::Reading, limits).is_ok() =>
            {
                return Err(KbError::ReadOnly);
            }
            connected => connected?,
        };
        let schema = schema::name();
        let asked = [(&schema as _, Type::TEXT)];
        let setup = wait_for(client.query_typed(schema::SETUP, &asked), limits)?;
        let rows = setup.map_err(|error| self.fault(&error))?;
        schema::check(schema::versions(&rows).as_ref(), self.display_address())?;
        Ok(client)
    }

    fn config(&self, purpose: Purpose) -> Config {
        let mut config = self.address.config.clone();
        if purpose != Purpose::Reading {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config
    }

    /// Connects on the runtime, where the connection then lives.
    async fn spawn_connection(&self, config: Config) -> Result<Client, KbError> {
        let tls = self.tls.clone();
        let connecting = self.spawn(async move {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the store ended");
                }
            });
            Ok::<Client, tokio_postgres::Error>(client)
        });
        let broke_off = |error| unreachable_error(self.display_address(), &error);
        let connected = connecting.await.map_err(broke_off)?;
        connected.map_err(|error| self.fault(&error))
    }

    /// Gives the caller what it needs for a connection that receives notifications.
    pub fn listen<F: Future<Output = ()> + Send + 'static>(
        &self,
        work: impl FnOnce(Config, MakeRustlsConnect) -> F,
    ) {
        drop(self.spawn(work(self.config(Purpose::Reading), self.tls.clone())));
    }

    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        match &self.runtime {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        }
    }

    /// Converts an error of the server.
    pub fn fault(&self, error: &tokio_postgres::Error) -> KbError {
        Fault::from_client_error(error).into_error(self.display_address())
    }

    fn count(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped on a thread of another runtime, where waiting is not allowed.
            runtime.shutdown_background();
        }
    }
}

/// A borrowed connection; it goes back to the server's pool when it is dropped.
pub(crate) struct Connection {
    server: Arc<StoreServer>,
    purpose: Purpose,
    /// `None` once a call on it was given up: what it would answer next belongs to that.
    client: Option<Client>,
    /// Whether the next caller may have it.
    is_kept: bool,
}

impl Connection {
    /// Makes calls on the connection, which count as one round trip, and waits for them. A call that is
    /// given up ends on the server too, and the connection with it.
    pub fn call<T>(
        &mut self,
        limits: Limits<'_>,
        ask: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, KbError> {
        let gone = || {
            KbError::Store(Trouble::new(
                "the connection to the store is gone",
                "try again",
            ))
        };
        let client = self.client.take().ok_or_else(gone)?;
        self.server.count();
        match wait_for(ask(&client), limits) {
            Ok(Ok(value)) => {
                self.client = Some(client);
                Ok(value)
            }
            Ok(Err(error)) => {
                let fault = self.server.fault(&error);
                if !client.is_closed() && error.as_db_error().is_some() {
                    self.client = Some(client);
                }
                Err(fault)
            }
            Err(ended) => {
                let (cancel, tls) = (client.cancel_token(), self.server.tls.clone());
                drop(self.server.spawn(async move {
                    let ended = tokio::time::timeout(CANCEL, cancel.cancel_query(tls)).await;
                    if !matches!(ended, Ok(Ok(()))) {
                        tracing::debug!("a call to the store could not be cancelled");
                    }
                }));
                Err(ended)
            }
        }
    }

    /// [`Connection::call`] of one statement with its rows.
    pub fn rows(
        &mut self,
        limits: Limits<'_>,
        statement: &str,
        values: &[TypedValue<'_>],
    ) -> Result<Vec<Row>, KbError> {
        self.call(limits, async |client| {
            client.query_typed(statement, values).await
        })
    }

    /// [`Connection::call`] of statements without values and rows.
    pub fn execute(&mut self, statements: &str, limits: Limits<'_>) -> Result<(), KbError> {
        let done = async |client: &Client| client.batch_execute(statements).await;
        self.call(limits, done)
    }

    /// Whether a call on it was given up or it broke.
    pub fn is_broken(&self) -> bool {
        self.client.is_none()
    }

    /// Undoes what is not committed and gives rights back. Where that fails the connection is given
    /// up, and the server does both.
    pub fn give_back_rights(&mut self) {
        let limits = Limits::until(&NEVER, Instant::now().checked_add(CANCEL));
        let given = self.call(limits, async |client| {
            let all = "ROLLBACK; SELECT pg_advisory_unlock_all()";
            client.batch_execute(all).await
        });
        if given.is_err() {
            self.client = None;
        }
    }
}

/// A value with its type: so a statement needs no round trip of its own to be prepared.
pub(super) type TypedValue<'a> = (&'a (dyn ToSql + Sync), Type);

const CANCEL: Duration = Duration::from_secs(5);

impl Deref for Connection {
    type Target = Arc<StoreServer>;

    fn deref(&self) -> &Arc<StoreServer> {
        &self.server
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let client = self.client.take().filter(|client| !client.is_closed());
        let Some(client) = client.filter(|_| self.is_kept) else {
            return;
        };
        let idle = &self.server.idle;
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push((self.purpose, client));
        }
    }
}

/// Certificates are always verified: by the authority that is named, else by those of the system.
fn tls(ca: Option<&Path>) -> Result<ClientConfig, KbError> {
    let unusable = |what: String| {
        let next = "give a certificate file in PEM form";
        KbError::Setting(Trouble::new(format!("KB_AGENT_STORE_CA: {what}"), next))
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?;
    let Some(path) = ca else {
        let verified = builder.with_platform_verifier();
        let verified = verified.map_err(|error| unusable(error.to_string()))?;
        return Ok(verified.with_no_client_auth());
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(read_certificates(path).map_err(unusable)?);
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
