//! Changing the documents of a space: one session, one transaction a commit.
//!
//! Documents are gathered and sent some thousand chunks at a time. How many chunks hold a term is
//! kept by differences, which go in with the commit; of documents that go the terms are read again
//! from their texts. What begins afresh forgets what this process keeps up to date and nothing of others'.
//!
//! A row of words holds of each term its number, how often it stands there, and its gain: the part of BM25
//! that does not depend on other chunks, with the average length of the space's first commit in it. The
//! server finds candidates by gains; what a search returns is reckoned again from frequencies and
//! the statistics of the moment, in double precision, as the embedded engine does it.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut, BytesMut};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::tokenizer::{TextAnalyzer, TokenStream};
use tokio_postgres::Client;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::keys::{keys_of_links, slips_of_term, term_id};
use super::reader::RemoteReader;
use super::schema::{self, TERM_IDS, of_space};
use super::space::{Commit, Space, WriteRight};
use super::store_server::sql::{
    BOOL_ARRAY, BYTEA, FLOAT4, INT2_ARRAY, INT4, INT4_ARRAY, INT8, INT8_ARRAY, TEXT, TEXT_ARRAY,
};
use super::store_server::{Connection, TypedValue};
use crate::kb::chunk::Chunk;
use crate::kb::error::KbError;
use crate::kb::index::port::{
    Batch, ChunkId, ChunkKey, DocumentMetadata, Limits, LocalStamp, NewDocument, Reader, Result,
};
use crate::kb::index::search_terms::gain;
use crate::kb::index::tokens;
use crate::text::{Trouble, one_line};

/// How long a commit that has begun is waited for.
const COMMITTING: Duration = Duration::from_mins(10);
/// Making the indexes of a large space takes a while.
const INDEXING: Duration = Duration::from_hours(6);
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
    /// The commit that the batch began with, and the space once its tables are made.
    found: Commit,
    /// Whether the documents that this process keeps up to date are removed first.
    afresh: bool,
    is_open: bool,
    is_touched: bool,
    pending: PendingRows,
    difference: Difference,
    analyzer: TextAnalyzer,
    average: Option<f64>,
    next_number: i64,
    /// The number of chunks that were put.
    put: usize,
}

impl RemoteBatch {
    /// Takes the right to write; [`KbError::Locked`] while another has it.
    pub fn begin(space: &Arc<Space>, afresh: bool, limits: Limits<'_>) -> Result<Self> {
        let connection = WriteRight::Documents.connection(space, limits)?;
        let mut batch = Self {
            space: Arc::clone(space),
            found: Commit::default(),
            afresh,
            is_open: false,
            is_touched: false,
            pending: PendingRows::default(),
            difference: Difference::default(),
            analyzer: tokens::analyzer(),
            average: None,
            next_number: 0,
            put: 0,
            connection,
        };
        batch.found = space.refresh_by(&mut batch.connection, limits)?;
        if let Some(number) = batch.found.space {
            let asked = "SELECT average::float8, next_number FROM spaces WHERE space = $1";
            let rows = batch.connection.rows(asked, &[(&number, INT4)], limits)?;
            if let Some(row) = rows.first() {
                (batch.average, batch.next_number) = (row.get(0), row.get(1));
            }
        }
        Ok(batch)
    }

    /// The tables to write, in an open transaction.
    fn tables(&mut self, limits: Limits<'_>) -> Result<i32> {
        if !self.is_open {
            self.connection.execute("BEGIN", limits)?;
            self.is_open = true;
        }
        if let Some(number) = self.found.space {
            return Ok(number);
        }
        let made = "INSERT INTO spaces (name) VALUES ($1) RETURNING space";
        let named = [(&self.space.name as _, TEXT)];
        let rows = self.connection.rows(made, &named, limits)?;
        let number: i32 = rows.first().map_or(0, |row| row.get(0));
        let tables = schema::make_space(number);
        self.connection.execute(&tables, limits)?;
        self.is_touched = true;
        self.found.space = Some(number);
        Ok(number)
    }

