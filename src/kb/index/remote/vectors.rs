//! Adding vectors of a model, by what their chunks say; all spaces of the server share them.

use std::sync::Arc;
use std::time::Duration;

use super::space::{BEGIN, Space};
use super::store_server::{Connection, values};
use crate::kb::error::KbError;
use crate::kb::index::port::{ChunkKey, Limits, Result, VectorBatch};
use crate::kb::index::quantised::{check_length, quantise};

/// Making an index over many vectors takes a while.
const MAKING: Duration = Duration::from_hours(6);

pub(super) struct RemoteVectorBatch {
    space: Arc<Space>,
    connection: Connection,
    number: i32,
    dimensions: Option<i32>,
    /// Whether the space is known to use the model.
    is_used: bool,
}

impl RemoteVectorBatch {
    /// Takes the right to add vectors; [`KbError::Locked`] while another has it.
    pub fn begin(space: &Arc<Space>, limits: Limits<'_>) -> Result<Self> {
        let mut connection = space.take("vectors", limits)?;
        let commit = space.refresh_by(&mut connection, limits)?;
        Ok(Self {
            space: Arc::clone(space),
            connection,
            number: commit.space,
            dimensions: commit.dimensions,
            is_used: false,
        })
    }

    /// Says that the space uses the model: vectors that no space uses are removed.
    fn note_use(&mut self, limits: Limits<'_>) -> Result<()> {
        if self.is_used {
            return Ok(());
        }
        let used = "UPDATE spaces SET model = $1, model_id = $2
            WHERE name = $3 AND model IS DISTINCT FROM $1";
        let model_id = self.space.model_id.lock().clone();
        let values = values![self.space.model(), model_id, self.space.name.clone()];
        self.connection.rows(used, values, limits)?;
        self.is_used = true;
        Ok(())
    }
}

/// A vector of whole numbers as the server reads it.
pub(super) fn vector_text(numbers: impl IntoIterator<Item = i16>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

/// An error where a vector is of another length than those of the model.
pub(super) fn check_dimensions(vector: &[f32], dimensions: Option<i32>) -> Result<()> {
    let next = "`kb-agent index --rebuild` embeds everything again";
    dimensions.map_or(Ok(()), |held| check_length(vector, held as usize, next))
}

impl VectorBatch for RemoteVectorBatch {
    fn put_vectors(&mut self, vectors: &[(ChunkKey, Vec<f32>)], limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        let Some((_, first)) = vectors.first().filter(|(_, first)| !first.is_empty()) else {
            return Ok(());
        };
        check_dimensions(first, self.dimensions)?;
        self.note_use(limits)?;
        // In one order, so that two never wait for each other.
        let mut vectors: Vec<&(ChunkKey, Vec<f32>)> = vectors.iter().collect();
        vectors.sort_unstable_by_key(|(key, _)| *key);
        let keys: Vec<Vec<u8>> = vectors.iter().map(|(key, _)| key.0.to_vec()).collect();
        let rows = vectors.iter().map(|(_, vector)| {
            let mut row = Vec::new();
            let scale = quantise(vector, &mut row);
            let numbers = row.iter().map(|byte| i16::from(byte.cast_signed()));
            (vector_text(numbers), scale)
        });
        let (texts, scales): (Vec<String>, Vec<f32>) = rows.unzip();
        let added =
            "INSERT INTO vectors (model, key, v, scale) SELECT $1, a.key, a.v::halfvec, a.scale
            FROM unnest($2, $3, $4) AS a(key, v, scale) ON CONFLICT (model, key) DO NOTHING";
        let values = values![self.space.model(), keys, texts, scales];
        self.connection.rows(added, values, limits)?;
        if self.dimensions.is_none() {
            self.dimensions = Some(first.len() as i32);
            self.space.refresh_by(&mut self.connection, limits)?;
        }
        Ok(())
    }

    fn complete(&mut self, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        let Some(dimensions) = self.dimensions else {
            return Ok(());
        };
        // Also where other spaces had all its vectors before.
        self.note_use(limits)?;
        let model = self.space.model();
        let kept = format!("{BEGIN} SELECT keep_vectors({model}, {dimensions}); COMMIT");
        match self.connection.execute(kept, limits.lasting(MAKING)) {
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
        *self.space.complete.lock() = None;
        let (model, number) = (self.space.model(), self.number);
        // Not those that other spaces use too.
        let deleted = format!(
            "{BEGIN} DELETE FROM vectors v USING chunks c
            WHERE v.model = {model} AND c.space = {number} AND c.key = v.key
            AND NOT EXISTS (SELECT FROM spaces s JOIN chunks o USING (space)
                WHERE s.model = {model} AND s.space <> {number} AND o.key = v.key);
            COMMIT"
        );
        let patience = Limits::without_cancel().lasting(MAKING);
        self.connection.execute(deleted, patience)?;
        self.dimensions = self
            .space
            .refresh_by(&mut self.connection, limits)?
            .dimensions;
        Ok(())
    }
}
