//! Reading a space: each verb one statement, which sees one commit. A query with words that the space does
//! not have takes another.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_postgres::Row;

use super::keys::{keys_of_targets, slips_of_word, term_id};
use super::schema::of_space;
use super::space::{Commit, ListedDocument, Names, Space, vector_text};
use super::store_server::sql::{
    BOOL, BYTEA_ARRAY, FLOAT8_ARRAY, INT4, INT4_ARRAY, INT8, INT8_ARRAY, TEXT, TEXT_ARRAY,
};
use super::store_server::{Connection, TypedValue};
use crate::domain::{Day, LineRange};
use crate::kb::error::KbError;
use crate::kb::index::names::{self, DocumentName};
use crate::kb::index::port::{
    ChunkId, ChunkKey, Counts, Document, DocumentFacts, DocumentMetadata, FetchOptions,
    FetchedChunk, LexicalMatches, Limits, LinksBySource, LocalStamp, MOST_NAMED, Match,
    NameMatches, NameQuery, Passage, PathContents, PendingCursor, PendingPage, Reader, Result,
    Within,
};
use crate::kb::index::quantised::Query;
use crate::kb::index::search_terms::{
    self, Bm25, MOST_LOOKED_UP, SearchTerm, beginnings, corrections, edits, gain,
};
use crate::kb::index::tokens::{self, QueryTerm, Role};
use crate::kb::links::{Link, LinkTargets};
use crate::kb::source::Stamp;

/// [`ChunkKey::WORDS_ONLY`] as the server writes it.
const WORDS_ONLY: &str = "decode(repeat('00', 16), 'hex')";
/// The sum of products of the first value with the vector of `v`, times the scale of `v`.
const PRODUCTS: &str = "-(v.v::vector <#> $1::text::vector) * v.scale";
/// Words of a query that may be looked up: which of them are unknown, the server tells.
const MOST_WITH_SLIPS: usize = 8 * MOST_LOOKED_UP;

/// The space as it is at the moment of each call.
pub(super) struct RemoteReader {
    space: Arc<Space>,
    /// What it was made for. A space that was made anew meanwhile has other tables.
    commit: Mutex<Commit>,
    generation: u64,
    /// Whether it lists only what this process keeps up to date.
    own_only: bool,
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
    fn commit(&self) -> Commit {
        *self.commit.lock()
    }

