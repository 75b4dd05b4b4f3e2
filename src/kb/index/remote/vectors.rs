//! Adding vectors of a model, by what their chunks say; all spaces of the server share them.

use std::sync::Arc;
use std::time::Duration;

use super::schema;
use super::space::{Commit, Model, Space, WriteRight, vector_text};
use super::store_server::sql::{BYTEA_ARRAY, FLOAT4_ARRAY, INT4, TEXT, TEXT_ARRAY};
use super::store_server::{Connection, TypedValue};
use crate::kb::error::KbError;
use crate::kb::index::port::{ChunkKey, Limits, Result, VectorBatch};
use crate::kb::index::quantised::quantise;

/// Fewer vectors are looked at one by one in no noticeable time; and an index is quicker made than
/// grown, so that it is made when all of a first load are there.
const INDEXED_FROM: i64 = 10_000;
/// The most dimensions that the server can index.
const MOST_INDEXED: usize = 4000;
/// Vectors of vanished chunks that are tolerated.
const STALE: i64 = 1000;
/// Begins a transaction that makes a model or removes one, one at a time; any number does.
const BEGIN: &str = "BEGIN; SELECT pg_advisory_xact_lock(7737926838279566082);";
/// Making an index over many vectors takes a while.
const MAKING: Duration = Duration::from_hours(6);

pub(super) struct RemoteVectorBatch {
    space: Arc<Space>,
    connection: Connection,
    commit: Commit,
    /// Whether the space is known to use the model.
    is_used: bool,
}

impl RemoteVectorBatch {
    /// Takes the right to add vectors; [`KbError::Locked`] while another has it.
    pub fn begin(space: &Arc<Space>, limits: Limits<'_>) -> Result<Self> {
        let mut connection = WriteRight::Vectors.connection(space, limits)?;
        Ok(Self {
            space: Arc::clone(space),
            commit: space.refresh_by(&mut connection, limits)?,
            connection,
            is_used: false,
        })
    }

    /// The vectors of the space's model, which are of that length; says that the space uses them.
    fn model(&mut self, dimensions: usize, limits: Limits<'_>) -> Result<Model> {
        if let Some(model) = self.commit.model.filter(|_| self.is_used) {
            return Ok(model);
        }
        self.connection.execute(BEGIN, limits)?;
        let (model_id, length) = (self.space.model_id(), dimensions as i32);
        let values = [(&model_id as _, TEXT), (&length as _, INT4)];
        let made = "INSERT INTO models (id, dimensions) VALUES ($1, $2)
            ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING model, dimensions";
        let rows = self.connection.rows(made, &values, limits)?;
        let model = rows.first().map(|row| Model {
            number: row.get(0),
            dimensions: row.get::<_, i32>(1) as usize,
        });
        let gone = || KbError::Outdated("the space is gone".to_owned());
        let model = model.ok_or_else(gone)?;
        if self.commit.model.is_none() {
            let table = schema::make_vectors(model.number, model.dimensions);
            self.connection.execute(&table, limits)?;
        }
        self.note_use(model, limits)?;
        self.space.announce(&mut self.connection, limits)?;
        self.connection.execute("COMMIT", limits)?;
        self.is_used = true;
        self.commit.model = Some(model);
        let mut known = self.space.last_commit();
        known.model = Some(model);
        self.space.move_on_to(known);
        Ok(model)
    }

    /// Says that the space uses the model: what no space uses is removed.
    fn note_use(&mut self, model: Model, limits: Limits<'_>) -> Result<()> {
        let used = "UPDATE spaces SET model = $1 WHERE name = $2 AND model IS DISTINCT FROM $1
            AND EXISTS (SELECT FROM models WHERE model = $1)";
        let values: [TypedValue<'_>; 2] = [(&model.number, INT4), (&self.space.name, TEXT)];
        self.connection.rows(used, &values, limits).map(drop)
    }

    /// Makes the index that is missing and removes what no space uses any more. Only who owns the
    /// tables may.
    fn put_in_order(&mut self, model: Model, limits: Limits<'_>) -> Result<()> {
        let number = model.number;
        let many = format!("SELECT EXISTS (SELECT FROM vectors_{number} OFFSET {INDEXED_FROM})");
        let are_many = self.connection.is_true(&many, &[], limits)?;
        let limits = limits.lasting(MAKING);
        if are_many && model.dimensions <= MOST_INDEXED {
            let index = schema::make_vector_index(number);
            let index = format!("{index} ANALYZE vectors_{number}");
            self.connection.execute(&index, limits)?;
        }
        self.connection.execute(BEGIN, limits)?;
        let unused = "SELECT m.model FROM models m
            WHERE NOT EXISTS (SELECT FROM spaces s WHERE s.model = m.model)";
        for row in self.connection.rows(unused, &[], limits)? {
            let number: i32 = row.get(0);
            let dropped = format!(
                "UPDATE spaces SET model = NULL WHERE model = {number};
                DROP TABLE IF EXISTS vectors_{number}; DELETE FROM models WHERE model = {number};"
            );
            self.connection.execute(&dropped, limits)?;
        }
        let spaces =
            "SELECT s.space, s.chunks, (SELECT greatest(c.reltuples, 0)::bigint FROM pg_class c
                WHERE c.oid = ('vectors_' || $1)::regclass)
            FROM spaces s WHERE s.model = $1::int";
        let asked = number.to_string();
        let rows = self.connection.rows(spaces, &[(&asked, TEXT)], limits)?;
        let kept: i64 = rows.iter().map(|row| row.get::<_, i64>(1)).sum();
        let held = rows.first().map_or(0, |row| row.get::<_, i64>(2));
        if held > STALE.max(kept + kept / 2) {
            let elsewhere = rows.iter().map(|row| in_no_chunk(row.get(0)));
            let all = elsewhere.collect::<Vec<_>>().join(" AND ");
            let deleted = format!("DELETE FROM vectors_{number} v WHERE {all}");
            self.connection.execute(&deleted, limits)?;
        }
        self.connection.execute("COMMIT", limits)
    }
}

