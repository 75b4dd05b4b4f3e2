//! Reading rows of the server.

use std::sync::Arc;

use tokio_postgres::Row;

use super::space::Model;
use crate::agent::ports::EmbedError;
use crate::domain::LineRange;
use crate::kb::error::KbError;
use crate::kb::index::document::{Document, LocalStamp};
use crate::kb::index::matches::{ChunkId, Passage};
use crate::kb::source::Stamp;
use crate::text::Trouble;

/// The columns of a document, with this machine's stamp, of the tables `d` and `s`.
pub(super) const DOCUMENT: &str = "d.source, d.title, d.hash, d.bytes, d.modified, d.chunks,
    s.size, s.modified, s.changed, s.inode, s.reliable";

/// Reads a document from the columns of [`DOCUMENT`].
pub(super) fn document(row: &Row) -> Arc<Document> {
    let hash: &[u8] = row.get(2);
    let size: Option<i64> = row.get(6);
    Arc::new(Document {
        source: row.get(0),
        title: row.get(1),
        hash: hash.try_into().unwrap_or_default(),
        bytes: row.get::<_, i64>(3).cast_unsigned(),
        modified: row.get::<_, i64>(4).cast_unsigned(),
        chunks: row.get::<_, i32>(5) as usize,
        stamp: size.map(|size| LocalStamp {
            stamp: Stamp {
                size: size.cast_unsigned(),
                modified: row.get::<_, i64>(7).cast_unsigned(),
                changed: row.get::<_, i64>(8).cast_unsigned(),
                inode: row.get::<_, i64>(9).cast_unsigned(),
            },
            mtime_is_reliable: row.get(10),
        }),
    })
}

/// The range from the first line to the last.
pub(super) fn lines(first: i32, last: i32) -> LineRange {
    LineRange {
        start: first.max(1) as usize,
        end: last.max(first).max(1) as usize,
    }
}

/// Reads a passage from the columns source, first, last, place, heading, body, which start at `at`.
pub(super) fn passage(row: &Row, at: usize) -> Passage {
    let place: Option<&str> = row.get(at + 3);
    Passage {
        source: row.get(at),
        lines: lines(row.get(at + 1), row.get(at + 2)),
        place: place.and_then(|place| serde_json::from_str(place).ok()),
        heading: row.get(at + 4),
        text: row.get(at + 5),
    }
}

/// Reads the id of a chunk from column `at`.
pub(super) fn chunk_id(row: &Row, at: usize) -> ChunkId {
    ChunkId::unpack(row.get::<_, i64>(at).cast_unsigned())
}

/// An error where the vectors of the space are of another length.
pub(super) fn check_dimensions(model: Model, vector: &[f32]) -> Result<(), KbError> {
    if model.dimensions == vector.len() {
        return Ok(());
    }
    Err(KbError::Embed(EmbedError(Trouble::new(
        format!(
            "the model gives vectors of {} numbers where the index holds vectors of {}",
            vector.len(),
            model.dimensions
        ),
        "`kb-agent index --rebuild` embeds everything again",
    ))))
}

/// The error for a space whose own row is gone.
pub(super) fn missing_space() -> KbError {
    KbError::Outdated("the space is gone".to_owned())
}
