//! Adding vectors of a model, by what their chunks say; all spaces of the server share them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use super::binary::vector_text;
use super::rights::WriteRight;
use super::rows::{check_dimensions, gone};
use super::schema;
use super::server::{Connection, Purpose, Typed};
use super::space::{Commit, Model, Space};
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::limits::Limits;
use crate::kb::index::port::VectorBatch;

static NEVER: AtomicBool = AtomicBool::new(false);
/// Fewer vectors are looked at one by one in no noticeable time; and an index is quicker made than
/// grown, so that it is made when all of a first load are there.
const INDEXED_FROM: i64 = 10_000;
/// Making an index over many vectors takes a while.
const MAKING: Duration = Duration::from_hours(6);

pub(super) struct RemoteVectorBatch {
    space: Arc<Space>,
    connection: Connection,
    commit: Commit,
}

impl RemoteVectorBatch {
    /// Takes the right to add vectors; [`KbError::Locked`] while another has it.
    pub fn begin(space: &Arc<Space>, limits: Limits<'_>) -> Result<Self, KbError> {
        let mut connection = space.server.connection(Purpose::Writing, limits)?;
        let may =
            "SELECT has_table_privilege('models', 'INSERT') AND has_schema_privilege($1, 'CREATE')";
        let rows = connection.rows(limits, may, &[(&schema::name(), Type::TEXT)])?;
        if !rows.first().is_some_and(|row| row.get(0)) {
            return Err(KbError::ReadOnly);
        }
        WriteRight::Vectors.take(&mut connection, &space.name, limits)?;
        let mut batch = Self {
            space: Arc::clone(space),
            connection,
            commit: Commit::default(),
        };
        batch.commit = space.refresh_by(&mut batch.connection, limits)?;
        Ok(batch)
    }

    fn execute(&mut self, statements: &str, limits: Limits<'_>) -> Result<(), KbError> {
        let done = async |client: &tokio_postgres::Client| client.batch_execute(statements).await;
        self.connection.call(limits, done)
    }

    /// The vectors of the space's model, which are of that length.
    fn model(&mut self, dimensions: usize, limits: Limits<'_>) -> Result<Model, KbError> {
        if let Some(model) = self.commit.model {
            return Ok(model);
        }
        let (model_id, length) = (self.space.model_id(), dimensions as i32);
        let values: [Typed<'_>; 2] = [(&model_id, Type::TEXT), (&length, Type::INT4)];
        let made = "INSERT INTO models (id, dimensions) VALUES ($1, $2)
            ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING model, dimensions";
        let rows = self.connection.rows(limits, made, &values)?;
        let model = rows.first().map(|row| Model {
            number: row.get(0),
            dimensions: row.get::<_, i32>(1) as usize,
        });
        let model = model.ok_or_else(gone)?;
        self.execute(
            &schema::make_vectors(model.number, model.dimensions),
            limits,
        )?;
        let used = "UPDATE spaces SET model = $1 WHERE name = $2";
        let values: [Typed<'_>; 2] = [(&model.number, Type::INT4), (&self.space.name, Type::TEXT)];
        self.connection.rows(limits, used, &values)?;
        self.commit.model = Some(model);
        let known = self.space.known();
        self.space.move_on_to(Commit {
            model: Some(model),
            ..known
        });
        Ok(model)
    }
}

impl VectorBatch for RemoteVectorBatch {
    fn put(&mut self, vectors: &[(ChunkKey, Vec<f32>)], limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        let Some((_, first)) = vectors.first().filter(|(_, first)| !first.is_empty()) else {
            return Ok(());
        };
        let model = self.model(first.len(), limits)?;
        check_dimensions(model, first)?;
        let keys: Vec<&[u8]> = vectors.iter().map(|(key, _)| key.0.as_slice()).collect();
        let texts: Vec<String> = vectors.iter().map(|(_, v)| vector_text(v)).collect();
        let added = format!(
            "INSERT INTO vectors_{} (key, v) SELECT a.key, a.v::halfvec FROM unnest($1, $2) AS a(key, v)
            ON CONFLICT (key) DO NOTHING",
            model.number
        );
        let values: [Typed<'_>; 2] = [(&keys, Type::BYTEA_ARRAY), (&texts, Type::TEXT_ARRAY)];
        self.connection.rows(limits, &added, &values).map(drop)
    }

    fn complete(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        let Some(model) = self.commit.model else {
            return Ok(());
        };
        let number = model.number;
        let many = format!(
            "SELECT count(*) FROM (SELECT FROM vectors_{number} LIMIT {INDEXED_FROM}) AS first"
        );
        let rows = self.connection.rows(limits, &many, &[])?;
        if rows
            .first()
            .is_some_and(|row| row.get::<_, i64>(0) >= INDEXED_FROM)
        {
            let patience = Instant::now().checked_add(MAKING);
            let index = format!(
                "SET statement_timeout = 0; {} ANALYZE vectors_{number}; RESET statement_timeout",
                schema::make_vector_index(number)
            );
            self.execute(&index, Limits::until(limits.stop(), patience))?;
        }
        let unused = "SELECT m.model FROM models m
            WHERE NOT EXISTS (SELECT FROM spaces s WHERE s.model = m.model)";
        for row in self.connection.rows(limits, unused, &[])? {
            let number: i32 = row.get(0);
            self.execute(&forgotten(number), limits)?;
        }
        Ok(())
    }

    fn clear(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        let Some(model) = self.commit.model.take() else {
            return Ok(());
        };
        let number = model.number;
        let others =
            "SELECT space FROM spaces WHERE model = $1 AND name IS NOT NULL AND name <> $2";
        let values: [Typed<'_>; 2] = [(&number, Type::INT4), (&self.space.name, Type::TEXT)];
        let others = self.connection.rows(limits, others, &values)?;
        let forgotten = match self.commit.space {
            Some(space) if !others.is_empty() => {
                let elsewhere = others.iter().map(|row| {
                    let other: i32 = row.get(0);
                    format!("AND NOT EXISTS (SELECT FROM chunks_{other} o WHERE o.key = v.key)")
                });
                let elsewhere: String = elsewhere.collect();
                format!(
                    "DELETE FROM vectors_{number} v USING chunks_{space} c WHERE c.key = v.key {elsewhere}"
                )
            }
            _ => forgotten(number),
        };
        self.execute(
            &forgotten,
            Limits::until(&NEVER, Instant::now().checked_add(MAKING)),
        )?;
        self.commit = self.space.refresh_by(&mut self.connection, limits)?;
        Ok(())
    }
}

/// The model with its vectors, removed.
fn forgotten(number: i32) -> String {
    format!(
        "UPDATE spaces SET model = NULL WHERE model = {number};
        DROP TABLE IF EXISTS vectors_{number}; DELETE FROM models WHERE model = {number};"
    )
}

impl Drop for RemoteVectorBatch {
    fn drop(&mut self) {
        self.connection.give_back_rights();
    }
}
