//! Changing the documents of a space: one session, one transaction a commit.
//!
//! Documents are gathered and sent some thousand chunks at a time. What begins afresh forgets what this process
//! keeps up to date and nothing of others'.
//!
//! A chunk holds of each of its terms the number and the gain: the part of BM25 that does not depend on other
//! chunks, with the average length of the space's first commit in it. How many chunks hold a term the
//! server counts in the same transaction.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tantivy::tokenizer::{TextAnalyzer, TokenStream};

use super::keys::{keys_of_links, term_id};
use super::reader::RemoteReader;
use super::schema::TERM_IDS;
use super::space::{BEGIN, Commit, Space};
use super::store_server::{Connection, values};
use crate::domain::Day;
use crate::kb::error::KbError;
use crate::kb::index::port::{
    Batch, Document, Limits, LocalStamp, NewDocument, Reader, Result, for_each_document,
};
use crate::kb::index::search_terms::gain;
use crate::kb::index::tokens;

/// How long a commit that has begun is waited for.
const COMMITTING: Duration = Duration::from_mins(10);
/// Forgetting the documents of a large folder, or reading all tables for their statistics, takes a while.
const PATIENCE: Duration = Duration::from_hours(6);
/// An index of the server takes values of 2,704 bytes at most.
const LONGEST_SOURCE: usize = 2600;
/// The number of chunks that are sent together.
const SENT: usize = 2000;
/// After more chunks than this the server analyses its tables anew.
const MANY: usize = 1000;

/// The rows that the next flush sends.
#[derive(Default)]
struct PendingRows {
    put: Vec<DocumentRows>,
    chunks: usize,
    removed: Vec<String>,
    restamped: Vec<Value>,
}

/// A document as it is sent.
struct DocumentRows {
    source: String,
    row: Value,
    chunks: Vec<(Value, ChunkTerms)>,
}

pub(super) struct RemoteBatch {
    space: Arc<Space>,
    connection: Connection,
    /// The commit that the batch goes on from.
    found: Commit,
    /// Whether the documents that this process keeps up to date are removed first.
    afresh: bool,
    /// Whether a transaction is open.
    is_open: bool,
    pending: PendingRows,
    /// The growth of documents and chunks since the last commit.
    growth: (i64, i64),
    analyzer: TextAnalyzer,
    /// The number of chunks that were put.
    put: usize,
}

impl RemoteBatch {
    /// Takes the right to write; [`KbError::Locked`] while another has it.
    pub fn begin(space: &Arc<Space>, afresh: bool, limits: Limits<'_>) -> Result<Self> {
        let mut connection = space.take("documents", limits)?;
        let made = "INSERT INTO spaces (name) SELECT $1
            WHERE NOT EXISTS (SELECT FROM spaces WHERE name = $1) ON CONFLICT DO NOTHING";
        connection.rows(made, values![space.name.clone()], limits)?;
        Ok(Self {
            found: space.refresh_by(&mut connection, limits)?,
            space: Arc::clone(space),
            connection,
            afresh,
            is_open: false,
            pending: PendingRows::default(),
            growth: (0, 0),
            analyzer: tokens::analyzer(),
            put: 0,
        })
    }

    fn reader(&self) -> RemoteReader {
        RemoteReader::new(Arc::clone(&self.space), self.found, true)
    }

    /// Sends the pending rows.
    fn flush(&mut self, limits: Limits<'_>) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        let sent = pending.put.iter().map(|document| document.source.clone());
        pending.removed.extend(sent);
        let mut limits = limits;
        if std::mem::take(&mut self.afresh) {
            limits = limits.lasting(PATIENCE);
            let own = |document: &Arc<Document>| pending.removed.push(document.source.clone());
            for_each_document(&self.reader(), limits, own)?;
        }
        if pending.removed.is_empty() && pending.restamped.is_empty() {
            return Ok(());
        }
        if !self.is_open {
            self.connection.execute(BEGIN, limits)?;
            self.is_open = true;
        }
        self.delete(pending.removed, limits)?;
        self.add(pending.put, limits)?;
        if pending.restamped.is_empty() {
            return Ok(());
        }
        let asked = "UPDATE documents d SET machine = $2, stamp = a.stamp
            FROM json_to_recordset($3::json) AS a(source text, stamp bigint[])
            WHERE d.space = $1 AND d.source = a.source";
        let machine = self.space.machine.clone();
        let values = values![self.found.space, machine, as_list(pending.restamped)];
        self.connection.rows(asked, values, limits).map(drop)
    }

