//! Connections to the server: made when they are needed, kept for the next call, given up with the
//! call that a token or a deadline ends; and what the server's errors mean.
//!
//! The sockets live on a small runtime of their own; the port's verbs wait on the threads that call
//! them. A call is one statement, or several that are sent together, and so one round trip.

use std::error::Error;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use parking_lot::Mutex;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::schema;
use super::store_address::StoreAddress;
use crate::files::read_certificates;
use crate::kb::error::KbError;
use crate::kb::index::port::{Limits, Result};
use crate::text::{Trouble, one_line};

/// Types of values.
pub(super) mod sql {
    use tokio_postgres::types::Type;

    pub const BOOL: Type = Type::BOOL;
    pub const BOOL_ARRAY: Type = Type::BOOL_ARRAY;
    pub const BYTEA: Type = Type::BYTEA;
    pub const BYTEA_ARRAY: Type = Type::BYTEA_ARRAY;
    pub const FLOAT4: Type = Type::FLOAT4;
    pub const FLOAT4_ARRAY: Type = Type::FLOAT4_ARRAY;
    pub const FLOAT8: Type = Type::FLOAT8;
    pub const FLOAT8_ARRAY: Type = Type::FLOAT8_ARRAY;
    pub const INT2_ARRAY: Type = Type::INT2_ARRAY;
    pub const INT4: Type = Type::INT4;
    pub const INT4_ARRAY: Type = Type::INT4_ARRAY;
    pub const INT8: Type = Type::INT8;
    pub const INT8_ARRAY: Type = Type::INT8_ARRAY;
    pub const TEXT: Type = Type::TEXT;
    pub const TEXT_ARRAY: Type = Type::TEXT_ARRAY;
}
use sql::TEXT;

/// A value with its type: so a statement needs no round trip of its own to be prepared.
pub(super) type TypedValue<'a> = (&'a (dyn ToSql + Sync), tokio_postgres::types::Type);

/// Held while what is kept on the server is made; any number does.
const PREPARING: i64 = 0x6b62_6167_656e_7401;
/// The number of idle connections that are kept.
const KEPT: usize = 4;
/// Cancelling a call and giving back rights may take this long.
const CANCEL: Duration = Duration::from_secs(5);
/// Messages of servers are quoted up to this length, in characters.
const LONGEST: usize = 200;

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
    pub(super) address: StoreAddress,
    tls: MakeRustlsConnect,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    idle: Mutex<Vec<(Purpose, Client)>>,
    /// Statements, or groups of them sent together, that were asked; connecting is not counted.
    round_trips: AtomicU64,
}

