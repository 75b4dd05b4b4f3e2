//! What a process knows of the space that it searches or writes, and the rights to change it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_postgres::Row;

use super::schema;
use super::store_server::sql::{INT8, TEXT};
use super::store_server::{Connection, Purpose, StoreServer};
use crate::kb::error::KbError;
use crate::kb::index::port::{DocumentMetadata, Limits, Result};
use crate::kb::index::quantised::check_length;

/// A commit of a space, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Commit {
    /// The number in its tables' names; `None` while there is no such space.
    pub space: Option<i32>,
    /// 0 before the first.
    pub generation: u64,
    /// The vectors of the model that searches use.
    pub model: Option<Model>,
}

/// The vectors of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Model {
    /// The number in its table's name.
    pub number: i32,
    /// How many numbers a vector has.
    pub dimensions: usize,
}

impl Model {
    /// An error where a vector is of another length.
    pub fn check(self, vector: &[f32]) -> Result<()> {
        let next = "`kb-agent index --rebuild` embeds everything again";
        check_length(vector, self.dimensions, next)
    }
}

/// A vector of whole numbers as the server reads it.
pub(super) fn vector_text(numbers: impl IntoIterator<Item = i16>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

impl Commit {
    /// Reads a commit from the columns of [`COMMIT`].
    pub fn from_row(row: &Row) -> Self {
        let number: Option<i32> = row.get(2);
        let dimensions: Option<i32> = row.get(3);
        Self {
            space: row.get(0),
            generation: row.get::<_, Option<i64>>(1).unwrap_or(0).cast_unsigned(),
            model: number.zip(dimensions).map(|(number, dimensions)| Model {
                number,
                dimensions: dimensions as usize,
            }),
        }
    }
}

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
    pub names: Mutex<Option<(Commit, Arc<Names>)>>,
    /// A commit all of whose chunks were seen to have a vector.
    pub complete: Mutex<Option<Commit>>,
}

/// What is asked of each document, in the order of their sources.
pub(super) type Names = Vec<ListedDocument>;

/// A document by what it is called, with its metadata.
#[derive(Debug)]
pub(super) struct ListedDocument {
    pub source: String,
    pub title: String,
    /// When its file was written, in nanoseconds since 1970.
    pub modified: u64,
    pub metadata: DocumentMetadata,
}

/// Selects space, generation, model and dimensions.
pub(super) const COMMIT: &str = include_str!("sql/commit.sql");

impl Space {
    /// The purpose to read with: a process that indexes must see its own commits.
    pub fn reading(&self) -> Purpose {
        if self.labels.is_empty() {
            Purpose::Reading
        } else {
            Purpose::ReadingOwn
        }
    }

    /// The last commit that this process knows.
    pub fn last_commit(&self) -> Commit {
        *self.last_commit.lock()
    }

    /// The id of the model whose vectors are used.
    pub fn model_id(&self) -> String {
        self.model_id.lock().clone()
    }

    /// Uses the vectors of that model from now on.
    pub fn use_model(&self, model_id: &str) {
        model_id.clone_into(&mut self.model_id.lock());
    }

    /// Asks for the last commit.
    pub fn refresh(&self, limits: Limits<'_>) -> Result<Commit> {
        let mut connection = self.server.connection(self.reading(), limits)?;
        self.refresh_by(&mut connection, limits)
    }

    /// Asks for the id of the model whose vectors were written last.
    pub fn model_in_use(&self, limits: Limits<'_>) -> Result<Option<String>> {
        let asked =
            "SELECT m.id FROM spaces s JOIN models m ON m.model = s.model WHERE s.name = $1";
        let mut connection = self.server.connection(self.reading(), limits)?;
        let rows = connection.rows(asked, &[(&self.name, TEXT)], limits)?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// Does [`Space::refresh`] over a connection at hand.
    pub fn refresh_by(&self, connection: &mut Connection, limits: Limits<'_>) -> Result<Commit> {
        let values = [(&self.name as _, TEXT), (&self.model_id() as _, TEXT)];
        let rows = connection.rows(COMMIT, &values, limits)?;
        let Some(row) = rows.first() else {
            return Ok(self.last_commit());
        };
        let commit = Commit::from_row(row);
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

    /// Tells all who listen of what is being committed.
    pub fn announce(&self, connection: &mut Connection, limits: Limits<'_>) -> Result<()> {
        let values = [(&schema::channel() as _, TEXT), (&self.name as _, TEXT)];
        connection.rows("SELECT pg_notify($1, $2)", &values, limits)?;
        Ok(())
    }

    /// Whether all chunks of that commit were seen to have a vector, which then stays so.
    pub fn is_complete(&self, commit: Commit) -> bool {
        *self.complete.lock() == Some(commit)
    }

    /// Notes for which commit all chunks have a vector; `None` once vectors are removed.
    pub fn note_complete(&self, commit: Option<Commit>) {
        *self.complete.lock() = commit;
    }

    /// Names of all documents as they were at that commit; asked for once a commit.
    pub fn names(&self, commit: Commit, ask: impl FnOnce() -> Result<Names>) -> Result<Arc<Names>> {
        let mut kept = self.names.lock();
        if let Some((of, names)) = kept.as_ref()
            && (of.space, of.generation) == (commit.space, commit.generation)
        {
            return Ok(Arc::clone(names));
        }
        let names = Arc::new(ask()?);
        *kept = Some((commit, Arc::clone(&names)));
        Ok(names)
    }
}

/// A right in a space that only one session of the server has at a time, and that ends with it.
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
    pub fn connection(self, space: &Space, limits: Limits<'_>) -> Result<Connection> {
        let mut connection = space.server.connection(Purpose::Writing, limits)?;
        let may =
            "SELECT has_table_privilege('spaces', 'INSERT') AND has_schema_privilege($1, 'CREATE')";
        if !connection.is_true(may, &[(&schema::name(), TEXT)], limits)? {
            return Err(KbError::ReadOnly);
        }
        self.take(&mut connection, &space.name, limits)?;
        Ok(connection)
    }

    /// [`KbError::Locked`] while another session has it.
    pub fn take(
        self,
        connection: &mut Connection,
        space_name: &str,
        limits: Limits<'_>,
    ) -> Result<()> {
        let taken = "SELECT pg_try_advisory_lock($1)";
        let is_taken = connection.is_true(taken, &[(&self.key(space_name), INT8)], limits)?;
        is_taken.then_some(()).ok_or(KbError::Locked)
    }

    /// Whether some session has it.
    pub fn is_held(
        self,
        connection: &mut Connection,
        space_name: &str,
        limits: Limits<'_>,
    ) -> Result<bool> {
        let held = include_str!("sql/is_held.sql");
        connection.is_true(held, &[(&self.key(space_name), INT8)], limits)
    }
}
