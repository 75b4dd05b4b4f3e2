//! What the server's errors mean.

use std::error::Error;
use std::fmt::Display;

use tokio_postgres::error::SqlState;

use crate::kb::error::KbError;
use crate::text::{Trouble, one_line};

/// Messages of servers are quoted up to this length, in characters.
const LONGEST: usize = 200;

/// An error of the server, as far as it matters which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// No server answers, or the connection broke.
    Unreachable(String),
    /// The name or the password is refused.
    Refused(String),
    /// There is no database of that name.
    NoDatabase(String),
    /// This user may not do it.
    NotAllowed(String),
    /// A replica cannot do it.
    Replica,
    /// A table or function does not exist: it was never made, or was replaced.
    Missing(String),
    /// There is no room on the server's disk.
    Full(String),
    /// The call took too long.
    TimedOut,
    /// Anything else.
    Other(String),
}

impl Fault {
    /// Classifies an error of the client.
    pub fn from_client_error(error: &tokio_postgres::Error) -> Self {
        let Some(answer) = error.as_db_error() else {
            return Self::Unreachable(with_causes(error));
        };
        let line = one_line(answer.message(), LONGEST);
        match answer.code().clone() {
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                Self::Refused(line)
            }
            SqlState::INVALID_CATALOG_NAME => Self::NoDatabase(line),
            SqlState::READ_ONLY_SQL_TRANSACTION => Self::Replica,
            SqlState::INSUFFICIENT_PRIVILEGE => Self::NotAllowed(line),
            // Undone in favour of another: asked again, it succeeds.
            SqlState::T_R_DEADLOCK_DETECTED
            | SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::UNDEFINED_TABLE
            | SqlState::UNDEFINED_FUNCTION
            | SqlState::UNDEFINED_OBJECT
            | SqlState::INVALID_SCHEMA_NAME => Self::Missing(line),
            SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY => Self::Full(line),
            SqlState::QUERY_CANCELED => Self::TimedOut,
            SqlState::ADMIN_SHUTDOWN
            | SqlState::CRASH_SHUTDOWN
            | SqlState::CANNOT_CONNECT_NOW
            | SqlState::TOO_MANY_CONNECTIONS => Self::Unreachable(line),
            _ => Self::Other(line),
        }
    }

    /// Converts the fault into an error of the knowledge base, with what to do about it.
    pub fn into_error(self, store: &str) -> KbError {
        KbError::Store(match self {
            Self::TimedOut => return KbError::TimedOut,
            Self::Replica => return KbError::ReadOnly,
            Self::NotAllowed(why) => Trouble::new(
                format!("the user of the store {store} may not do that: {why}"),
                "have its owner run what `kb-agent store init --print-sql --reader ROLE` prints, or --writer for an indexer",
            ),
            Self::Missing(why) => return KbError::Outdated(why),
            Self::Unreachable(why) => Trouble::new(
                format!("the store {store} cannot be reached: {why}"),
                next_step(&why),
            ),
            Self::NoDatabase(why) => Trouble::new(
                format!("the store {store} refuses: {why}"),
                "see to the database in KB_AGENT_STORE_URL, postgres://USER@HOST:PORT/DATABASE",
            ),
            Self::Refused(why) => Trouble::new(
                format!("the store {store} refuses: {why}"),
                "see to the user in KB_AGENT_STORE_URL and to KB_AGENT_STORE_PASSWORD",
            ),
            Self::Full(why) => Trouble::new(
                format!("the store {store} has no room: {why}"),
                "make room on its disk; nothing of the last commit is lost",
            ),
            Self::Other(why) => {
                Trouble::new(format!("the store {store} failed: {why}"), "try again")
            }
        })
    }
}

/// The advice for a failed connection. The client gives the reason in words only.
fn next_step(why: &str) -> &'static str {
    if why.contains("password missing") {
        "set KB_AGENT_STORE_PASSWORD"
    } else if why.contains("NotValidForName") || why.contains("not valid for name") {
        "use one of the names that its certificate is for in KB_AGENT_STORE_URL"
    } else if why.contains("invalid peer certificate") {
        "name the authority that signed its certificate in KB_AGENT_STORE_CA, a file in PEM form"
    } else {
        "see whether it runs there, and to host and port in KB_AGENT_STORE_URL"
    }
}

/// The error for a server that no connection could be made to.
pub(super) fn unreachable_error(store: &str, error: &dyn Display) -> KbError {
    let why = one_line(&error.to_string(), LONGEST);
    Fault::Unreachable(why).into_error(store)
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
    one_line(&line, LONGEST)
}