    fn delete(&mut self, sources: Vec<String>, limits: Limits<'_>) -> Result<()> {
        let is_empty = self.found.generation == 0 && self.growth.0 == 0;
        if sources.is_empty() || is_empty {
            return Ok(());
        }
        let values = values![self.found.space, sources];
        let rows = self
            .connection
            .rows(include_str!("sql/delete.sql"), values, limits)?;
        if let Some(row) = rows.first() {
            self.growth.0 -= row.get::<_, i64>(0);
            self.growth.1 -= row.get::<_, i64>(1);
        }
        Ok(())
    }

    fn add(&mut self, documents: Vec<DocumentRows>, limits: Limits<'_>) -> Result<()> {
        if documents.is_empty() {
            return Ok(());
        }
        let space = self.found.space;
        let chunks = || documents.iter().flat_map(|document| &document.chunks);
        let lengths: u64 = chunks().map(|(_, terms)| u64::from(terms.length)).sum();
        let mean = lengths as f64 / (chunks().count() as f64).max(1.0);
        let average = *self.found.average.get_or_insert(mean.max(1.0));
        let mut held: BTreeMap<i32, (String, i64)> = BTreeMap::new();
        let (mut rows, mut chunk_rows) = (Vec::new(), Vec::new());
        for document in documents {
            rows.push(document.row);
            for (mut chunk, terms) in document.chunks {
                let gains = terms.gains(space, average, &mut held);
                let pairs = gains.iter().map(|(id, gain)| format!("{id}:{gain}"));
                let pairs: Vec<String> = pairs.collect();
                chunk["gains"] = json!(format!("{{{}}}/{TERM_IDS}", pairs.join(",")));
                chunk["terms"] = json!(gains.keys().collect::<Vec<_>>());
                chunk_rows.push(chunk);
            }
        }
        self.growth.0 += rows.len() as i64;
        self.growth.1 += chunk_rows.len() as i64;
        let held = held.into_iter();
        let held = held.map(|(id, (term, held))| json!({"id": id, "term": term, "held": held}));
        let held = as_list(held.collect());
        let values = values![space, as_list(rows), as_list(chunk_rows), held];
        let put = include_str!("sql/put.sql");
        self.connection.rows(put, values, limits).map(drop)
    }

    /// Makes what was sent visible.
    fn publish(&mut self, limits: Limits<'_>) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_millis() as i64);
        let changed = "UPDATE spaces SET documents = documents + $2, chunks = chunks + $3,
                average = coalesce(average, $4), generation = greatest($5, generation + 1)
            WHERE space = $1 RETURNING generation";
        let (documents, chunks) = std::mem::take(&mut self.growth);
        let values = values![self.found.space, documents, chunks, self.found.average, now];
        let rows = self.connection.rows(changed, values, limits)?;
        let gone = || KbError::Outdated("the space is gone".to_owned());
        let generation: i64 = rows.first().ok_or_else(gone)?.get(0);
        self.connection.execute("COMMIT", limits)?;
        self.is_open = false;
        self.found.generation = generation.cast_unsigned();
        let dimensions = self.space.last_commit().dimensions;
        self.space.move_on_to(Commit {
            dimensions,
            ..self.found
        });
        Ok(())
    }
}

impl Batch for RemoteBatch {
    fn previous_reader(&self) -> Option<Arc<dyn Reader>> {
        (!self.afresh).then(|| Arc::new(self.reader()) as Arc<dyn Reader>)
    }

    fn longest_source(&self) -> usize {
        LONGEST_SOURCE
    }

    fn expect(&mut self, _: usize) {}

    /// The document gives its reservation back at once: one that waits for more memory than is free would wait
    /// for ever, if others kept theirs until enough has come to be sent.
    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        let pending = &mut self.pending;
        pending.put.retain(|known| known.source != document.source);
        pending.chunks += document.chunks.len();
        self.put += document.chunks.len();
        let rows = document_rows(&mut self.analyzer, &document, &self.space.machine);
        pending.put.push(rows);
        if pending.chunks >= SENT || pending.put.len() >= SENT {
            self.flush(limits)?;
        }
        Ok(())
    }

    fn restamp(&mut self, source: &str, stamp: LocalStamp, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        let row = json!({"source": source, "stamp": numbers_of(stamp)});
        self.pending.restamped.push(row);
        if self.pending.restamped.len() >= SENT {
            self.flush(limits)?;
        }
        Ok(())
    }

    fn remove(&mut self, source: &str, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        self.pending.put.retain(|known| known.source != source);
        self.pending.removed.push(source.to_owned());
        if self.pending.removed.len() >= SENT {
            self.flush(limits)?;
        }
        Ok(())
    }

    fn commit(&mut self, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        self.flush(limits)?;
        if !self.is_open {
            return Ok(());
        }
        self.publish(Limits::without_cancel().lasting(COMMITTING))
    }

    fn finish(mut self: Box<Self>, limits: Limits<'_>) -> Result<()> {
        self.commit(limits)?;
        if self.put <= MANY {
            return Ok(());
        }
        let analysed = format!("{BEGIN} SELECT analyze_words(); COMMIT");
        match self.connection.execute(analysed, limits.lasting(PATIENCE)) {
            Err(error) if !matches!(error, KbError::Stopped | KbError::TimedOut) => {
                tracing::info!(%error, "the tables of the store are not analysed");
                Ok(())
            }
            done => done,
        }
    }
}