    /// Asks the tables of the space, which a statement calls `…_{space}`, and those of its model,
    /// `…_{model}`; no rows where there are none. Where these were replaced, it asks the new ones, and
    /// where the connection broke before, a new one.
    fn rows(
        &self,
        statement: &str,
        values: &[TypedValue<'_>],
        limits: Limits<'_>,
    ) -> Result<Vec<Row>> {
        limits.check()?;
        if fill(statement, self.commit()).is_none() {
            return Ok(Vec::new());
        }
        let space = &self.space;
        let mut connection = space.server.connection(space.reading(), limits)?;
        let ask = |connection: &mut Connection| match fill(statement, self.commit()) {
            Some(filled) => connection.rows(&filled, values, limits),
            None => Ok(Vec::new()),
        };
        match ask(&mut connection) {
            Err(KbError::Outdated(_)) => {
                let now = space.refresh_by(&mut connection, limits)?;
                *self.commit.lock() = now;
            }
            Err(KbError::Store(_)) if connection.is_broken() => {
                connection = space.server.connection(space.reading(), limits)?;
            }
            other => return other,
        }
        ask(&mut connection)
    }

    /// Names and metadata of all documents.
    fn names(&self, limits: Limits<'_>) -> Result<Arc<Names>> {
        self.space.names(self.commit(), || {
            let asked =
                "SELECT source, title, modified, day, tags FROM documents_{space} ORDER BY source";
            let rows = self.rows(asked, &[], limits)?;
            let listed = rows.iter().map(|row| ListedDocument {
                source: row.get(0),
                title: row.get(1),
                modified: row.get::<_, i64>(2).cast_unsigned(),
                metadata: metadata(row),
            });
            Ok(listed.collect())
        })
    }

    /// The condition that a chunk `c` still needs a vector.
    fn needs_vector(&self) -> String {
        let has_one = match self.commit().model {
            Some(_) => " AND NOT EXISTS (SELECT FROM vectors_{model} v WHERE v.key = c.key)",
            None => "",
        };
        format!("c.key <> {WORDS_ONLY}{has_one}")
    }
}

/// A statement with the names of the tables; `None` where there are none.
fn fill(statement: &str, commit: Commit) -> Option<String> {
    let mut filled = of_space(statement, commit.space?);
    if statement.contains("{model}") {
        filled = filled.replace("{model}", &commit.model?.number.to_string());
    }
    Some(filled)
}

impl Reader for RemoteReader {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn counts(&self, limits: Limits<'_>) -> Result<Counts> {
        let asked = format!(
            "SELECT documents, chunks, (SELECT count(*) FROM chunks_{{space}} WHERE key = {WORDS_ONLY})
            FROM spaces WHERE space = {{space}}"
        );
        let rows = self.rows(&asked, &[], limits)?;
        let counts = rows.first().map(|row| Counts {
            documents: row.get::<_, i64>(0) as usize,
            chunks: row.get::<_, i64>(1) as usize,
            words_only: row.get::<_, i64>(2) as usize,
        });
        Ok(counts.unwrap_or_default())
    }

    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Arc<Document>>> {
        let labels = &self.space.labels;
        let begins: Vec<String> = labels.iter().map(|label| format!("{label}/")).collect();
        // `0` comes right behind `/`.
        let ends: Vec<String> = labels.iter().map(|label| format!("{label}0")).collect();
        let values: [TypedValue<'_>; 7] = [
            (&after.unwrap_or_default(), TEXT),
            (&(limit as i64), INT8),
            (&self.space.machine, TEXT),
            (&self.own_only, BOOL),
            (labels, TEXT_ARRAY),
            (&begins, TEXT_ARRAY),
            (&ends, TEXT_ARRAY),
        ];
        let rows = self.rows(include_str!("sql/page.sql"), &values, limits)?;
        Ok(rows.iter().map(document).collect())
    }

    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>> {
        let values = [(&paths as _, TEXT_ARRAY), (&self.space.machine as _, TEXT)];
        let rows = self.rows(include_str!("sql/look_up.sql"), &values, limits)?;
        let found = rows.iter().map(|row| PathContents {
            document: row.get::<_, bool>(13).then(|| document(row)),
            is_folder: row.get(14),
        });
        let mut contents: Vec<PathContents> = found.collect();
        contents.resize(paths.len(), PathContents::default());
        Ok(contents)
    }

    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches> {
        if let NameQuery::Under(folder) = query
            && !folder.is_empty()
        {
            let asked = "SELECT source FROM documents_{space} WHERE source = $1
                OR (source >= $1 || '/' AND source < $1 || '0') ORDER BY source";
            let rows = self.rows(asked, &[(folder, TEXT)], limits)?;
            return Ok(NameMatches {
                distance: 0,
                sources: rows.iter().map(|row| row.get(0)).collect(),
            });
        }
        limits.check()?;
        let names = self.names(limits)?;
        let names = names.iter().map(|listed| DocumentName {
            source: &listed.source,
            title: &listed.title,
        });
        names::matches(&names.collect::<Vec<_>>(), query)
    }

