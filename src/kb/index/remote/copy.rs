//! Rows in bulk.

use std::collections::HashMap;
use std::pin::pin;

use tokio_postgres::Client;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;

use super::binary::SparseGains;
use super::gains::{ChunkTerms, TermRow};
use super::links::{keys_of_links, written_links};
use super::slips;
use super::store_server::{Connection, TypedValue};
use crate::kb::error::KbError;
use crate::kb::index::document::{LocalStamp, NewDocument};
use crate::kb::index::limits::Limits;
use crate::kb::index::matches::ChunkId;
use crate::kb::index::tokens;

/// Documents with numbers from `first` on.
pub(super) fn copy_documents(
    connection: &mut Connection,
    space: i32,
    first: i64,
    documents: &[NewDocument],
    limits: Limits<'_>,
) -> Result<(), KbError> {
    let statement = format!(
        "COPY documents_{space} (number, source, title, hash, bytes, modified, chunks, links, link_keys)
        FROM STDIN (FORMAT binary)"
    );
    let types = [
        Type::INT8,
        Type::TEXT,
        Type::TEXT,
        Type::BYTEA,
        Type::INT8,
        Type::INT8,
        Type::INT4,
        Type::TEXT,
        Type::TEXT_ARRAY,
    ];
    connection.call(limits, async |client| {
        let mut rows = pin!(writer(client, &statement, &types).await?);
        for (number, document) in (first..).zip(documents) {
            let stamp = document.stamp.stamp;
            rows.as_mut()
                .write(&[
                    &number,
                    &storable(&document.source),
                    &storable(&document.title),
                    &document.hash.as_slice(),
                    &stamp.size.cast_signed(),
                    &stamp.modified.cast_signed(),
                    &(document.chunks.len() as i32),
                    &storable(&written_links(&document.links)),
                    &keys_of_links(&document.links),
                ])
                .await?;
        }
        rows.finish().await.map(drop)
    })
}

/// Chunks of documents with numbers from `first` on, and their terms.
pub(super) fn copy_chunks(
    connection: &mut Connection,
    space: i32,
    (first, documents): (i64, &[NewDocument]),
    (terms, average): (&[ChunkTerms], f64),
    limits: Limits<'_>,
) -> Result<(), KbError> {
    let numbered = (first..).zip(documents).flat_map(|(number, document)| {
        let chunks = (0_u32..).zip(&document.chunks);
        chunks.map(move |(at, chunk)| (ChunkId::new(number as u32, at).pack().cast_signed(), chunk))
    });
    let numbered: Vec<_> = numbered.collect();
    let statement = format!(
        "COPY chunks_{space} (chunk, first, last, place, heading, body, key, names) FROM STDIN (FORMAT binary)"
    );
    let types = [
        Type::INT8,
        Type::INT4,
        Type::INT4,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::BYTEA,
        Type::TEXT_ARRAY,
    ];
    connection.call(limits, async |client| {
        let mut rows = pin!(writer(client, &statement, &types).await?);
        for (id, (key, chunk)) in &numbered {
            let place = chunk.place.as_ref();
            let place = place.and_then(|place| serde_json::to_string(place).ok());
            let names = tokens::name_keys(&chunk.names);
            rows.as_mut()
                .write(&[
                    id,
                    &(chunk.lines.start as i32),
                    &(chunk.lines.end as i32),
                    &place.as_deref().map(storable),
                    &storable(&chunk.heading),
                    &storable(&chunk.text),
                    &key.0.as_slice(),
                    &names,
                ])
                .await?;
        }
        rows.finish().await.map(drop)
    })?;
    let statement =
        format!("COPY words_{space} (chunk, len, terms, freqs, gains) FROM STDIN (FORMAT binary)");
    let types = [
        Type::INT8,
        Type::INT4,
        Type::INT4_ARRAY,
        Type::INT2_ARRAY,
        Type::BYTEA,
    ];
    connection.call(limits, async |client| {
        let mut rows = pin!(writer(client, &statement, &types).await?);
        for ((id, _), terms) in numbered.iter().zip(terms) {
            let row = TermRow::new(terms, average);
            rows.as_mut()
                .write(&[
                    id,
                    &terms.length.cast_signed(),
                    &row.ids,
                    &row.frequencies,
                    &SparseGains(&row),
                ])
                .await?;
        }
        rows.finish().await.map(drop)
    })
}