impl StoreServer {
    /// Prepares for a server; connects to none yet.
    pub fn new(address: StoreAddress) -> Result<Arc<Self>> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|error| unreachable(&address.display, &error.to_string()))?;
        Ok(Arc::new(Self {
            tls: MakeRustlsConnect::new(tls(address.ca.as_deref())?),
            runtime: Some(runtime),
            idle: Mutex::default(),
            round_trips: AtomicU64::new(0),
            address,
        }))
    }

    /// Makes what this version keeps there, as far as it is missing.
    pub fn prepare(self: &Arc<Self>, limits: Limits<'_>) -> Result<()> {
        let mut connection = self.bare_connection(Purpose::Reading, limits)?;
        let may = "SELECT has_database_privilege(current_database(), 'CREATE')";
        if !connection.is_true(may, &[], limits)? {
            return Err(KbError::Store(Trouble::new(
                format!(
                    "the user of {} may make nothing there",
                    self.address.display
                ),
                "run `kb-agent store init` as the owner of the database",
            )));
        }
        // One at a time: two that make the same at once would get in each other's way.
        let made = schema::make();
        let all = format!("BEGIN; SELECT pg_advisory_xact_lock({PREPARING}); {made} COMMIT;");
        self.run(&all, limits)
    }

    /// Runs statements over a connection of their own, whatever the server has or lacks.
    pub fn run(self: &Arc<Self>, statements: &str, limits: Limits<'_>) -> Result<()> {
        let mut connection = self.bare_connection(Purpose::Writing, limits)?;
        connection.execute(statements, limits)
    }

    /// A connection that the next caller does not get, whatever the server has or lacks.
    pub(super) fn bare_connection(
        self: &Arc<Self>,
        purpose: Purpose,
        limits: Limits<'_>,
    ) -> Result<Connection> {
        let client = self.open(purpose, limits)?;
        let mut connection = self.lend(client, purpose);
        connection.is_kept = false;
        Ok(connection)
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
    ) -> Result<Connection> {
        let known = {
            let mut idle = self.idle.lock();
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

    /// Opens a connection without checking the server. It lives on the runtime.
    fn open(self: &Arc<Self>, purpose: Purpose, limits: Limits<'_>) -> Result<Client> {
        let (config, tls) = (self.config(purpose), self.tls.clone());
        let connecting = self.spawn(async move {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the store ended");
                }
            });
            Ok::<Client, tokio_postgres::Error>(client)
        });
        match wait_for(connecting, limits)? {
            Ok(connected) => connected.map_err(|error| store_error(&error, &self.address.display)),
            Err(error) => Err(unreachable(&self.address.display, &error.to_string())),
        }
    }

    fn connect(self: &Arc<Self>, purpose: Purpose, limits: Limits<'_>) -> Result<Client> {
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
        let (schema, setup) = (schema::name(), schema::SETUP);
        let setup = wait_for(client.query_typed(setup, &[(&schema, TEXT)]), limits)?;
        let rows = setup.map_err(|error| store_error(&error, &self.address.display))?;
        schema::check(&rows, &self.address.display)?;
        Ok(client)
    }

    fn config(&self, purpose: Purpose) -> Config {
        let mut config = self.address.config.clone();
        if purpose != Purpose::Reading {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config
    }

    /// Starts work on the runtime over a connection of its own, which this configuration makes.
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
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        self.idle.lock().clear();
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
    ) -> Result<T> {
        let gone = || Trouble::new("the connection to the store is gone", "try again");
        let client = self.client.take();
        let client = client.ok_or_else(|| KbError::Store(gone()))?;
        self.server.round_trips.fetch_add(1, Ordering::Relaxed);
        match wait_for(ask(&client), limits) {
            Ok(Ok(value)) => {
                self.client = Some(client);
                Ok(value)
            }
            Ok(Err(error)) => {
                let fault = store_error(&error, &self.server.address.display);
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
        statement: &str,
        values: &[TypedValue<'_>],
        limits: Limits<'_>,
    ) -> Result<Vec<Row>> {
        self.call(limits, async |client| {
            client.query_typed(statement, values).await
        })
    }

    /// What a statement says in the first column of its first row.
    pub fn is_true(
        &mut self,
        statement: &str,
        values: &[TypedValue<'_>],
        limits: Limits<'_>,
    ) -> Result<bool> {
        let rows = self.rows(statement, values, limits)?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// [`Connection::call`] of statements without values and rows.
    pub fn execute(&mut self, statements: &str, limits: Limits<'_>) -> Result<()> {
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
        let limits = Limits::without_cancel().lasting(CANCEL);
        let given = self.execute("ROLLBACK; SELECT pg_advisory_unlock_all()", limits);
        if given.is_err() {
            self.client = None;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let client = self.client.take().filter(|client| !client.is_closed());
        let Some(client) = client.filter(|_| self.is_kept) else {
            return;
        };
        let mut idle = self.server.idle.lock();
        if idle.len() < KEPT {
            idle.push((self.purpose, client));
        }
    }
}

/// Certificates are always verified: by the authority that is named, else by those of the system.
fn tls(ca: Option<&Path>) -> Result<ClientConfig> {
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

/// The error for an error of the client, with what to do about it.
fn store_error(error: &tokio_postgres::Error, store: &str) -> KbError {
    let Some(answer) = error.as_db_error() else {
        return unreachable(store, &with_causes(error));
    };
    let why = one_line(answer.message(), LONGEST);
    let (what, next) = match answer.code().clone() {
        SqlState::QUERY_CANCELED => return KbError::TimedOut,
        // A replica cannot do it.
        SqlState::READ_ONLY_SQL_TRANSACTION => return KbError::ReadOnly,
        // It was never made, or was replaced. Or it was undone in favour of another: asked again, it
        // succeeds.
        SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_FUNCTION
        | SqlState::UNDEFINED_OBJECT
        | SqlState::INVALID_SCHEMA_NAME => return KbError::Outdated(why),
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::TOO_MANY_CONNECTIONS => return unreachable(store, &why),
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => (
            format!("the store {store} refuses: {why}"),
            "see to the user in KB_AGENT_STORE_URL and to KB_AGENT_STORE_PASSWORD",
        ),
        SqlState::INVALID_CATALOG_NAME => (
            format!("the store {store} refuses: {why}"),
            "see to the database in KB_AGENT_STORE_URL, postgres://USER@HOST:PORT/DATABASE",
        ),
        SqlState::INSUFFICIENT_PRIVILEGE => (
            format!("the user of the store {store} may not do that: {why}"),
            "have its owner run what `kb-agent store init --print-sql --reader ROLE` prints, or --writer for an indexer",
        ),
        SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY => (
            format!("the store {store} has no room: {why}"),
            "make room on its disk; nothing of the last commit is lost",
        ),
        _ => (format!("the store {store} failed: {why}"), "try again"),
    };
    KbError::Store(Trouble::new(what, next))
}

/// The error for a server that no connection could be made to, with advice. The client gives the reason in
/// words only.
fn unreachable(store: &str, why: &str) -> KbError {
    let why = one_line(why, LONGEST);
    let next = if why.contains("password missing") {
        "set KB_AGENT_STORE_PASSWORD"
    } else if why.contains("NotValidForName") || why.contains("not valid for name") {
        "use one of the names that its certificate is for in KB_AGENT_STORE_URL"
    } else if why.contains("invalid peer certificate") {
        "name the authority that signed its certificate in KB_AGENT_STORE_CA, a file in PEM form"
    } else {
        "see whether it runs there, and to host and port in KB_AGENT_STORE_URL"
    };
    let what = format!("the store {store} cannot be reached: {why}");
    KbError::Store(Trouble::new(what, next))
}

/// The error with what led to it, which is where the reason stands.
fn with_causes(error: &tokio_postgres::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = inner.source();
    }
    line
}

/// Waits for a future; returns an error as soon as the limits are reached, and drops the future. It may
/// be called on a thread of an async runtime, which it blocks.
fn wait_for<T>(future: impl Future<Output = T>, limits: Limits<'_>) -> Result<T> {
    limits.check()?;
    let mut work = pin!(limits.run_until_cancelled(future));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done.ok_or(KbError::Stopped);
        }
        limits.check()?;
        match limits.time_left() {
            Some(time) => thread::park_timeout(time),
            None => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
