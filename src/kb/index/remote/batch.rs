//! Changing the documents of a space: one session, one transaction a commit.
//!
//! Documents are gathered and sent some thousand chunks at a time. How many chunks hold a term is
//! kept by differences, which go in with the commit; of documents that go the terms are read again
//! from their texts. What begins afresh forgets what this process keeps up to date and nothing of others'.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio_postgres::types::Type;

use super::copy::{copy_chunks, copy_documents, copy_terms, note_stamps};
use super::gains::TermReader;
use super::rights::WriteRight;
use super::schema;
use super::space::{Commit, Space};
use super::space_reader::RemoteReader;
use super::store_server::{Connection, TypedValue};
use crate::kb::error::KbError;
use crate::kb::index::document::{LocalStamp, NewDocument};
use crate::kb::index::limits::Limits;
use crate::kb::index::port::{Batch, Reader};
use crate::text::{Trouble, one_line};

static NEVER: AtomicBool = AtomicBool::new(false);
/// How long a commit that has begun is waited for.
const COMMITTING: Duration = Duration::from_mins(10);
/// An index of the server takes values of 2,704 bytes at most.
const LONGEST_SOURCE: usize = 2600;
/// The number of chunks that are sent together.
const SENT: usize = 2000;
/// After more chunks than this the server analyses its tables anew.
const MANY: usize = 1000;

/// The rows that the next flush sends.
#[derive(Default)]
struct PendingRows {
    put: Vec<NewDocument>,
    chunks: usize,
    removed: Vec<String>,
    kept: Vec<(String, LocalStamp)>,
}

/// How the space differs from its last commit.
#[derive(Default)]
struct Difference {
    documents: i64,
    chunks: i64,
    tokens: i64,
    /// The growth of the number of chunks that hold each term.
    held: HashMap<String, i64>,
}

pub(super) struct RemoteBatch {
    space: Arc<Space>,
    connection: Connection,
    /// The commit that the batch began with.
    found: Commit,
    /// Whether the documents that this process keeps up to date are removed first.
    afresh: bool,
    /// The number of the space's tables; `None` until they are made.
    number: Option<i32>,
    is_open: bool,
    is_touched: bool,
    pending: PendingRows,
    difference: Difference,
    terms: TermReader,
    average: Option<f64>,
    next_number: i64,
    indexes: Indexes,
    /// The number of chunks that were put.
    put: usize,
}

impl RemoteBatch {
    /// Takes the right to write; [`KbError::Locked`] while another has it.
    pub fn begin(space: &Arc<Space>, afresh: bool, limits: Limits<'_>) -> Result<Self, KbError> {
        let connection = WriteRight::Documents.connection(&space.server, &space.name, limits)?;
        let mut batch = Self {
            space: Arc::clone(space),
            found: Commit::default(),
            afresh,
            number: None,
            is_open: false,
            is_touched: false,
            pending: PendingRows::default(),
            difference: Difference::default(),
            terms: TermReader::new(),
            average: None,
            next_number: 0,
            indexes: Indexes::Missing,
            put: 0,
            connection,
        };
        batch.found = space.refresh_by(&mut batch.connection, limits)?;
        batch.number = batch.found.space;
        if let Some(number) = batch.number {
            let has_indexes = schema::has_space_indexes(number);
            let asked = format!(
                "SELECT average::float8, next_number, {has_indexes} FROM spaces WHERE space = $1"
            );
            let rows = batch
                .connection
                .rows(limits, &asked, &[(&number, Type::INT4)])?;
            if let Some(row) = rows.first() {
                (batch.average, batch.next_number) = (row.get(0), row.get(1));
                if row.get(2) {
                    batch.indexes = Indexes::Made;
                }
            }
        }
        Ok(batch)
    }