/// The condition that no chunk of the space has the key of `v`.
fn in_no_chunk(space: i32) -> String {
    format!("NOT EXISTS (SELECT FROM chunks_{space} o WHERE o.key = v.key)")
}

impl VectorBatch for RemoteVectorBatch {
    fn put_vectors(&mut self, vectors: &[(ChunkKey, Vec<f32>)], limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        let Some((_, first)) = vectors.first().filter(|(_, first)| !first.is_empty()) else {
            return Ok(());
        };
        let model = self.model(first.len(), limits)?;
        model.check(first)?;
        // In one order, so that two never wait for each other.
        let mut vectors: Vec<&(ChunkKey, Vec<f32>)> = vectors.iter().collect();
        vectors.sort_unstable_by_key(|(key, _)| *key);
        let keys: Vec<&[u8]> = vectors.iter().map(|(key, _)| key.0.as_slice()).collect();
        let mut row = Vec::with_capacity(first.len());
        let rows = vectors.iter().map(|(_, vector)| {
            row.clear();
            let scale = quantise(vector, &mut row);
            let numbers = row.iter().map(|byte| i16::from(byte.cast_signed()));
            (vector_text(numbers), scale)
        });
        let (texts, scales): (Vec<String>, Vec<f32>) = rows.unzip();
        let added = format!(
            "INSERT INTO vectors_{} (key, v, scale) SELECT a.key, a.v::halfvec, a.scale
            FROM unnest($1, $2, $3) AS a(key, v, scale)
            ON CONFLICT (key) DO NOTHING",
            model.number
        );
        let values: [TypedValue<'_>; 3] = [
            (&keys, BYTEA_ARRAY),
            (&texts, TEXT_ARRAY),
            (&scales, FLOAT4_ARRAY),
        ];
        self.connection.rows(&added, &values, limits).map(drop)
    }

    fn complete(&mut self, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        let Some(model) = self.commit.model else {
            return Ok(());
        };
        // Also where other spaces had all its vectors before.
        self.connection.execute(BEGIN, limits)?;
        let noted = self.note_use(model, limits);
        let end = if noted.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = self.connection.execute(end, limits);
        noted.and(ended)?;
        match self.put_in_order(model, limits) {
            Err(error) if !matches!(error, KbError::Stopped | KbError::TimedOut) => {
                // All vectors are there; searching them takes longer, or takes more room.
                tracing::info!(%error, "the vectors of the store are not put in order");
                self.connection.execute("ROLLBACK", limits)
            }
            done => done,
        }
    }

    fn clear(&mut self, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        self.commit = self.space.refresh_by(&mut self.connection, limits)?;
        let (Some(model), Some(space)) = (self.commit.model, self.commit.space) else {
            return Ok(());
        };
        self.space.note_complete(None);
        let patience = Limits::without_cancel().lasting(MAKING);
        self.connection.execute(BEGIN, limits)?;
        let number = model.number;
        let others = "SELECT space FROM spaces WHERE model = $1 AND space <> $2";
        let values = [(&number as _, INT4), (&space as _, INT4)];
        let others = self.connection.rows(others, &values, limits)?;
        let elsewhere = others
            .iter()
            .map(|row| format!(" AND {}", in_no_chunk(row.get(0))));
        let elsewhere: String = elsewhere.collect();
        let deleted = format!(
            "DELETE FROM vectors_{number} v USING chunks_{space} c WHERE c.key = v.key{elsewhere}; COMMIT"
        );
        self.connection.execute(&deleted, patience)
    }
}

impl Drop for RemoteVectorBatch {
    fn drop(&mut self) {
        self.connection.give_back_rights();
    }
}
