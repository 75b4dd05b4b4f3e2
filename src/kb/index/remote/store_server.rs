//! Connections to the server: made when they are needed, kept for the next call, given up with the
//! call that a token or a deadline ends; and what the server's errors mean.
//!
//! All that talks to the server runs on a small runtime of its own; the port's verbs wait on the threads that
//! call them. A call is one statement, and so one round trip.

use std::error::Error;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use futures_util::TryStreamExt;
use parking_lot::Mutex;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::schema;
use super::store_address::StoreAddress;
use crate::files::read_certificates;
use crate::kb::error::KbError;
use crate::kb::index::port::{Limits, Result};
use crate::text::{Trouble, one_line};

/// The number of idle connections that are kept.
const KEPT: usize = 4;
/// Cancelling a call and giving back rights may take this long.
const CANCEL: Duration = Duration::from_secs(5);
/// How often a call looks whether it is to end.
const LOOK_UP: Duration = Duration::from_millis(20);
/// Messages of servers are quoted up to this length, in characters.
const LONGEST: usize = 200;

/// A value with its type: so a statement needs no round trip of its own to be prepared.
pub(super) type Value = (Box<dyn ToSql + Sync + Send>, Type);

/// What goes to the server as a value.
pub(super) trait SqlValue: ToSql + Sync + Send + 'static {
    const TYPE: Type;

    fn into_value(self) -> Value
    where
        Self: Sized,
    {
        (Box::new(self), Self::TYPE)
    }
}

impl<T: SqlValue> SqlValue for Option<T> {
    const TYPE: Type = T::TYPE;
}

macro_rules! sql_values {
    ($($rust:ty => $sql:ident),* $(,)?) => {
        $(impl SqlValue for $rust {
            const TYPE: Type = Type::$sql;
        })*
    };
}
sql_values!(
    bool => BOOL, i32 => INT4, i64 => INT8, f64 => FLOAT8, String => TEXT,
    Vec<i32> => INT4_ARRAY, Vec<i64> => INT8_ARRAY, Vec<f32> => FLOAT4_ARRAY,
    Vec<f64> => FLOAT8_ARRAY, Vec<String> => TEXT_ARRAY, Vec<Vec<u8>> => BYTEA_ARRAY,
);

/// The values of a statement or a row.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::kb::index::remote::store_server::SqlValue::into_value($value)),*]
    };
}
pub(super) use values;

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Whatever server of those that are named answers.
    Reading,
    /// The one that takes changes.
    Writing,
}

/// The server or servers of one address.
pub(crate) struct StoreServer {
    pub(super) address: StoreAddress,
    tls: MakeRustlsConnect,
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
    idle: Mutex<Vec<(Purpose, Arc<Client>)>>,
    /// How many calls were made; connecting is not counted.
    #[cfg(test)]
    round_trips: AtomicU64,
}

impl StoreServer {
    /// Prepares for a server; connects with the first call.
    pub fn new(address: StoreAddress) -> Result<Arc<Self>> {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(1).enable_all();
        let runtime = runtime.thread_name("kb-agent-store").build();
        let runtime = runtime.map_err(|error| unreachable(&address.display, &error.to_string()))?;
        Ok(Arc::new(Self {
            tls: MakeRustlsConnect::new(tls(address.ca.as_deref())?),
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            idle: Mutex::default(),
            #[cfg(test)]
            round_trips: AtomicU64::new(0),
            address,
        }))
    }