    /// The tables to write, in an open transaction.
    fn tables(&mut self, limits: Limits<'_>) -> Result<i32, KbError> {
        if !self.is_open {
            self.connection.execute("BEGIN", limits)?;
            self.is_open = true;
        }
        if let Some(number) = self.number {
            return Ok(number);
        }
        let made = "INSERT INTO spaces (name) VALUES ($1) RETURNING space";
        let named: [TypedValue<'_>; 1] = [(&self.space.name, Type::TEXT)];
        let rows = self.connection.rows(limits, made, &named)?;
        let number: i32 = rows.first().map_or(0, |row| row.get(0));
        self.connection
            .execute(&schema::make_space(number), limits)?;
        self.is_touched = true;
        self.number = Some(number);
        Ok(number)
    }

    /// Forgets what this process keeps up to date.
    fn forget_own(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        if !std::mem::take(&mut self.afresh) {
            return Ok(());
        }
        let space = self.tables(limits)?;
        self.is_touched = true;
        let reader = RemoteReader::new(Arc::clone(&self.space), self.found, true);
        let mut last: Option<String> = None;
        loop {
            // A large folder takes longer than a call may.
            let limits = Limits::of_a_call(limits.stop());
            let page = reader.page(last.as_deref(), SENT, limits)?;
            let forgotten = PendingRows {
                removed: page.iter().map(|one| one.source.clone()).collect(),
                ..PendingRows::default()
            };
            self.delete(space, &forgotten, limits)?;
            last = forgotten.removed.into_iter().next_back();
            if page.len() < SENT {
                return Ok(());
            }
        }
    }

    /// Sends the pending rows.
    fn flush(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        self.forget_own(limits)?;
        let pending = std::mem::take(&mut self.pending);
        if pending.put.is_empty() && pending.removed.is_empty() && pending.kept.is_empty() {
            return Ok(());
        }
        let space = self.tables(limits)?;
        self.delete(space, &pending, limits)?;
        self.insert(space, pending.put, limits)?;
        self.stamp(space, &pending.kept, limits)
    }

    fn delete(
        &mut self,
        space: i32,
        pending: &PendingRows,
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        let put = pending.put.iter().map(|document| &document.source);
        let sources: Vec<&String> = pending.removed.iter().chain(put).collect();
        if sources.is_empty() || (self.found.generation == 0 && self.difference.documents == 0) {
            return Ok(());
        }
        let asked = format!("SELECT number FROM documents_{space} WHERE source = ANY ($1)");
        let rows = self
            .connection
            .rows(limits, &asked, &[(&sources, Type::TEXT_ARRAY)])?;
        let numbers: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        self.is_touched = true;
        let numbers: [TypedValue<'_>; 1] = [(&numbers, Type::INT8_ARRAY)];
        let asked = format!(
            "SELECT c.heading, c.body, w.len, c.chunk >> 32 FROM unnest($1) AS n(number)
            JOIN chunks_{space} c ON c.chunk >= n.number << 32 AND c.chunk < (n.number + 1) << 32
            JOIN words_{space} w USING (chunk) ORDER BY chunk"
        );
        let rows = self.connection.rows(limits, &asked, &numbers)?;
        for document in rows.chunk_by(|a, b| a.get::<_, i64>(3) == b.get::<_, i64>(3)) {
            let chunks: Vec<(&str, &str)> = document.iter().map(|c| (c.get(0), c.get(1))).collect();
            for terms in self.terms.read(&chunks) {
                for term in terms.frequencies.into_keys() {
                    *self.difference.held.entry(term).or_default() -= 1;
                }
            }
        }
        for row in &rows {
            self.difference.chunks -= 1;
            self.difference.tokens -= i64::from(row.get::<_, i32>(2));
        }
        let gone = format!(
            "WITH n AS (SELECT unnest($1) AS number),
            a AS (DELETE FROM words_{space} w USING n
                WHERE w.chunk >= n.number << 32 AND w.chunk < (n.number + 1) << 32),
            b AS (DELETE FROM chunks_{space} c USING n
                WHERE c.chunk >= n.number << 32 AND c.chunk < (n.number + 1) << 32),
            c AS (DELETE FROM stamps_{space} s USING n WHERE s.number = n.number)
            DELETE FROM documents_{space} d USING n WHERE d.number = n.number RETURNING d.number"
        );
        let rows = self.connection.rows(limits, &gone, &numbers)?;
        self.difference.documents -= rows.len() as i64;
        Ok(())
    }

    fn insert(
        &mut self,
        space: i32,
        documents: Vec<NewDocument>,
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        if documents.is_empty() {
            return Ok(());
        }
        self.is_touched = true;
        let first = self.next_number;
        let mut terms = Vec::new();
        for document in &documents {
            self.next_number += 1;
            let chunks = document.chunks.iter();
            let chunks: Vec<_> = chunks
                .map(|(_, chunk)| (chunk.heading.as_str(), chunk.text.as_str()))
                .collect();
            terms.append(&mut self.terms.read(&chunks));
        }
        let tokens: u64 = terms.iter().map(|terms| u64::from(terms.length)).sum();
        for term in terms.iter().flat_map(|terms| terms.frequencies.keys()) {
            if let Some(held) = self.difference.held.get_mut(term) {
                *held += 1;
            } else {
                self.difference.held.insert(term.clone(), 1);
            }
        }
        let mean = tokens as f64 / (terms.len() as f64).max(1.0);
        let average = *self.average.get_or_insert(mean.max(1.0));
        self.difference.documents += documents.len() as i64;
        self.difference.chunks += terms.len() as i64;
        self.difference.tokens += tokens.cast_signed();
        copy_documents(&mut self.connection, space, first, &documents, limits)?;
        copy_chunks(
            &mut self.connection,
            space,
            (first, &documents),
            (&terms, average),
            limits,
        )?;
        let stamps: Vec<(String, LocalStamp)> = documents
            .into_iter()
            .map(|document| (document.source, document.stamp))
            .collect();
        self.stamp(space, &stamps, limits)
    }

    /// Notes how files look on this machine.
    fn stamp(
        &mut self,
        space: i32,
        stamps: &[(String, LocalStamp)],
        limits: Limits<'_>,
    ) -> Result<(), KbError> {
        if stamps.is_empty() {
            return Ok(());
        }
        self.is_touched = true;
        let machine = &self.space.machine;
        note_stamps(&mut self.connection, (space, machine), stamps, limits)
    }

    /// Writes down what differs and makes it visible.
    fn publish(&mut self, number: i32, limits: Limits<'_>) -> Result<(), KbError> {
        let difference = std::mem::take(&mut self.difference);
        copy_terms(&mut self.connection, number, &difference.held, limits)?;
        let average = self.average.map(|average| average as f32);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_millis() as i64);
        let last = self.found.generation.cast_signed();
        let values: [TypedValue<'_>; 8] = [
            (&number, Type::INT4),
            (&difference.documents, Type::INT8),
            (&difference.chunks, Type::INT8),
            (&difference.tokens, Type::INT8),
            (&average, Type::FLOAT4),
            (&self.next_number, Type::INT8),
            (&now, Type::INT8),
            (&last, Type::INT8),
        ];
        let changed = "UPDATE spaces SET documents = documents + $2, chunks = chunks + $3,
                tokens = tokens + $4, average = coalesce(average, $5), next_number = $6,
                generation = greatest($7, generation + 1, $8 + 1)
            WHERE space = $1 RETURNING generation";
        let rows = self.connection.rows(limits, changed, &values)?;
        let generation: i64 = rows.first().map_or(0, |row| row.get(0));
        let notified = "SELECT pg_notify($1, $2)";
        let channel = schema::channel();
        let values: [TypedValue<'_>; 2] = [(&channel, Type::TEXT), (&self.space.name, Type::TEXT)];
        self.connection.rows(limits, notified, &values)?;
        self.connection.execute("COMMIT", limits)?;
        self.is_open = false;
        self.is_touched = false;
        self.found = Commit {
            space: Some(number),
            generation: generation.cast_unsigned(),
            model: self.space.last_commit().model,
        };
        self.space.move_on_to(self.found);
        Ok(())
    }
}

impl Batch for RemoteBatch {
    fn previous_reader(&self) -> Option<Arc<dyn Reader>> {
        let reader = || RemoteReader::new(Arc::clone(&self.space), self.found, true);
        (!self.afresh).then(|| Arc::new(reader()) as Arc<dyn Reader>)
    }

    fn expect(&mut self, _: usize) {}

    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        if document.source.len() > LONGEST_SOURCE {
            let name = one_line(&document.source, 80);
            return Err(KbError::Store(Trouble::new(
                format!("{name}: a store takes no path of more than {LONGEST_SOURCE} bytes"),
                "shorten it, or leave the file out by .ignore",
            )));
        }
        let pending = &mut self.pending;
        pending.put.retain(|known| known.source != document.source);
        pending.chunks += document.chunks.len();
        self.put += document.chunks.len();
        pending.put.push(document);
        if pending.chunks >= SENT || pending.put.len() >= SENT {
            self.flush(limits)?;
        }
        Ok(())
    }

    fn keep(&mut self, source: &str, stamp: LocalStamp, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        self.pending.kept.push((source.to_owned(), stamp));
        if self.pending.kept.len() >= SENT {
            self.flush(limits)?;
        }
        Ok(())
    }

    fn remove(&mut self, source: &str, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        self.pending.put.retain(|known| known.source != source);
        self.pending.removed.push(source.to_owned());
        if self.pending.removed.len() >= SENT {
            self.flush(limits)?;
        }
        Ok(())
    }

    fn commit(&mut self, limits: Limits<'_>) -> Result<(), KbError> {
        limits.check()?;
        self.flush(limits)?;
        let Some(number) = self.number.filter(|_| self.is_touched) else {
            return Ok(());
        };
        let patience = Instant::now().checked_add(COMMITTING);
        self.publish(number, Limits::until(&NEVER, patience))
    }

    fn finish(mut self: Box<Self>, limits: Limits<'_>) -> Result<(), KbError> {
        self.commit(limits)?;
        let Some(number) = self.number.filter(|_| self.found.space.is_some()) else {
            return Ok(());
        };
        let state = (self.indexes, self.put > MANY);
        put_in_order(&mut self.connection, number, state, limits)
    }
}

impl Drop for RemoteBatch {
    fn drop(&mut self) {
        self.connection.give_back_rights();
    }
}

/// Making the indexes of a large space takes a while.
const INDEXING: Duration = Duration::from_hours(6);

/// Whether the indexes of [`schema::make_space_indexes`] exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Indexes {
    Made,
    Missing,
}

/// Makes the indexes of a space that are missing, and lets the server plan anew after a large change.
/// Only the owner of the tables may; for others all is there and found, if more slowly.
fn put_in_order(
    connection: &mut Connection,
    space: i32,
    (indexes, is_large): (Indexes, bool),
    limits: Limits<'_>,
) -> Result<(), KbError> {
    let mut missing = String::new();
    if indexes == Indexes::Missing {
        missing += &schema::make_space_indexes(space);
    }
    if is_large {
        missing += &schema::analyze_space(space);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let patience = Limits::until(limits.stop(), Instant::now().checked_add(INDEXING));
    match connection.execute(&missing, patience) {
        Err(error @ (KbError::Stopped | KbError::TimedOut)) => Err(error),
        Err(error) => {
            tracing::info!(%error, "the tables of a space are not put in order");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
