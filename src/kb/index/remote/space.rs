//! What a process knows of the space that it searches or writes, and the rights to change it.

use std::sync::Arc;

use parking_lot::Mutex;

use super::keys::model_number;
use super::schema;
use super::store_server::{Connection, Purpose, StoreServer, values};
use crate::kb::error::KbError;
use crate::kb::index::port::{Document, Limits, Result};
use crate::text::{Trouble, one_line};

/// Begins a transaction that may take long.
pub(super) const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = 0;";

/// A commit of a space, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Commit {
    /// The number of the space; 0 while there is none of its name.
    pub space: i32,
    /// 0 before the first.
    pub generation: u64,
    /// The average number of terms of a chunk that gains are reckoned with; `None` before the first.
    pub average: Option<f64>,
    /// The number of the model whose vectors are used.
    pub model: i32,
    /// How many numbers a vector of the model has; `None` while there are none.
    pub dimensions: Option<i32>,
}

/// Documents in the order of their names.
pub(super) type Documents = Vec<Arc<Document>>;

/// A space of a server, by its name.
pub(super) struct Space {
    pub server: Arc<StoreServer>,
    pub name: String,
    /// Which machine's stamps count.
    pub machine: String,
    /// The first parts of the names of the documents that this process keeps up to date.
    pub labels: Vec<String>,
    pub last_commit: Mutex<Commit>,
    pub model_id: Mutex<String>,
    /// All documents as they were at a commit.
    pub documents: Mutex<Option<(Commit, Arc<Documents>)>>,
    /// A commit all of whose chunks were seen to have a vector.
    pub complete: Mutex<Option<Commit>>,
}

impl Space {
    /// A connection to read with: a process that indexes must see its own commits, as long as the server
    /// that takes them answers.
    pub fn reading(&self, limits: Limits<'_>) -> Result<Connection> {
        if !self.labels.is_empty() {
            match self.server.connection(Purpose::Writing, limits) {
                Err(KbError::ReadOnly) => {}
                connected => return connected,
            }
        }
        self.server.connection(Purpose::Reading, limits)
    }

    /// The last commit that this process knows.
    pub fn last_commit(&self) -> Commit {
        *self.last_commit.lock()
    }

    /// The number of the model whose vectors are used.
    pub fn model(&self) -> i32 {
        model_number(&self.model_id.lock())
    }

    /// Asks for the last commit. Who only reads gets an error where another version keeps the space.
    pub fn refresh(&self, limits: Limits<'_>) -> Result<()> {
        let mut connection = self.reading(limits)?;
        let commit = self.refresh_by(&mut connection, limits)?;
        if commit.generation > 0 {
            return Ok(());
        }
        for (name, schema) in other_versions(&mut connection, limits)? {
            if name == self.name {
                let what = format!(
                    "another version of kb-agent keeps the space '{}' ({schema})",
                    one_line(&name, 100)
                );
                let next = "run `kb-agent store push` again where its files are";
                let outdated = Trouble::new(what, next);
                if self.labels.is_empty() {
                    return Err(KbError::Store(outdated));
                }
                // A follower asks each second until the space has its first commit.
                tracing::debug!(%outdated, "the space is made anew");
            }
        }
        Ok(())
    }

    /// Asks for the last commit over a connection at hand.
    pub fn refresh_by(&self, connection: &mut Connection, limits: Limits<'_>) -> Result<Commit> {
        let model = self.model();
        let values = values![self.name.clone(), model];
        let rows = connection.rows(include_str!("sql/commit.sql"), values, limits)?;
        let commit = rows.first().map(|row| Commit {
            space: row.get::<_, Option<i32>>(0).unwrap_or(0),
            generation: row.get::<_, Option<i64>>(1).unwrap_or(0).cast_unsigned(),
            average: row.get(2),
            model,
            dimensions: row.get(3),
        });
        let commit = commit.unwrap_or_default();
        self.move_on_to(commit);
        Ok(commit)
    }

    /// Takes a commit for the last one, unless a later one of its space is known.
    pub fn move_on_to(&self, commit: Commit) {
        let mut known = self.last_commit.lock();
        if known.space != commit.space || known.generation <= commit.generation {
            *known = commit;
        }
    }

    /// Opens a connection that holds a right, which only one session of the server has at a time and which
    /// ends with it. Fails with [`KbError::ReadOnly`] for a user who may not write, and with
    /// [`KbError::Locked`] while another session holds it.
    pub fn take(&self, right: &str, limits: Limits<'_>) -> Result<Connection> {
        take(&self.server, &self.name, right, limits)
    }
}

/// [`Space::take`] for a space by its name.
pub(super) fn take(
    server: &Arc<StoreServer>,
    space: &str,
    right: &str,
    limits: Limits<'_>,
) -> Result<Connection> {
    let mut connection = server.connection(Purpose::Writing, limits)?;
    connection.has_rights = true;
    let asked = "SELECT CASE WHEN has_table_privilege('spaces', 'INSERT')
        THEN pg_try_advisory_lock(hashtextextended($1, 0)) END";
    let name = format!("{}\n{space}\n{right}", schema::name());
    let rows = connection.rows(asked, values![name], limits)?;
    match rows.first().and_then(|row| row.get(0)) {
        Some(true) => Ok(connection),
        Some(false) => Err(KbError::Locked),
        None => Err(KbError::ReadOnly),
    }
}

/// The spaces that other versions keep on the server, each with the schema that it is in.
pub(super) fn other_versions(
    connection: &mut Connection,
    limits: Limits<'_>,
) -> Result<Vec<(String, String)>> {
    let asked = include_str!("sql/other_versions.sql");
    let mut spaces = Vec::new();
    for row in connection.rows(asked, values![schema::name()], limits)? {
        let schema: String = row.get(0);
        let named = format!("SELECT name FROM {schema}.spaces WHERE name IS NOT NULL ORDER BY 1");
        let rows = connection.rows(&named, Vec::new(), limits)?;
        spaces.extend(rows.iter().map(|row| (row.get(0), schema.clone())));
    }
    Ok(spaces)
}
