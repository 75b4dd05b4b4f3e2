//! What concerns a store as a whole: what it is like, what it holds, who may do what.

use std::sync::Arc;

use tokio_postgres::types::Type;

use super::batch::RemoteBatch;
use super::rights::WriteRight;
use super::schema;
use super::server::{Connection, Purpose, StoreServer, TypedValue};
use super::space::Space;
use super::space_reader::RemoteReader;
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;
use crate::kb::index::port::{Batch, Reader};
use crate::text::{Trouble, one_line};

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

/// How many of the tables a role may write to.
#[derive(PartialEq, Eq)]
enum TablesWritten {
    None,
    Some,
    All,
}

/// The rights of a role on the tables of this version.
struct RoleRights {
    /// Whether it may use the schema and read its list of spaces.
    enters: bool,
    /// Whether it may read all tables.
    reads: bool,
    writes: TablesWritten,
    /// The names of the owners of tables.
    owners: String,
}

impl RoleRights {
    fn query(connection: &mut Connection, role: &str, limits: Limits<'_>) -> Result<Self, KbError> {
        let asked = "SELECT has_schema_privilege($1, $2, 'USAGE')
                AND has_table_privilege($1, 'spaces', 'SELECT'),
            bool_and(has_table_privilege($1, c.oid, 'SELECT')),
            bool_and(has_table_privilege($1, c.oid, 'INSERT')),
            bool_or(has_table_privilege($1, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
            string_agg(DISTINCT pg_get_userbyid(c.relowner)::text, ', ')
            FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = $2::regnamespace";
        let schema = schema::name();
        let values: [TypedValue<'_>; 2] = [(&role, Type::TEXT), (&schema, Type::TEXT)];
        let rows = connection.rows(limits, asked, &values)?;
        let gone = || KbError::Outdated("it gave no answer".to_owned());
        let row = rows.first().ok_or_else(gone)?;
        let owners: Option<&str> = row.get(4);
        Ok(Self {
            enters: row.get(0),
            reads: row.get::<_, Option<bool>>(1).unwrap_or(false),
            writes: match (row.get(2), row.get(3)) {
                (Some(true), _) => TablesWritten::All,
                (_, Some(true)) => TablesWritten::Some,
                _ => TablesWritten::None,
            },
            owners: one_line(owners.unwrap_or_default(), 100),
        })
    }
}

impl StoreServer {
    /// Looks at the store; makes nothing.
    pub fn state(self: &Arc<Self>, limits: Limits<'_>) -> Result<StoreState, KbError> {
        let mut connection = self.bare_connection(limits)?;
        let schema = schema::name();
        let of_schema: [TypedValue<'_>; 1] = [(&schema, Type::TEXT)];
        let asked = "SELECT current_setting('server_version'),
            (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
            CASE WHEN pg_is_in_recovery() THEN coalesce((extract(epoch FROM
                clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::bigint, 0) END,
            c.oid IS NOT NULL,
            has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
            has_schema_privilege(n.oid, 'CREATE') AND has_table_privilege(c.oid, 'INSERT')
            FROM (VALUES (1)) AS one LEFT JOIN pg_namespace n ON n.nspname = $1
            LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'spaces'";
        let rows = connection.rows(limits, asked, &of_schema)?;
        let gone = || KbError::Outdated("it gave no answer".to_owned());
        let row = rows.first().ok_or_else(gone)?;
        let mut state = StoreState {
            address: self.display_address().to_owned(),
            space: self.space_name().map(str::to_owned),
            server: row.get::<_, String>(0),
            vector: row.get(1),
            is_encrypted: self.is_encrypted(),
            lag_ms: row.get(2),
            is_prepared: row.get(3),
            may_write: false,
            spaces: Vec::new(),
        };
        let version = state.server.find(' ').unwrap_or(state.server.len());
        state.server.truncate(version);
        if !state.is_prepared {
            return Ok(state);
        }
        state.may_write = row.get::<_, bool>(5) && state.lag_ms.is_none();
        if !row.get::<_, bool>(4) {
            return Err(KbError::Store(Trouble::new(
                format!(
                    "the user of {} may not read the store",
                    self.display_address()
                ),
                "have its owner run `kb-agent store grant`",
            )));
        }
        let asked = format!(
            "SELECT s.name, s.documents, s.chunks, s.generation, m.id
            FROM {schema}.spaces s LEFT JOIN {schema}.models m ON m.model = s.model
            WHERE s.name IS NOT NULL ORDER BY s.name"
        );
        for row in connection.rows(limits, &asked, &[])? {
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

    /// Lets a role of the server read the store, or read and write it; no more than that.
    pub fn grant(
        self: &Arc<Self>,
        role: &str,
        writes: bool,
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        let mut connection = self.connection(Purpose::Writing, limits)?;
        self.check_role(&mut connection, role, limits)?;
        let given = schema::grant(role, writes);
        change_rights(&mut connection, (role, &given), limits, |rights| {
            if !rights.reads || (writes && rights.writes != TablesWritten::All) {
                return Err(Trouble::new(
                    format!(
                        "the user of {} may not give rights on all tables, which belong to {}",
                        self.display_address(),
                        rights.owners
                    ),
                    "run it as the user who ran `kb-agent store init`",
                ));
            }
            if !writes && rights.writes != TablesWritten::None {
                return Err(Trouble::new(
                    format!(
                        "'{}' may still write to tables of {}, who shared them",
                        one_line(role, 80),
                        rights.owners
                    ),
                    format!(
                        "run there as that user: REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES \
                         IN SCHEMA {} FROM {}",
                        schema::name(),
                        one_line(&schema::quote_identifier(role), 80)
                    ),
                ));
            }
            Ok(())
        })
    }

    /// Takes from a role of the server what [`Self::grant`] let it do.
    pub fn revoke(self: &Arc<Self>, role: &str, limits: Limits<'_>) -> Result<(), KbError> {
        let mut connection = self.connection(Purpose::Writing, limits)?;
        self.check_role(&mut connection, role, limits)?;
        let taken = schema::revoke(role);
        change_rights(&mut connection, (role, &taken), limits, |rights| {
            if !rights.enters {
                return Ok(());
            }
            Err(Trouble::new(
                format!("'{}' may read there all the same", one_line(role, 80)),
                "run it as the user who ran `kb-agent store init`, or take its superuser right or its \
                 membership in another role away in PostgreSQL",
            ))
        })
    }

    /// An error where the server has no such role.
    fn check_role(
        &self,
        connection: &mut Connection,
        role: &str,
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        let known = "SELECT FROM pg_roles WHERE rolname = $1";
        if !connection
            .rows(limits, known, &[(&role, Type::TEXT)])?
            .is_empty()
        {
            return Ok(());
        }
        Err(KbError::Store(Trouble::new(
            format!(
                "{} has no role '{}'",
                self.display_address(),
                one_line(role, 80)
            ),
            "see to its spelling, or make it there: CREATE ROLE … LOGIN PASSWORD …",
        )))
    }

    /// Removes a folder's documents from a space; whether there were any. [`KbError::Locked`] while
    /// the space is written.
    pub fn drop_folder(
        self: &Arc<Self>,
        space_name: &str,
        folder: &str,
        limits: Limits<'_>,
    ) -> Result<bool, KbError> {
        if folder.is_empty() {
            let line = Trouble::new("the folder has no name", "give the last part of its path");
            return Err(KbError::Setting(line));
        }
        let labels = vec![folder.to_owned()];
        let (server, machine) = (Arc::clone(self), String::new());
        let space = Arc::new(Space::new(
            server,
            space_name.to_owned(),
            machine,
            labels,
            "",
        ));
        let batch = RemoteBatch::begin(&space, true, limits)?;
        let reader = RemoteReader::new(Arc::clone(&space), space.last_commit(), true);
        if reader.page(None, 1, limits)?.is_empty() {
            return Ok(false);
        }
        Box::new(batch).finish(limits)?;
        Ok(true)
    }

    /// Removes a space; whether there was one. [`KbError::Locked`] while it is written.
    pub fn drop_space(self: &Arc<Self>, name: &str, limits: Limits<'_>) -> Result<bool, KbError> {
        let mut connection = self.connection(Purpose::Writing, limits)?;
        WriteRight::Documents.take(&mut connection, name, limits)?;
        let asked = "SELECT space FROM spaces WHERE name = $1";
        let rows = connection.rows(limits, asked, &[(&name, Type::TEXT)])?;
        let number: Option<i32> = rows.first().map(|row| row.get(0));
        if let Some(number) = number {
            let tables = schema::drop_space(number);
            let all = format!("BEGIN; {tables} DELETE FROM spaces WHERE space = {number}; COMMIT;");
            connection.call(limits, async |client| client.batch_execute(&all).await)?;
        }
        connection.give_back_rights();
        Ok(number.is_some())
    }
}

/// Changes what a role may do, unless `check` refuses what it then may: then nothing is changed.
fn change_rights(
    connection: &mut Connection,
    (role, statements): (&str, &str),
    limits: Limits<'_>,
    check: impl FnOnce(&RoleRights) -> Result<(), Trouble>,
) -> Result<(), KbError> {
    let changed = connection
        .execute(&format!("BEGIN; {statements}"), limits)
        .and_then(|()| RoleRights::query(connection, role, limits))
        .and_then(|rights| check(&rights).map_err(KbError::Store));
    let end = if changed.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = connection.execute(end, limits);
    changed.and(ended)
}