/// Rows as the server reads them.
fn as_list(rows: Vec<Value>) -> String {
    Value::Array(rows).to_string()
}

/// How a file looks, as the server keeps it.
fn numbers_of(local: LocalStamp) -> Vec<i64> {
    let stamp = local.stamp;
    let numbers = [stamp.size, stamp.modified, stamp.changed, stamp.inode];
    let reliable = u64::from(local.mtime_is_reliable);
    let numbers = numbers.into_iter().chain([reliable]);
    numbers.map(u64::cast_signed).collect()
}

fn document_rows(
    analyzer: &mut TextAnalyzer,
    document: &NewDocument,
    machine: &str,
) -> DocumentRows {
    let source = storable(&document.source);
    let metadata = &document.metadata;
    let tags: Vec<String> = metadata.tags.iter().map(|tag| storable(tag)).collect();
    let links = serde_json::to_string(&document.links).unwrap_or_default();
    let row = json!({
        "source": source,
        "title": storable(&document.title),
        "hash": as_bytes(&document.hash),
        "chunks": document.chunks.len(),
        "links": storable(&links),
        "link_keys": keys_of_links(&document.links),
        "day": metadata.day.map(Day::number),
        "tags": tags,
        "machine": machine,
        "stamp": numbers_of(document.stamp),
    });
    let terms = count_terms(analyzer, document);
    let chunks = document.chunks.iter().zip(terms).zip(0_u32..);
    let chunks = chunks.map(|(((key, chunk), terms), at)| {
        let place = chunk.place.as_ref();
        let place = place.and_then(|place| serde_json::to_string(place).ok());
        let row = json!({
            "source": source,
            "at": at,
            "first": chunk.lines.start,
            "last": chunk.lines.end,
            "place": place.as_deref().map(storable),
            "heading": storable(&chunk.heading),
            "body": storable(&chunk.text),
            "key": as_bytes(&key.0),
            "names": tokens::name_keys(&chunk.names),
        });
        (row, terms)
    });
    DocumentRows {
        chunks: chunks.collect(),
        source: document.source.clone(),
        row,
    }
}

/// Bytes as the server reads them.
fn as_bytes(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits: String = digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect();
    format!("\\x{digits}")
}

/// The terms of a chunk.
#[derive(Debug, Clone, PartialEq, Default)]
struct ChunkTerms {
    /// How often each term occurs.
    frequencies: HashMap<String, u32>,
    /// How many there are in all.
    length: u32,
}

/// Counts the terms of each chunk of a document.
fn count_terms(analyzer: &mut TextAnalyzer, document: &NewDocument) -> Vec<ChunkTerms> {
    let chunks = document.chunks.iter().map(|(_, chunk)| chunk);
    let language = tokens::detect(chunks.clone().map(|chunk| chunk.text.as_str()));
    let counted = chunks.map(|chunk| {
        let mut terms = ChunkTerms::default();
        for part in [&chunk.heading, &chunk.text] {
            let marked = tokens::mark(language, part);
            let mut stream = analyzer.token_stream(&marked);
            while stream.advance() {
                terms.length += 1;
                let term = stream.token().text.clone();
                *terms.frequencies.entry(term).or_default() += 1;
            }
        }
        terms
    });
    counted.collect()
}

impl ChunkTerms {
    /// The gain of each term of a chunk, by the numbers of the terms, in a space whose chunks have `average`
    /// terms. Counts in `held` that the chunk holds them.
    fn gains(
        self,
        space: i32,
        average: f64,
        held: &mut BTreeMap<i32, (String, i64)>,
    ) -> BTreeMap<i32, f32> {
        let mut frequencies: BTreeMap<i32, u32> = BTreeMap::new();
        for (term, frequency) in self.frequencies {
            let id = term_id(space, &term);
            let known = frequencies.entry(id).or_default();
            if *known == 0 {
                held.entry(id).or_insert((term, 0)).1 += 1;
            }
            *known += frequency;
        }
        let length = f64::from(self.length);
        let gain = |frequency: u32| gain(f64::from(frequency), length, average) as f32;
        let gains = frequencies.into_iter();
        gains.map(|(id, frequency)| (id, gain(frequency))).collect()
    }
}

/// The server's texts hold every character but this one.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
