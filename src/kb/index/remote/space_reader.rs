//! A reader of a space, and how it asks.

use std::sync::{Arc, Mutex, PoisonError};

use super::space::{Commit, Model, Names, Space};
use super::store_server::Connection;
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;

/// The space as it is at the moment of each call.
pub(super) struct RemoteReader {
    pub(super) space: Arc<Space>,
    /// What it was made for. A space that was made anew meanwhile has other tables.
    commit: Mutex<Commit>,
    pub(super) generation: u64,
    /// Whether it lists only what this process keeps up to date.
    pub(super) own_only: bool,
}

impl RemoteReader {
    /// Makes a reader for a commit.
    pub fn new(space: Arc<Space>, commit: Commit, own_only: bool) -> Self {
        Self {
            generation: commit.generation,
            commit: Mutex::new(commit),
            own_only: own_only && space.labels.iter().all(|label| !label.is_empty()),
            space,
        }
    }

    /// The commit that it was made for, or the one that it found since.
    pub(super) fn commit(&self) -> Commit {
        *self.commit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the tables of the space, `otherwise` where there is none. Where these were replaced, it
    /// asks the new ones, and where the connection broke before, a new one.
    pub(super) fn ask<T>(
        &self,
        limits: Limits<'_>,
        otherwise: T,
        ask: impl Fn(&mut Connection, i32, Option<Model>) -> Result<T, KbError>,
    ) -> Result<T, KbError> {
        limits.check()?;
        let commit = self.commit();
        let Some(number) = commit.space else {
            return Ok(otherwise);
        };
        let mut connection = self.space.server.connection(self.space.reading(), limits)?;
        match ask(&mut connection, number, commit.model) {
            Err(KbError::Outdated(_)) => {
                let now = self.space.refresh_by(&mut connection, limits)?;
                *self.commit.lock().unwrap_or_else(PoisonError::into_inner) = now;
                match now.space {
                    Some(number) => ask(&mut connection, number, now.model),
                    None => Ok(otherwise),
                }
            }
            Err(KbError::Store(_)) if connection.is_broken() => {
                let mut connection = self.space.server.connection(self.space.reading(), limits)?;
                ask(&mut connection, number, commit.model)
            }
            other => other,
        }
    }

    /// Source and title of all documents.
    pub(super) fn names(&self, limits: Limits<'_>) -> Result<Arc<Names>, KbError> {
        self.space.names(self.commit(), || {
            self.ask(limits, Names::new(), |connection, space, _| {
                let asked = format!("SELECT source, title FROM documents_{space} ORDER BY source");
                let rows = connection.rows(limits, &asked, &[])?;
                Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
            })
        })
    }
}
