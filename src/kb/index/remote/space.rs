//! What a process knows of the space that it searches or writes.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::store_server::{Connection, Purpose, StoreServer};
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;

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
    last_commit: Mutex<Commit>,
    model_id: Mutex<String>,
    names: Mutex<Option<(Commit, Arc<Names>)>>,
    /// A commit all of whose chunks were seen to have a vector.
    complete: Mutex<Option<Commit>>,
}

/// Source and title of each document, in the order of their sources.
pub(super) type Names = Vec<(String, String)>;

/// Selects space, generation, model and dimensions.
pub(super) const COMMIT: &str = "
SELECT s.space, s.generation, m.model, m.dimensions
FROM (VALUES (1)) AS one
LEFT JOIN spaces s ON s.name = $1
LEFT JOIN models m ON m.id = $2";

impl Space {
    pub fn new(
        server: Arc<StoreServer>,
        name: String,
        machine: String,
        labels: Vec<String>,
        model_id: &str,
    ) -> Self {
        Self {
            server,
            name,
            machine,
            labels,
            last_commit: Mutex::default(),
            model_id: Mutex::new(model_id.to_owned()),
            names: Mutex::default(),
            complete: Mutex::default(),
        }
    }

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
        *self
            .last_commit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of the model whose vectors are used.
    pub fn model_id(&self) -> String {
        let model_id = self.model_id.lock();
        model_id.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses the vectors of that model from now on.
    pub fn use_model(&self, model_id: &str) {
        let mut known = self.model_id.lock().unwrap_or_else(PoisonError::into_inner);
        model_id.clone_into(&mut known);
    }

    /// Asks for the last commit.
    pub fn refresh(&self, limits: Limits<'_>) -> Result<Commit, KbError> {
        let mut connection = self.server.connection(self.reading(), limits)?;
        self.refresh_by(&mut connection, limits)
    }

    /// Asks for the id of the model whose vectors were written last.
    pub fn model_in_use(&self, limits: Limits<'_>) -> Result<Option<String>, KbError> {
        let asked =
            "SELECT m.id FROM spaces s JOIN models m ON m.model = s.model WHERE s.name = $1";
        let mut connection = self.server.connection(self.reading(), limits)?;
        let rows = connection.rows(limits, asked, &[(&self.name as _, Type::TEXT)])?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// Does [`Space::refresh`] over a connection at hand.
    pub fn refresh_by(
        &self,
        connection: &mut Connection,
        limits: Limits<'_>,
    ) -> Result<Commit, KbError> {
        let model_id = self.model_id();
        let values = [(&self.name as _, Type::TEXT), (&model_id as _, Type::TEXT)];
        let rows = connection.rows(limits, COMMIT, &values)?;
        let Some(row) = rows.first() else {
            return Ok(self.last_commit());
        };
        let commit = Commit::from_row(row);
        self.move_on_to(commit);
        Ok(commit)
    }

    /// Takes a commit for the last one, unless a later one of its space is known.
    pub fn move_on_to(&self, commit: Commit) {
        let mut known = self
            .last_commit
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.space != commit.space || known.generation <= commit.generation {
            *known = commit;
        }
    }

    /// Whether all chunks of that commit were seen to have a vector, which then stays so.
    pub fn is_complete(&self, commit: Commit) -> bool {
        *self.complete.lock().unwrap_or_else(PoisonError::into_inner) == Some(commit)
    }

    /// Notes for which commit all chunks have a vector; `None` once vectors are removed.
    pub fn note_complete(&self, commit: Option<Commit>) {
        *self.complete.lock().unwrap_or_else(PoisonError::into_inner) = commit;
    }

    /// Names of all documents as they were at that commit; asked for once a commit.
    pub fn names(
        &self,
        commit: Commit,
        ask: impl FnOnce() -> Result<Names, KbError>,
    ) -> Result<Arc<Names>, KbError> {
        let mut kept = self.names.lock().unwrap_or_else(PoisonError::into_inner);
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