    /// Forgets what this process keeps up to date.
    fn forget_own(&mut self, limits: Limits<'_>) -> Result<()> {
        if !std::mem::take(&mut self.afresh) {
            return Ok(());
        }
        let space = self.tables(limits)?;
        self.is_touched = true;
        let reader = RemoteReader::new(Arc::clone(&self.space), self.found, true);
        let mut last: Option<String> = None;
        loop {
            // A large folder takes longer than a call may.
            let limits = limits.renewed();
            let page = reader.page(last.as_deref(), SENT, limits)?;
            let sources: Vec<&String> = page.iter().map(|one| &one.source).collect();
            self.delete(space, &sources, limits)?;
            last = sources.last().map(|source| (*source).clone());
            if page.len() < SENT {
                return Ok(());
            }
        }
    }

    /// Sends the pending rows.
    fn flush(&mut self, limits: Limits<'_>) -> Result<()> {
        self.forget_own(limits)?;
        let pending = std::mem::take(&mut self.pending);
        if pending.put.is_empty() && pending.removed.is_empty() && pending.kept.is_empty() {
            return Ok(());
        }
        let space = self.tables(limits)?;
        let put = pending.put.iter().map(|document| &document.source);
        let sources: Vec<&String> = pending.removed.iter().chain(put).collect();
        self.delete(space, &sources, limits)?;
        self.add(space, pending.put, limits)?;
        self.note_stamps(space, &pending.kept, limits)
    }

    fn delete(&mut self, space: i32, sources: &[&String], limits: Limits<'_>) -> Result<()> {
        if sources.is_empty() || (self.found.generation == 0 && self.difference.documents == 0) {
            return Ok(());
        }
        let asked = format!("SELECT number FROM documents_{space} WHERE source = ANY ($1)");
        let sources = [(&sources as _, TEXT_ARRAY)];
        let rows = self.connection.rows(&asked, &sources, limits)?;
        let numbers: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        self.is_touched = true;
        let numbers = [(&numbers as _, INT8_ARRAY)];
        let asked = of_space(include_str!("sql/texts.sql"), space);
        let rows = self.connection.rows(&asked, &numbers, limits)?;
        for document in rows.chunk_by(|a, b| a.get::<_, i64>(3) == b.get::<_, i64>(3)) {
            let chunks: Vec<(&str, &str)> = document.iter().map(|c| (c.get(0), c.get(1))).collect();
            for terms in count_terms(&mut self.analyzer, &chunks) {
                for term in terms.frequencies.into_keys() {
                    *self.difference.held.entry(term).or_default() -= 1;
                }
            }
        }
        for row in &rows {
            self.difference.chunks -= 1;
            self.difference.tokens -= i64::from(row.get::<_, i32>(2));
        }
        let gone = of_space(include_str!("sql/delete.sql"), space);
        let rows = self.connection.rows(&gone, &numbers, limits)?;
        self.difference.documents -= rows.len() as i64;
        Ok(())
    }