    fn documents_that(
        &self,
        is_wanted: &mut dyn FnMut(&DocumentFacts<'_>) -> bool,
        limits: Limits<'_>,
    ) -> Result<Vec<String>> {
        limits.check()?;
        let names = self.names(limits)?;
        let wanted = names.iter().filter(|listed| {
            is_wanted(&DocumentFacts::new(
                &listed.source,
                listed.modified,
                &listed.metadata,
            ))
        });
        Ok(wanted.map(|listed| listed.source.clone()).collect())
    }

    fn chunks_with(&self, terms: &[&str], within: Within<'_>) -> Result<Vec<ChunkId>> {
        let ids: Vec<i32> = terms.iter().map(|term| term_id(term)).collect();
        let sources: Option<Vec<&String>> = within.documents.map(|these| these.iter().collect());
        let values: [TypedValue<'_>; 2] = [(&ids, INT4_ARRAY), (&sources, TEXT_ARRAY)];
        let asked = include_str!("sql/chunks_with.sql");
        let rows = self.rows(asked, &values, within.limits())?;
        Ok(rows.iter().map(|row| chunk_id(row, 0)).collect())
    }

    fn links_of(&self, sources: &[&str], limits: Limits<'_>) -> Result<LinksBySource> {
        let asked =
            "SELECT source, links FROM documents_{space} WHERE source = ANY ($1) ORDER BY source";
        let rows = self.rows(asked, &[(&sources, TEXT_ARRAY)], limits)?;
        Ok(rows.iter().map(links).collect())
    }

    fn links_to(&self, targets: &LinkTargets, limits: Limits<'_>) -> Result<LinksBySource> {
        let keys = keys_of_targets(targets);
        let asked =
            "SELECT source, links FROM documents_{space} WHERE link_keys && $1 ORDER BY source";
        let rows = self.rows(asked, &[(&keys, TEXT_ARRAY)], limits)?;
        let mut found: LinksBySource = rows.iter().map(links).collect();
        for (_, links) in &mut found {
            links.retain(|link| targets.are_meant_by(link));
        }
        found.retain(|(_, links)| !links.is_empty());
        Ok(found)
    }

    fn openings(
        &self,
        sources: &[&str],
        passages: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Passage>> {
        let amount = passages as i64;
        let values = [(&sources as _, TEXT_ARRAY), (&amount as _, INT8)];
        let rows = self.rows(include_str!("sql/openings.sql"), &values, limits)?;
        Ok(rows.iter().map(passage).collect())
    }

    fn lexical(
        &self,
        query: &str,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches> {
        let asked = tokens::terms(query);
        if k == 0 || asked.is_empty() {
            within.go_on()?;
            return Ok(LexicalMatches::default());
        }
        let first = LexicalArguments::from_query(&asked);
        let mut found = self.call_lexical(&first, name, k, within)?;
        let doc_freq = |term: &str| Ok(found.doc_freq.get(term).copied().unwrap_or(0));
        let terms = search_terms::search_terms(asked, doc_freq, |_| Ok(found.near.clone()))?;
        if terms.iter().any(|word| word.is_corrected) {
            let again = LexicalArguments::from_search_terms(&terms);
            found = self.call_lexical(&again, name, k, within)?;
        }
        let scored = found.rows.iter().map(|row| Match {
            score: score(found.bm25, &terms, row),
            ..named_match(row)
        });
        let matches = Match::best(scored.filter(|found| found.score > 0.0), k);
        Ok(LexicalMatches {
            corrections: corrections(&terms, &matches, self, within.limits())?,
            named: found.named.iter().map(named_match).collect(),
            full: Some(found.bm25.full_match(&terms)),
            matches,
        })
    }

    fn semantic(&self, vector: &[f32], k: usize, within: Within<'_>) -> Result<Vec<Match>> {
        let limits = within.limits();
        let Some(query) = Query::new(vector, vector.len()) else {
            return Ok(Vec::new());
        };
        limits.check()?;
        let model = self.commit().model;
        model.map_or(Ok(()), |model| model.check(vector))?;
        let text = vector_text(query.values().iter().copied());
        let sources: Option<Vec<&String>> = within.documents.map(|these| these.iter().collect());
        let (only, without) = chunk_arrays(within);
        let k = k as i64;
        let mut values: Vec<TypedValue<'_>> =
            vec![(&text, TEXT), (&k, INT8), (&without, INT8_ARRAY)];
        let statement = if only.is_some() {
            values.extend([(&only as _, INT8_ARRAY), (&sources as _, TEXT_ARRAY)]);
            include_str!("sql/nearest_of_chunks.sql")
        } else if sources.is_some() {
            values.push((&sources, TEXT_ARRAY));
            include_str!("sql/nearest_of_documents.sql")
        } else {
            include_str!("sql/nearest_of_all.sql")
        };
        let rows = self.rows(statement, &values, limits)?;
        let matches = rows.iter().map(|row| Match {
            chunk: chunk_id(row, 0),
            source: row.get(1),
            lines: lines(row, 2),
            score: query.cosine_of(row.get(4)).into(),
        });
        Ok(Match::best(matches, k as usize))
    }

    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: FetchOptions<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<FetchedChunk>>> {
        let ids: Vec<i64> = chunks.iter().map(|id| id.pack().cast_signed()).collect();
        let mut query = None;
        if let (Some(vector), Some(model)) = (wanted.cosine_with, self.commit().model) {
            model.check(vector)?;
            query = Query::new(vector, vector.len());
        }
        let text = query.as_ref();
        let text = text.map(|query| vector_text(query.values().iter().copied()));
        let (products, vectors) = match text {
            Some(_) => (PRODUCTS, "LEFT JOIN vectors_{model} v ON v.key = c.key"),
            None => ("NULL::float8", ""),
        };
        let statement = format!(
            "SELECT c.chunk, d.source, c.first, c.last, CASE WHEN $3 THEN c.place END,
                CASE WHEN $3 THEN c.heading END, CASE WHEN $3 THEN c.body END, {products}
            FROM unnest($2) AS a(chunk) JOIN chunks_{{space}} c USING (chunk)
            JOIN documents_{{space}} d ON d.number = c.chunk >> 32 {vectors}"
        );
        let values: [TypedValue<'_>; 3] =
            [(&text, TEXT), (&ids, INT8_ARRAY), (&wanted.passages, BOOL)];
        let rows = self.rows(&statement, &values, limits)?;
        let known = rows.iter().map(|row| (chunk_id(row, 0), row));
        let known: HashMap<ChunkId, &Row> = known.collect();
        let fetched = chunks.iter().map(|id| {
            let row = known.get(id)?;
            let cosine = query.as_ref().zip(row.get(7));
            Some(FetchedChunk {
                passage: wanted.passages.then(|| passage(row)),
                cosine: cosine.map(|(query, products)| query.cosine_of(products).into()),
            })
        });
        Ok(fetched.collect())
    }

    fn vectors(&self, keys: &[ChunkKey], limits: Limits<'_>) -> Result<Vec<Option<Vec<f32>>>> {
        let asked: Vec<&[u8]> = keys.iter().map(|key| key.0.as_slice()).collect();
        let rows = self.rows(
            include_str!("sql/vectors.sql"),
            &[(&asked, BYTEA_ARRAY)],
            limits,
        )?;
        let found = rows.iter().map(|row| {
            let (numbers, scale): (Option<Vec<f32>>, Option<f32>) = (row.get(0), row.get(1));
            let (numbers, scale) = numbers.zip(scale)?;
            Some(numbers.iter().map(|number| number * scale).collect())
        });
        let mut vectors: Vec<Option<Vec<f32>>> = found.collect();
        vectors.resize(keys.len(), None);
        Ok(vectors)
    }

    /// The cursor is the last chunk of the page before. Of chunks that say the same the first counts.
    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage> {
        let statement = format!(
            "SELECT c.chunk, c.key FROM chunks_{{space}} c WHERE c.chunk > $1 AND {}
            AND NOT EXISTS (SELECT FROM chunks_{{space}} e WHERE e.key = c.key AND e.chunk < c.chunk)
            ORDER BY c.chunk LIMIT $2",
            self.needs_vector()
        );
        let after = after.map_or(-1, |PendingCursor(last)| last.cast_signed());
        let asked = limit as i64 + 1;
        let values = [(&after as _, INT8), (&asked as _, INT8)];
        let rows = self.rows(&statement, &values, limits)?;
        let chunks = rows.iter().take(limit).map(|row| {
            let key: &[u8] = row.get(1);
            (
                chunk_id(row, 0),
                ChunkKey(key.try_into().unwrap_or_default()),
            )
        });
        let chunks: Vec<(ChunkId, ChunkKey)> = chunks.collect();
        let last = chunks.last().filter(|_| rows.len() > limit);
        let next = last.map(|(id, _)| PendingCursor(id.pack()));
        Ok(PendingPage { chunks, next })
    }

    fn pending_count(&self, limits: Limits<'_>) -> Result<usize> {
        let commit = self.commit();
        if self.space.is_complete(commit) {
            return limits.check().map(|()| 0);
        }
        let statement = format!(
            "SELECT count(DISTINCT c.key) FROM chunks_{{space}} c WHERE {}",
            self.needs_vector()
        );
        let rows = self.rows(&statement, &[], limits)?;
        let count = rows.first().map_or(0, |row| row.get::<_, i64>(0)) as usize;
        // A commit that came meanwhile brought more; it is not this one.
        if count == 0 && commit.space.is_some() && self.space.last_commit() == commit {
            self.space.note_complete(Some(commit));
        }
        Ok(count)
    }
}

impl RemoteReader {
    fn call_lexical(
        &self,
        asked: &LexicalArguments,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalAnswer> {
        let ids: Vec<i32> = asked.terms.iter().map(|term| term_id(term)).collect();
        let sources: Option<Vec<&String>> = within.documents.map(|these| these.iter().collect());
        let (only, without) = chunk_arrays(within);
        let values: [TypedValue<'_>; 13] = [
            (&asked.terms, TEXT_ARRAY),
            (&ids, INT4_ARRAY),
            (&asked.weights, FLOAT8_ARRAY),
            (&asked.slip_of, INT4_ARRAY),
            (&asked.slips, INT4_ARRAY),
            (&asked.begin_of, INT4_ARRAY),
            (&asked.begins, TEXT_ARRAY),
            (&(k as i32), INT4),
            (&name, TEXT),
            (&sources, TEXT_ARRAY),
            (&(MOST_NAMED as i64), INT8),
            (&only, INT8_ARRAY),
            (&without, INT8_ARRAY),
        ];
        let mut found = LexicalAnswer::default();
        for row in self.rows(include_str!("sql/search.sql"), &values, within.limits())? {
            found.take(row, &asked.terms);
        }
        Ok(found)
    }
}

/// The arguments of the server's function.
#[derive(Debug, Default)]
struct LexicalArguments {
    terms: Vec<String>,
    weights: Vec<f64>,
    slip_of: Vec<i32>,
    slips: Vec<i32>,
    begin_of: Vec<i32>,
    begins: Vec<String>,
}

impl LexicalArguments {
    /// Takes the terms of a query, with the keys that find terms that may replace them.
    fn from_query(terms: &[QueryTerm]) -> Self {
        let mut asked = Self::default();
        let mut with_slips = 0;
        for term in terms {
            asked.terms.push(term.text.clone());
            let at = asked.terms.len() as i32;
            asked.terms.extend(term.others.iter().cloned());
            asked.weights.resize(asked.terms.len(), 1.0);
            let may_be_looked_up = term.role == Role::Word && with_slips < MOST_WITH_SLIPS;
            let Some(edits) = edits(&term.text).filter(|_| may_be_looked_up) else {
                continue;
            };
            with_slips += 1;
            asked.slips.extend(slips_of_word(&term.text, edits));
            asked.slip_of.resize(asked.slips.len(), at);
            asked.begins.extend(beginnings(&term.text));
            asked.begin_of.resize(asked.begins.len(), at);
        }
        asked
    }

    /// Takes the terms that were chosen for the words of the query.
    fn from_search_terms(terms: &[SearchTerm]) -> Self {
        let terms = terms.iter().flat_map(|word| &word.terms);
        let (terms, weights) = terms.map(|term| (term.text.clone(), term.weight)).unzip();
        Self {
            terms,
            weights,
            ..Self::default()
        }
    }
}

/// The answer of the server's function.
#[derive(Debug, Default)]
struct LexicalAnswer {
    bm25: Bm25,
    /// How many chunks hold each term that was asked for, or that may stand for one.
    doc_freq: HashMap<String, u64>,
    /// Terms that may stand for one that is not there.
    near: Vec<(String, u64)>,
    /// Chunks that have some of the terms.
    rows: Vec<Row>,
    /// Chunks with the name that was asked for.
    named: Vec<Row>,
}

impl LexicalAnswer {
    fn take(&mut self, row: Row, asked: &[String]) {
        let held = || row.get::<_, Option<i64>>(10).unwrap_or(0).cast_unsigned();
        match row.get::<_, i32>(0) {
            0 => {
                self.bm25 = Bm25 {
                    chunks: row.get::<_, i64>(1).cast_unsigned(),
                    tokens: held(),
                };
            }
            1 => {
                let word: i32 = row.get(8);
                if let Some(term) = asked.get(word as usize - 1) {
                    self.doc_freq.insert(term.clone(), held());
                }
            }
            2 => {
                let term: String = row.get(9);
                self.doc_freq.insert(term.clone(), held());
                self.near.push((term, held()));
            }
            4 => self.named.push(row),
            _ => self.rows.push(row),
        }
    }
}

/// The score of a chunk that has some of the terms, as the embedded engine reckons it.
fn score(bm25: Bm25, terms: &[SearchTerm], row: &Row) -> f64 {
    let (ids, frequencies): (Vec<i32>, Vec<i16>) = (row.get(5), row.get(6));
    let (length, average) = (f64::from(row.get::<_, i32>(7)), bm25.average());
    let of_word = |word: &SearchTerm| {
        let scores = word.terms.iter().filter_map(|term| {
            let at = ids.binary_search(&term_id(&term.text)).ok()?;
            let gain = gain(f64::from(*frequencies.get(at)?), length, average);
            Some(term.weight * bm25.idf(term.doc_freq) * gain)
        });
        scores.fold(0.0, f64::max)
    };
    terms.iter().map(of_word).sum()
}

/// The chunks that a search is limited to, and those that it passes over.
fn chunk_arrays(within: Within<'_>) -> (Option<Vec<i64>>, Vec<i64>) {
    let packed = |ids: &HashSet<ChunkId>| -> Vec<i64> {
        ids.iter().map(|id| id.pack().cast_signed()).collect()
    };
    let Some(filter) = within.chunks else {
        return (None, Vec::new());
    };
    (filter.only.as_ref().map(packed), packed(&filter.without))
}

/// What a document says of itself, in the columns `day` and `tags`.
fn metadata(row: &Row) -> DocumentMetadata {
    let day: Option<i32> = row.get("day");
    DocumentMetadata {
        day: day.map(|day| Day::from_number(day.unsigned_abs())),
        tags: row.get("tags"),
    }
}

/// A chunk of the answer of the server's function, without a score.
fn named_match(row: &Row) -> Match {
    Match {
        chunk: chunk_id(row, 1),
        source: row.get(2),
        lines: lines(row, 3),
        score: 0.0,
    }
}

fn document(row: &Row) -> Arc<Document> {
    let hash: &[u8] = row.get(2);
    let number = |at: usize| row.get::<_, i64>(at).cast_unsigned();
    let is_stamped = row.get::<_, Option<i64>>(6).is_some();
    Arc::new(Document {
        source: row.get(0),
        title: row.get(1),
        hash: hash.try_into().unwrap_or_default(),
        bytes: number(3),
        modified: number(4),
        chunks: row.get::<_, i32>(5) as usize,
        metadata: metadata(row),
        stamp: is_stamped.then(|| LocalStamp {
            stamp: Stamp {
                size: number(6),
                modified: number(7),
                changed: number(8),
                inode: number(9),
            },
            mtime_is_reliable: row.get(10),
        }),
    })
}

/// A document's source and references.
fn links(row: &Row) -> (String, Vec<Link>) {
    let links = serde_json::from_str(row.get(1));
    (row.get(0), links.unwrap_or_default())
}

/// Reads a passage from the columns chunk, source, first, last, place, heading, body.
fn passage(row: &Row) -> Passage {
    let place: Option<&str> = row.get(4);
    Passage {
        source: row.get(1),
        lines: lines(row, 2),
        place: place.and_then(|place| serde_json::from_str(place).ok()),
        heading: row.get(5),
        text: row.get(6),
    }
}

/// The range from the first line to the last, in two columns.
fn lines(row: &Row, at: usize) -> LineRange {
    let (first, last): (i32, i32) = (row.get(at), row.get(at + 1));
    LineRange {
        start: first.max(1) as usize,
        end: last.max(first).max(1) as usize,
    }
}

fn chunk_id(row: &Row, at: usize) -> ChunkId {
    ChunkId::unpack(row.get::<_, i64>(at).cast_unsigned())
}
