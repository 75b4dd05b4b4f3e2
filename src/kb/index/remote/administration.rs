//! What concerns a store as a whole: what it is like, what it holds.

use std::sync::Arc;

use super::schema;
use super::space::WriteRight;
use super::store_server::sql::TEXT;
use super::store_server::{Purpose, StoreServer};
use crate::kb::error::KbError;
use crate::kb::index::port::{Limits, Result};
use crate::text::Trouble;

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