    fn add(&mut self, space: i32, documents: Vec<NewDocument>, limits: Limits<'_>) -> Result<()> {
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
            terms.append(&mut count_terms(&mut self.analyzer, &chunks));
        }
        let tokens: u64 = terms.iter().map(|terms| u64::from(terms.length)).sum();
        for term in terms.iter().flat_map(|terms| terms.frequencies.keys()) {
            *self.difference.held.entry(term.clone()).or_default() += 1;
        }
        let mean = tokens as f64 / (terms.len() as f64).max(1.0);
        let average = *self.average.get_or_insert(mean.max(1.0));
        self.difference.documents += documents.len() as i64;
        self.difference.chunks += terms.len() as i64;
        self.difference.tokens += tokens.cast_signed();
        self.copy_documents(space, first, &documents, limits)?;
        let numbered = (first..).zip(&documents).flat_map(|(number, document)| {
            let ids = (0_u32..).map(move |at| ChunkId::new(number as u32, at));
            ids.map(|id| id.pack().cast_signed()).zip(&document.chunks)
        });
        self.copy_chunks(space, numbered.clone(), limits)?;
        let words = numbered.map(|(id, _)| id).zip(&terms);
        self.copy_words(space, words, average, limits)?;
        let stamps = documents.into_iter();
        let stamps = stamps.map(|document| (document.source, document.stamp));
        self.note_stamps(space, &stamps.collect::<Vec<_>>(), limits)
    }

    /// Documents with numbers from `first` on.
    fn copy_documents(
        &mut self,
        space: i32,
        first: i64,
        documents: &[NewDocument],
        limits: Limits<'_>,
    ) -> Result<()> {
        let table = format!(
            "documents_{space} (number, source, title, hash, bytes, modified, chunks, links, link_keys, day,
                tags)"
        );
        let types = [
            INT8, TEXT, TEXT, BYTEA, INT8, INT8, INT4, TEXT, TEXT_ARRAY, INT4, TEXT_ARRAY,
        ];
        let rows = (first..)
            .zip(documents)
            .map(|(number, document)| -> [Value<'_>; 11] {
                let stamp = document.stamp.stamp;
                let links = serde_json::to_string(&document.links).unwrap_or_default();
                let DocumentMetadata { day, tags } = &document.metadata;
                [
                    Box::new(number),
                    Box::new(storable(&document.source)),
                    Box::new(storable(&document.title)),
                    Box::new(document.hash.as_slice()),
                    Box::new(stamp.size.cast_signed()),
                    Box::new(stamp.modified.cast_signed()),
                    Box::new(document.chunks.len() as i32),
                    Box::new(storable(&links)),
                    Box::new(keys_of_links(&document.links)),
                    Box::new(day.map(|day| day.number().cast_signed())),
                    Box::new(tags.iter().map(|tag| storable(tag)).collect::<Vec<_>>()),
                ]
            });
        self.copy(&table, &types, rows, limits)
    }

    fn copy_chunks<'a>(
        &mut self,
        space: i32,
        chunks: impl Iterator<Item = (i64, &'a (ChunkKey, Chunk))>,
        limits: Limits<'_>,
    ) -> Result<()> {
        let table =
            format!("chunks_{space} (chunk, first, last, place, heading, body, key, names)");
        let types = [INT8, INT4, INT4, TEXT, TEXT, TEXT, BYTEA, TEXT_ARRAY];
        let rows = chunks.map(|(id, (key, chunk))| -> [Value<'_>; 8] {
            let place = chunk.place.as_ref();
            let place = place.and_then(|place| serde_json::to_string(place).ok());
            [
                Box::new(id),
                Box::new(chunk.lines.start as i32),
                Box::new(chunk.lines.end as i32),
                Box::new(place.as_deref().map(storable)),
                Box::new(storable(&chunk.heading)),
                Box::new(storable(&chunk.text)),
                Box::new(key.0.as_slice()),
                Box::new(tokens::name_keys(&chunk.names)),
            ]
        });
        self.copy(&table, &types, rows, limits)
    }

    fn copy_words<'a>(
        &mut self,
        space: i32,
        words: impl Iterator<Item = (i64, &'a ChunkTerms)>,
        average: f64,
        limits: Limits<'_>,
    ) -> Result<()> {
        let table = format!("words_{space} (chunk, len, terms, freqs, gains)");
        let types = [INT8, INT4, INT4_ARRAY, INT2_ARRAY, BYTEA];
        let rows = words.map(|(id, terms)| -> [Value<'_>; 5] {
            let row = TermRow::new(terms, average);
            [
                Box::new(id),
                Box::new(terms.length.cast_signed()),
                Box::new(row.ids.clone()),
                Box::new(row.frequencies),
                Box::new(SparseGains(row.ids, row.gains)),
            ]
        });
        self.copy(&table, &types, rows, limits)
    }

    /// Adds to how many chunks hold each term.
    fn copy_terms(&mut self, space: i32, limits: Limits<'_>) -> Result<()> {
        let changed = std::mem::take(&mut self.difference.held).into_iter();
        let mut changed: Vec<(String, i64)> = changed.filter(|(_, more)| *more != 0).collect();
        if changed.is_empty() {
            return Ok(());
        }
        // In one order, so that two never wait for each other.
        changed.sort_unstable();
        let made = "CREATE TEMP TABLE IF NOT EXISTS changed_terms
            (term text COLLATE \"C\", held bigint, slips int4[]) ON COMMIT DELETE ROWS";
        self.connection.execute(made, limits)?;
        let rows = changed.iter().map(|(term, more)| -> [Value<'_>; 3] {
            [
                Box::new(term),
                Box::new(more),
                Box::new(slips_of_term(term)),
            ]
        });
        let types = [TEXT, INT8, INT4_ARRAY];
        self.copy("changed_terms (term, held, slips)", &types, rows, limits)?;
        let taken_over = of_space(include_str!("sql/terms.sql"), space);
        self.connection.execute(&taken_over, limits)
    }

    /// Adds rows in bulk to a table, which is named with its columns.
    fn copy<'a, const N: usize>(
        &mut self,
        table: &str,
        types: &[Type; N],
        rows: impl Iterator<Item = [Value<'a>; N]>,
        limits: Limits<'_>,
    ) -> Result<()> {
        let statement = format!("COPY {table} FROM STDIN (FORMAT binary)");
        self.connection.call(limits, async |client: &Client| {
            let sink = client.copy_in(&statement).await?;
            let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
            for row in rows {
                writer.as_mut().write_raw(row).await?;
            }
            writer.finish().await.map(drop)
        })
    }

    /// Notes how these documents' files look on this machine.
    fn note_stamps(
        &mut self,
        space: i32,
        stamps: &[(String, LocalStamp)],
        limits: Limits<'_>,
    ) -> Result<()> {
        if stamps.is_empty() {
            return Ok(());
        }
        self.is_touched = true;
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
        let noted = of_space(include_str!("sql/stamps.sql"), space);
        let values: [TypedValue<'_>; 7] = [
            (&self.space.machine, TEXT),
            (&sources, TEXT_ARRAY),
            (&sizes, INT8_ARRAY),
            (&modified, INT8_ARRAY),
            (&changed, INT8_ARRAY),
            (&inodes, INT8_ARRAY),
            (&reliable, BOOL_ARRAY),
        ];
        self.connection.rows(&noted, &values, limits).map(drop)
    }

    /// Writes down what differs and makes it visible.
    fn publish(&mut self, number: i32, limits: Limits<'_>) -> Result<()> {
        self.copy_terms(number, limits)?;
        let difference = std::mem::take(&mut self.difference);
        let average = self.average.map(|average| average as f32);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_millis() as i64);
        let last = self.found.generation.cast_signed();
        let values: [TypedValue<'_>; 8] = [
            (&number, INT4),
            (&difference.documents, INT8),
            (&difference.chunks, INT8),
            (&difference.tokens, INT8),
            (&average, FLOAT4),
            (&self.next_number, INT8),
            (&now, INT8),
            (&last, INT8),
        ];
        let changed = "UPDATE spaces SET documents = documents + $2, chunks = chunks + $3,
                tokens = tokens + $4, average = coalesce(average, $5), next_number = $6,
                generation = greatest($7, generation + 1, $8 + 1)
            WHERE space = $1 RETURNING generation";
        let rows = self.connection.rows(changed, &values, limits)?;
        let generation: i64 = rows.first().map_or(0, |row| row.get(0));
        self.space.announce(&mut self.connection, limits)?;
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

    /// Makes the indexes of a space that are missing, and lets the server plan anew after a large change.
    /// Only the owner of the tables may; for others all is there and found, if more slowly.
    fn put_in_order(&mut self, space: i32, limits: Limits<'_>) -> Result<()> {
        let mut missing = String::new();
        let has_indexes = schema::has_space_indexes(space);
        if !self.connection.is_true(&has_indexes, &[], limits)? {
            missing += &schema::make_space_indexes(space);
        }
        if self.put > MANY {
            missing += &schema::analyze_space(space);
        }
        if missing.is_empty() {
            return Ok(());
        }
        let patience = limits.lasting(INDEXING);
        match self.connection.execute(&missing, patience) {
            Err(error) if !matches!(error, KbError::Stopped | KbError::TimedOut) => {
                tracing::info!(%error, "the tables of a space are not put in order");
                Ok(())
            }
            done => done,
        }
    }
}