    /// Makes what this version keeps there, as far as it is missing.
    pub fn prepare(self: &Arc<Self>, limits: Limits<'_>) -> Result<()> {
        let mut connection = self.open(Purpose::Writing, limits)?;
        let may = "SELECT has_database_privilege(current_database(), 'CREATE')";
        let rows = connection.rows(may, Vec::new(), limits)?;
        if !rows.first().is_some_and(|row| row.get(0)) {
            let what = format!(
                "the user of {} may make nothing there",
                self.address.display
            );
            let next = "run `kb-agent store init` as the owner of the database";
            return Err(KbError::Store(Trouble::new(what, next)));
        }
        connection.execute(schema::setup_script(&[], &[]), limits)
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
            let fits = |(of, _): &(Purpose, Arc<Client>)| *of == purpose;
            idle.iter().rposition(fits).map(|at| idle.swap_remove(at).1)
        };
        if let Some(client) = known {
            return Ok(self.lend(client, purpose));
        }
        let mut connection = match self.open(purpose, limits) {
            // Only replicas answer.
            Err(KbError::Store(_))
                if purpose == Purpose::Writing && self.open(Purpose::Reading, limits).is_ok() =>
            {
                return Err(KbError::ReadOnly);
            }
            opened => opened?,
        };
        let rows = connection.rows(schema::SETUP, values![schema::name()], limits)?;
        schema::check(&rows, &self.address.display)?;
        connection.is_kept = true;
        Ok(connection)
    }

    /// Opens a connection that the next caller does not get, whatever the server has or lacks.
    pub fn open(self: &Arc<Self>, purpose: Purpose, limits: Limits<'_>) -> Result<Connection> {
        let (mut config, tls) = (self.address.config.clone(), self.tls.clone());
        if purpose == Purpose::Writing {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let connected = self.wait_for(limits, async move {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the store ended");
                }
            });
            Ok::<Client, tokio_postgres::Error>(client)
        })?;
        let client = connected.map_err(|error| store_error(&error, &self.address.display))?;
        let mut connection = self.lend(Arc::new(client), purpose);
        connection.is_kept = false;
        Ok(connection)
    }

    fn lend(self: &Arc<Self>, client: Arc<Client>, purpose: Purpose) -> Connection {
        Connection {
            server: Arc::clone(self),
            purpose,
            client: Some(client),
            is_kept: true,
            has_rights: false,
        }
    }

    /// Does some work on the runtime and waits for it; gives it up once the limits are reached.
    fn wait_for<T: Send + 'static>(
        &self,
        limits: Limits<'_>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        limits.check()?;
        let (sender, receiver) = sync_channel(1);
        let task = self.handle.spawn(async move { sender.send(work.await) });
        loop {
            match receiver.recv_timeout(LOOK_UP) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Disconnected) => return Err(KbError::Stopped),
                Err(RecvTimeoutError::Timeout) => limits.check().inspect_err(|_| task.abort())?,
            }
        }
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        self.idle.lock().clear();
        if let Some(runtime) = self.runtime.lock().take() {
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
    client: Option<Arc<Client>>,
    /// Whether the next caller may have it.
    is_kept: bool,
    /// Whether it may hold rights or an open transaction.
    pub(super) has_rights: bool,
}

impl Connection {
    /// Makes a call on the connection. A call that is given up ends on the server too, and the connection with
    /// it.
    fn call<T, F>(&mut self, limits: Limits<'_>, ask: impl FnOnce(Arc<Client>) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        let gone = || Trouble::new("the connection to the store is gone", "try again");
        let client = self.client.take();
        let client = client.ok_or_else(|| KbError::Store(gone()))?;
        #[cfg(test)]
        if self.is_kept {
            self.server.round_trips.fetch_add(1, Ordering::Relaxed);
        }
        match self.server.wait_for(limits, ask(Arc::clone(&client))) {
            Ok(answer) => {
                let is_usable = match &answer {
                    Ok(_) => true,
                    Err(error) => !client.is_closed() && error.as_db_error().is_some(),
                };
                self.client = Some(client).filter(|_| is_usable);
                answer.map_err(|error| store_error(&error, &self.server.address.display))
            }
            Err(ended) => {
                let (cancel, tls) = (client.cancel_token(), self.server.tls.clone());
                self.server.handle.spawn(async move {
                    let ended = tokio::time::timeout(CANCEL, cancel.cancel_query(tls)).await;
                    if !matches!(ended, Ok(Ok(()))) {
                        tracing::debug!("a call to the store could not be cancelled");
                    }
                });
                Err(ended)
            }
        }
    }

    /// Runs one statement and returns its rows.
    pub fn rows(
        &mut self,
        statement: &str,
        values: impl Into<Arc<Vec<Value>>>,
        limits: Limits<'_>,
    ) -> Result<Vec<Row>> {
        let (statement, values) = (statement.to_owned(), values.into());
        self.call(limits, |client| async move {
            let values = values.iter().map(|(value, of)| (&**value, of.clone()));
            let values: Vec<(&(dyn ToSql + Sync), Type)> =
                values.map(|(value, of)| (value as _, of)).collect();
            let rows = client.query_typed_raw(&statement, values).await?;
            pin!(rows).try_collect().await
        })
    }

    /// Runs statements without values and rows.
    pub fn execute(&mut self, statements: impl Into<String>, limits: Limits<'_>) -> Result<()> {
        let statements = statements.into();
        self.call(limits, |client| async move {
            client.batch_execute(&statements).await
        })
    }

    /// Whether a call on it was given up or it broke.
    pub fn is_broken(&self) -> bool {
        self.client.as_ref().is_none_or(|client| client.is_closed())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Where this fails the connection is given up, and the server does both.
        let limits = Limits::without_cancel().lasting(CANCEL);
        if self.has_rights
            && self
                .execute("ROLLBACK; SELECT pg_advisory_unlock_all()", limits)
                .is_err()
        {
            return;
        }
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
