//! Rights that one session of the server has at a time, and that end with it.

use std::sync::Arc;

use tokio_postgres::types::Type;

use super::schema;
use super::store_server::{Connection, Purpose, StoreServer};
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;

/// A right in a space that only one session has at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteRight {
    Documents,
    Vectors,
}

impl WriteRight {
    fn key(self, space_name: &str) -> i64 {
        let right = match self {
            Self::Documents => "documents",
            Self::Vectors => "vectors",
        };
        let what = format!("{}\n{space_name}\n{right}", schema::name());
        let hash = blake3::hash(what.as_bytes());
        i64::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default())
    }

    /// Opens a connection that holds the right. Fails with [`KbError::ReadOnly`] for a user who may not
    /// write, and with [`KbError::Locked`] while another session holds it.
    pub fn connection(
        self,
        server: &Arc<StoreServer>,
        space_name: &str,
        limits: Limits<'_>,
    ) -> Result<Connection, KbError> {
        let mut connection = server.connection(Purpose::Writing, limits)?;
        let may =
            "SELECT has_table_privilege('spaces', 'INSERT') AND has_schema_privilege($1, 'CREATE')";
        let rows = connection.rows(limits, may, &[(&schema::name(), Type::TEXT)])?;
        if !rows.first().is_some_and(|row| row.get(0)) {
            return Err(KbError::ReadOnly);
        }
        self.take(&mut connection, space_name, limits)?;
        Ok(connection)
    }

    /// [`KbError::Locked`] while another session has it.
    pub fn take(
        self,
        connection: &mut Connection,
        space_name: &str,
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        let key = self.key(space_name);
        let asked = "SELECT pg_try_advisory_lock($1)";
        let rows = connection.rows(limits, asked, &[(&key, Type::INT8)])?;
        let is_taken = rows.first().is_some_and(|row| row.get(0));
        if is_taken {
            Ok(())
        } else {
            Err(KbError::Locked)
        }
    }

    /// Whether some session has it.
    pub fn is_held(
        self,
        connection: &mut Connection,
        space_name: &str,
        limits: Limits<'_>,
    ) -> Result<bool, KbError> {
        let key = self.key(space_name);
        let asked =
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
            AND classid = (($1 >> 32) & 4294967295)::oid AND objid = ($1 & 4294967295)::oid
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        let rows = connection.rows(limits, asked, &[(&key, Type::INT8)])?;
        Ok(rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0))
    }
}