impl Batch for RemoteBatch {
    fn previous_reader(&self) -> Option<Arc<dyn Reader>> {
        let reader = || RemoteReader::new(Arc::clone(&self.space), self.found, true);
        (!self.afresh).then(|| Arc::new(reader()) as Arc<dyn Reader>)
    }

    fn expect(&mut self, _: usize) {}

    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<()> {
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

    fn restamp(&mut self, source: &str, stamp: LocalStamp, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        self.pending.kept.push((source.to_owned(), stamp));
        if self.pending.kept.len() >= SENT {
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
        let Some(number) = self.found.space.filter(|_| self.is_touched) else {
            return Ok(());
        };
        self.publish(number, Limits::without_cancel().lasting(COMMITTING))
    }

    fn finish(mut self: Box<Self>, limits: Limits<'_>) -> Result<()> {
        self.commit(limits)?;
        let Some(number) = self.found.space else {
            return Ok(());
        };
        self.put_in_order(number, limits)
    }
}

impl Drop for RemoteBatch {
    fn drop(&mut self) {
        self.connection.give_back_rights();
    }
}

/// The terms of a chunk.
#[derive(Debug, Clone, PartialEq, Default)]
struct ChunkTerms {
    /// How often each term occurs.
    frequencies: HashMap<String, u32>,
    /// How many there are in all, rounded as the embedded engine rounds it.
    length: u32,
}

/// Counts the terms of each chunk of a document; a chunk is a heading and a text.
fn count_terms(analyzer: &mut TextAnalyzer, chunks: &[(&str, &str)]) -> Vec<ChunkTerms> {
    let language = tokens::detect(chunks.iter().map(|(_, text)| *text));
    let counted = chunks.iter().map(|(heading, text)| {
        let mut terms = ChunkTerms::default();
        let mut count = 0;
        for part in [heading, text] {
            let marked = tokens::mark(language, part);
            let mut stream = analyzer.token_stream(&marked);
            while stream.advance() {
                count += 1;
                let term = stream.token().text.clone();
                *terms.frequencies.entry(term).or_default() += 1;
            }
        }
        terms.length = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(count));
        terms
    });
    counted.collect()
}

/// A chunk's row: numbers of terms in order, each once, with what goes with it.
#[derive(Debug, Clone, PartialEq, Default)]
struct TermRow {
    ids: Vec<i32>,
    frequencies: Vec<i16>,
    gains: Vec<f32>,
}

impl TermRow {
    /// Makes the row of a chunk in a space whose chunks have `average` terms.
    fn new(terms: &ChunkTerms, average: f64) -> Self {
        let mut by_id: BTreeMap<i32, u32> = BTreeMap::new();
        for (term, frequency) in &terms.frequencies {
            *by_id.entry(term_id(term)).or_default() += frequency;
        }
        let mut row = Self::default();
        for (id, frequency) in by_id {
            row.ids.push(id);
            let kept = i16::try_from(frequency).unwrap_or(i16::MAX);
            row.frequencies.push(kept);
            let gain = gain(f64::from(kept), f64::from(terms.length), average);
            row.gains.push(gain as f32);
        }
        row
    }
}

/// A value of a row.
type Value<'a> = Box<dyn ToSql + Sync + 'a>;

/// Gains as a `sparsevec`: dimensions, how many follow, nothing, indices from 0 in order, values.
#[derive(Debug)]
struct SparseGains(Vec<i32>, Vec<f32>);

impl ToSql for SparseGains {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_i32(i32::try_from(TERM_IDS)?);
        out.put_i32(i32::try_from(self.0.len())?);
        out.put_i32(0);
        self.0.iter().for_each(|id| out.put_i32(id - 1));
        self.1.iter().for_each(|gain| out.put_f32(*gain));
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The server's texts hold every character but this one.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_each_term_once_in_the_order_of_its_number() {
        let chunk = ("Kiln", "The kiln fires; PROJ-7 waits for the kiln.");
        let terms = &count_terms(&mut tokens::analyzer(), &[chunk])[0];
        assert_eq!(terms.frequencies["kiln"], 3);
        assert_eq!(terms.frequencies["proj-7"], 1);
        assert!(!terms.frequencies.contains_key("the"));
        let row = TermRow::new(terms, 5.0);
        assert!(row.ids.is_sorted_by(|a, b| a < b));
        assert_eq!(row.ids.len(), terms.frequencies.len());
        let at = row.ids.binary_search(&term_id("kiln")).unwrap();
        assert_eq!(row.frequencies[at], 3);
        // Of the best a term can gain.
        assert!(row.gains.iter().all(|gain| *gain > 0.0 && *gain < 2.2));
    }
}