/// Adds to how many chunks hold each term.
pub(super) fn copy_terms(
    connection: &mut Connection,
    space: i32,
    held: &HashMap<String, i64>,
    limits: Limits<'_>,
) -> Result<(), KbError> {
    let changed = held.iter().filter(|(_, more)| **more != 0);
    let mut changed: Vec<(&String, &i64)> = changed.collect();
    if changed.is_empty() {
        return Ok(());
    }
    // In one order, so that two never wait for each other.
    changed.sort_unstable();
    let types = [Type::TEXT, Type::INT8, Type::INT4_ARRAY];
    connection.call(limits, async |client| {
        client
            .batch_execute(
                "CREATE TEMP TABLE IF NOT EXISTS changed_terms
                (term text COLLATE \"C\", held bigint, slips int4[]) ON COMMIT DELETE ROWS",
            )
            .await?;
        let statement = "COPY changed_terms (term, held, slips) FROM STDIN (FORMAT binary)";
        let mut rows = pin!(writer(client, statement, &types).await?);
        for (term, more) in changed {
            let slips = slips::of_term(term);
            rows.as_mut().write(&[term, more, &slips]).await?;
        }
        rows.finish().await?;
        client
            .batch_execute(&format!(
                "INSERT INTO terms_{space} AS t (term, held, slips)
                SELECT term, held, slips FROM changed_terms ORDER BY term
                ON CONFLICT (term) DO UPDATE SET held = t.held + excluded.held;
                DELETE FROM terms_{space} t USING changed_terms c
                WHERE c.held < 0 AND t.term = c.term AND t.held <= 0"
            ))
            .await
    })
}

/// Notes how these documents' files look on a machine.
pub(super) fn note_stamps(
    connection: &mut Connection,
    (space, machine): (i32, &String),
    stamps: &[(String, LocalStamp)],
    limits: Limits<'_>,
) -> Result<(), KbError> {
    let sources: Vec<&String> = stamps.iter().map(|(source, _)| source).collect();
    let column = |of: fn(&LocalStamp) -> u64| -> Vec<i64> {
        let numbers = stamps.iter().map(|(_, local)| of(local).cast_signed());
        numbers.collect()
    };
    let sizes = column(|local| local.stamp.size);
    let modified = column(|local| local.stamp.modified);
    let changed = column(|local| local.stamp.changed);
    let inodes = column(|local| local.stamp.inode);
    let reliable = stamps.iter().map(|(_, local)| local.mtime_is_reliable);
    let reliable: Vec<bool> = reliable.collect();
    let noted = format!(
        "WITH n AS (SELECT d.number, a.* FROM unnest($2, $3, $4, $5, $6, $7)
            AS a(source, size, modified, changed, inode, reliable)
            JOIN documents_{space} d USING (source)),
        seen AS (UPDATE documents_{space} d SET bytes = n.size, modified = n.modified FROM n
            WHERE d.number = n.number AND (d.bytes, d.modified) <> (n.size, n.modified))
        INSERT INTO stamps_{space} (number, machine, size, modified, changed, inode, reliable)
        SELECT n.number, $1, n.size, n.modified, n.changed, n.inode, n.reliable FROM n
        ON CONFLICT (number, machine) DO UPDATE SET size = excluded.size,
            modified = excluded.modified, changed = excluded.changed, inode = excluded.inode,
            reliable = excluded.reliable"
    );
    let values: [TypedValue<'_>; 7] = [
        (machine, Type::TEXT),
        (&sources, Type::TEXT_ARRAY),
        (&sizes, Type::INT8_ARRAY),
        (&modified, Type::INT8_ARRAY),
        (&changed, Type::INT8_ARRAY),
        (&inodes, Type::INT8_ARRAY),
        (&reliable, Type::BOOL_ARRAY),
    ];
    connection.rows(limits, &noted, &values).map(drop)
}

async fn writer(
    client: &Client,
    statement: &str,
    types: &[Type],
) -> Result<BinaryCopyInWriter, tokio_postgres::Error> {
    let sink = client.copy_in(statement).await?;
    Ok(BinaryCopyInWriter::new(sink, types))
}

/// The server's texts hold every character but this one.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
