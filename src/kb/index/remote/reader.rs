//! Reading a space: each verb one statement, which sees one commit. A query with words that the space does
//! not have takes others.

use std::collections::HashMap;
use std::iter;
use std::sync::Arc;

use tokio_postgres::Row;

use super::keys::{keys_of_targets, term_id};
use super::schema::TERM_IDS;
use super::space::{Commit, Documents, Space};
use super::store_server::{Value, values};
use super::vectors::{check_dimensions, vector_text};
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
    Bm25, MOST_LOOKED_UP, beginnings, corrections, edits, search_terms,
};
use crate::kb::index::tokens::{self, QueryTerm, Role};
use crate::kb::links::{Link, LinkTargets};
use crate::kb::source::Stamp;

/// [`ChunkKey::WORDS_ONLY`] as the server writes it.
const WORDS_ONLY: &str = "decode(repeat('00', 16), 'hex')";
/// A chunk `c` that has no vector of the model $2 yet, though it gets one.
const NEEDS_VECTOR: &str = "NOT EXISTS (SELECT FROM vectors v WHERE v.model = $2 AND v.key = c.key)
    AND c.key <> decode(repeat('00', 16), 'hex')";
/// The columns of a document that [`document`] reads; $2 is the machine.
const DOCUMENT: &str =
    "d.source, d.title, d.hash, d.chunks, d.stamp, d.machine = $2, d.day, d.tags";
/// Chunks that are scored at first; where these are too few, [`MOST_CANDIDATES`] or one in [`CANDIDATES`].
const FIRST_CANDIDATES: i64 = 2000;
const MOST_CANDIDATES: i64 = 20_000;
const CANDIDATES: i64 = 12;

/// The space as it is at the moment of each call.
pub(super) struct RemoteReader {
    space: Arc<Space>,
    /// What it was made for.
    commit: Commit,
    /// Whether it lists only what this process keeps up to date.
    own_only: bool,
}

impl RemoteReader {
    /// Makes a reader for a commit.
    pub fn new(space: Arc<Space>, commit: Commit, own_only: bool) -> Self {
        Self {
            space,
            commit,
            own_only,
        }
    }

    /// Asks the server; where the connection broke before, over a new one.
    fn rows(&self, statement: &str, values: Vec<Value>, limits: Limits<'_>) -> Result<Vec<Row>> {
        let values = Arc::new(values);
        let mut connection = self.space.reading(limits)?;
        match connection.rows(statement, Arc::clone(&values), limits) {
            Err(KbError::Store(_)) if connection.is_broken() => {
                let mut connection = self.space.reading(limits)?;
                connection.rows(statement, values, limits)
            }
            answer => answer,
        }
    }

    /// Whether this process keeps a document up to date.
    fn is_own(&self, source: &str) -> bool {
        let mut labels = self.space.labels.iter();
        labels.any(|label| {
            let rest = source.strip_prefix(label.as_str());
            rest.is_some_and(|rest| label.is_empty() || rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// All documents in the order of their names; asked for once a commit.
    fn documents(&self, limits: Limits<'_>) -> Result<Arc<Documents>> {
        limits.check()?;
        let mut known = self.space.documents.lock();
        if let Some((of, documents)) = known.as_ref()
            && (of.space, of.generation) == (self.commit.space, self.commit.generation)
        {
            return Ok(Arc::clone(documents));
        }
        let asked =
            format!("SELECT {DOCUMENT} FROM documents d WHERE d.space = $1 ORDER BY d.source");
        let values = values![self.commit.space, self.space.machine.clone()];
        let rows = self.rows(&asked, values, limits)?;
        let documents: Arc<Documents> = Arc::new(rows.iter().filter_map(document).collect());
        *known = Some((self.commit, Arc::clone(&documents)));
        Ok(documents)
    }

    /// The best chunks for weighted terms, among those that hold the rarest of them.
    fn score(
        &self,
        terms: &[(String, f64)],
        k: usize,
        candidates: i64,
        within: Within<'_>,
    ) -> Result<ScoredChunks> {
        let space = self.commit.space;
        let ids: Vec<i32> = terms.iter().map(|(term, _)| term_id(space, term)).collect();
        let weights: Vec<f64> = terms.iter().map(|(_, weight)| *weight).collect();
        // What scores like the last comes along, so that equals are cut in an order of our own.
        let mut values = values![space, ids, weights, candidates, k as i64 + 16];
        values.extend(filter_values(within));
        let asked = include_str!("sql/search.sql")
            .replace("{filter}", &filter(6))
            .replace("{term_ids}", &TERM_IDS.to_string());
        let rows = self.rows(&asked, values, within.limits())?;
        let Some(first) = rows.first() else {
            return Ok(ScoredChunks::default());
        };
        let held: Vec<i64> = first.get::<_, Option<_>>(6).unwrap_or_default();
        let held = held.into_iter().map(i64::cast_unsigned);
        let are_found = rows
            .iter()
            .filter(|row| row.get::<_, Option<i64>>(0).is_some());
        Ok(ScoredChunks {
            chunks: first.get::<_, Option<i64>>(5).unwrap_or(0),
            held: terms
                .iter()
                .map(|(term, _)| term.clone())
                .zip(held)
                .collect(),
            rest: first.get::<_, Option<f64>>(7).unwrap_or(0.0),
            matches: Match::best(are_found.map(|row| scored_match(row, row.get(4))), k),
        })
    }

    /// Terms that may stand for words that the space does not have, with the number of chunks that hold each.
    fn near_terms(&self, unknown: &[&QueryTerm], limits: Limits<'_>) -> Result<Vec<(String, u64)>> {
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        let space = self.commit.space;
        let words = unknown.iter().map(|word| word.text.as_str());
        let initials = words.clone().map(|word| word.chars().take(1).collect());
        let letters = words.clone().map(|word| word.chars().count() as i32);
        let beginnings = words.flat_map(beginnings);
        let beginnings = beginnings.map(|beginning| term_id(space, &beginning));
        let values = values![
            space,
            initials.collect::<Vec<String>>(),
            letters.collect::<Vec<i32>>(),
            beginnings.collect::<Vec<i32>>(),
        ];
        let rows = self.rows(include_str!("sql/near_terms.sql"), values, limits)?;
        let near = rows.iter();
        Ok(near
            .map(|row| (row.get(0), row.get::<_, i64>(1).cast_unsigned()))
            .collect())
    }

    /// Chunks with a name.
    fn find_named(&self, name: &str, within: Within<'_>) -> Result<Vec<Match>> {
        let asked = format!(
            "SELECT c.chunk, d.source, c.first, c.last FROM chunks c
            JOIN documents d ON d.number = c.chunk >> 32
            WHERE c.space = $1 AND c.names @> ARRAY[$2] AND {}
            ORDER BY d.source, c.chunk LIMIT $3",
            filter(4)
        );
        let mut values = values![self.commit.space, name.to_owned(), MOST_NAMED as i64];
        values.extend(filter_values(within));
        let rows = self.rows(&asked, values, within.limits())?;
        Ok(rows.iter().map(|row| scored_match(row, 0.0)).collect())
    }
}

/// The answer to a search for terms.
#[derive(Debug, Default)]
struct ScoredChunks {
    /// The number of chunks of the space.
    chunks: i64,
    /// How many chunks hold each term.
    held: HashMap<String, u64>,
    /// What terms that find nothing by themselves could add to a score at most.
    rest: f64,
    matches: Vec<Match>,
}

impl Reader for RemoteReader {
    fn generation(&self) -> u64 {
        self.commit.generation
    }

    fn counts(&self, limits: Limits<'_>) -> Result<Counts> {
        let asked = format!(
            "SELECT documents, chunks,
                (SELECT count(*) FROM chunks WHERE space = $1 AND key = {WORDS_ONLY})
            FROM spaces WHERE space = $1"
        );
        let rows = self.rows(&asked, values![self.commit.space], limits)?;
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
        let documents = self.documents(limits)?;
        let after = after.unwrap_or_default();
        let first = documents.partition_point(|document| document.source.as_str() <= after);
        let is_listed = |document: &&Arc<Document>| !self.own_only || self.is_own(&document.source);
        let listed = documents[first..].iter().filter(is_listed);
        Ok(listed.take(limit).cloned().collect())
    }

    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>> {
        let asked = format!(
            "SELECT {DOCUMENT}, EXISTS (SELECT FROM documents f WHERE f.space = $1
                AND f.source >= p.path || '/' AND f.source < p.path || '0')
            FROM unnest($3) WITH ORDINALITY AS p(path, at)
            LEFT JOIN documents d ON d.space = $1 AND d.source = p.path ORDER BY p.at"
        );
        let machine = self.space.machine.clone();
        let values = values![self.commit.space, machine, owned(paths)];
        let rows = self.rows(&asked, values, limits)?;
        let found = rows.iter().map(|row| PathContents {
            document: document(row),
            is_folder: row.get(8),
        });
        Ok(found.collect())
    }

    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches> {
        let documents = self.documents(limits)?;
        let names = documents.iter().map(|document| DocumentName {
            source: &document.source,
            title: &document.title,
        });
        names::matches(&names.collect::<Vec<_>>(), query)
    }

    fn documents_that(
        &self,
        is_wanted: &mut dyn FnMut(&DocumentFacts<'_>) -> bool,
        limits: Limits<'_>,
    ) -> Result<Vec<String>> {
        let documents = self.documents(limits)?;
        let wanted = documents
            .iter()
            .filter(|document| is_wanted(&document.facts()));
        Ok(wanted.map(|document| document.source.clone()).collect())
    }

    fn chunks_with(&self, terms: &[&str], within: Within<'_>) -> Result<Vec<ChunkId>> {
        let space = self.commit.space;
        let ids: Vec<i32> = terms.iter().map(|term| term_id(space, term)).collect();
        let asked = format!(
            "SELECT c.chunk FROM chunks c WHERE c.space = $1 AND c.terms @> $2 AND {}",
            filter(3)
        );
        let mut values = values![space, ids];
        values.extend(filter_values(within));
        let rows = self.rows(&asked, values, within.limits())?;
        Ok(rows.iter().map(|row| chunk_id(row, 0)).collect())
    }

    fn links_of(&self, sources: &[&str], limits: Limits<'_>) -> Result<LinksBySource> {
        let asked = "SELECT source, links FROM documents WHERE space = $1 AND source = ANY ($2)
            ORDER BY source";
        let rows = self.rows(asked, values![self.commit.space, owned(sources)], limits)?;
        Ok(rows.iter().map(links).collect())
    }

    fn links_to(&self, targets: &LinkTargets, limits: Limits<'_>) -> Result<LinksBySource> {
        let asked = "SELECT source, links FROM documents WHERE space = $1 AND link_keys && $2
            ORDER BY source";
        let values = values![self.commit.space, keys_of_targets(targets)];
        let rows = self.rows(asked, values, limits)?;
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
        let asked = "SELECT c.chunk, d.source, c.first, c.last, c.place, c.heading, c.body
            FROM unnest($2) WITH ORDINALITY AS a(source, at)
            JOIN documents d ON d.space = $1 AND d.source = a.source
            JOIN chunks c ON c.space = $1
                AND c.chunk >= d.number << 32 AND c.chunk < (d.number << 32) + $3
            ORDER BY a.at, c.chunk";
        let values = values![self.commit.space, owned(sources), passages as i64];
        let rows = self.rows(asked, values, limits)?;
        Ok(rows.iter().map(passage).collect())
    }

    fn lexical(
        &self,
        query: &str,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches> {
        within.go_on()?;
        let asked = tokens::terms(query);
        if k == 0 || asked.is_empty() {
            return Ok(LexicalMatches::default());
        }
        let texts = asked
            .iter()
            .flat_map(|word| iter::once(&word.text).chain(&word.others));
        let mut words: Vec<(String, f64)> = texts.map(|text| (text.clone(), 1.0)).collect();
        let mut found = self.score(&words, k, FIRST_CANDIDATES, within)?;
        let is_held = |text: &String| found.held.get(text).is_some_and(|held| *held > 0);
        let unknown = asked.iter().filter(|word| {
            let is_known = iter::once(&word.text).chain(&word.others).any(is_held);
            !is_known && word.role == Role::Word && edits(&word.text).is_some()
        });
        let unknown: Vec<&QueryTerm> = unknown.take(MOST_LOOKED_UP).collect();
        let near = self.near_terms(&unknown, within.limits())?;
        found.held.extend(near.iter().cloned());
        let doc_freq = |term: &str| Ok(found.held.get(term).copied().unwrap_or(0));
        let terms = search_terms(asked, doc_freq, |_| Ok(near.clone()))?;
        if terms.iter().any(|word| word.is_corrected) {
            let chosen = terms.iter().flat_map(|word| &word.terms);
            words = chosen
                .map(|term| (term.text.clone(), term.weight))
                .collect();
            found = self.score(&words, k, FIRST_CANDIDATES, within)?;
        }
        let last = found.matches.get(k - 1).map_or(0.0, |last| last.score);
        if found.rest > last {
            let most = MOST_CANDIDATES.max(found.chunks / CANDIDATES);
            found = self.score(&words, k, most, within)?;
        }
        let bm25 = Bm25 {
            chunks: found.chunks.cast_unsigned(),
            tokens: 0,
        };
        Ok(LexicalMatches {
            corrections: corrections(&terms, &found.matches, self, within.limits())?,
            named: name.map_or(Ok(Vec::new()), |name| self.find_named(name, within))?,
            full: Some(bm25.full_match(&terms)),
            matches: found.matches,
        })
    }

    fn semantic(&self, vector: &[f32], k: usize, within: Within<'_>) -> Result<Vec<Match>> {
        within.go_on()?;
        let Some((query, held)) = Query::new(vector, vector.len()).zip(self.commit.dimensions)
        else {
            return Ok(Vec::new());
        };
        check_dimensions(vector, Some(held))?;
        let is_limited =
            within.documents.is_some() || within.chunks.is_some_and(|chunks| chunks.only.is_some());
        let statement = if is_limited {
            include_str!("sql/nearest_of_some.sql")
        } else {
            include_str!("sql/nearest_of_all.sql")
        };
        let statement = statement
            .replace("{model}", &self.space.model().to_string())
            .replace("{dims}", &held.to_string())
            .replace("{filter}", &filter(4));
        let text = vector_text(query.values().iter().copied());
        let mut values = values![self.commit.space, text, k as i64];
        values.extend(filter_values(within));
        let rows = self.rows(&statement, values, within.limits())?;
        let matches = rows
            .iter()
            .map(|row| scored_match(row, query.cosine_of(row.get(4)).into()));
        Ok(Match::best(matches, k))
    }

    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: FetchOptions<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<FetchedChunk>>> {
        let mut query = None;
        if let Some(vector) = wanted.cosine_with {
            check_dimensions(vector, self.commit.dimensions)?;
            query = Query::new(vector, vector.len());
        }
        let text = query.as_ref();
        let text = text.map(|query| vector_text(query.values().iter().copied()));
        let asked = "SELECT c.chunk, d.source, c.first, c.last, CASE WHEN $4 THEN c.place END,
                CASE WHEN $4 THEN c.heading END, CASE WHEN $4 THEN c.body END,
                -(v.v::vector <#> $5::text::vector) * v.scale
            FROM unnest($3) AS a(chunk) JOIN chunks c ON c.space = $1 AND c.chunk = a.chunk
            JOIN documents d ON d.number = c.chunk >> 32
            LEFT JOIN vectors v ON v.model = $2 AND v.key = c.key";
        let model = self.space.model();
        let values = values![
            self.commit.space,
            model,
            packed(chunks),
            wanted.passages,
            text
        ];
        let rows = self.rows(asked, values, limits)?;
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
        let asked = "SELECT v.v::real[], v.scale FROM unnest($2) WITH ORDINALITY AS a(key, at)
            LEFT JOIN vectors v ON v.model = $1 AND v.key = a.key ORDER BY a.at";
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.0.to_vec()).collect();
        let rows = self.rows(asked, values![self.space.model(), keys], limits)?;
        let found = rows.iter().map(|row| {
            let (numbers, scale): (Option<Vec<f32>>, Option<f32>) = (row.get(0), row.get(1));
            let (numbers, scale) = numbers.zip(scale)?;
            Some(numbers.iter().map(|number| number * scale).collect())
        });
        Ok(found.collect())
    }

    /// The cursor is the last chunk of the page before. Of chunks that say the same the first counts.
    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage> {
        let asked = format!(
            "SELECT c.chunk, c.key FROM chunks c
            WHERE c.space = $1 AND c.chunk > $3 AND {NEEDS_VECTOR}
            AND NOT EXISTS (SELECT FROM chunks e
                WHERE e.space = $1 AND e.key = c.key AND e.chunk < c.chunk)
            ORDER BY c.chunk LIMIT $4"
        );
        let after = after.map_or(-1, |PendingCursor(last)| last.cast_signed());
        let values = values![
            self.commit.space,
            self.space.model(),
            after,
            limit as i64 + 1
        ];
        let rows = self.rows(&asked, values, limits)?;
        let chunks = rows.iter().take(limit).map(|row| {
            let key: &[u8] = row.get(1);
            let key = ChunkKey(key.try_into().unwrap_or_default());
            (chunk_id(row, 0), key)
        });
        let chunks: Vec<(ChunkId, ChunkKey)> = chunks.collect();
        let last = chunks.last().filter(|_| rows.len() > limit);
        let next = last.map(|(id, _)| PendingCursor(id.pack()));
        Ok(PendingPage { chunks, next })
    }

    fn pending_count(&self, limits: Limits<'_>) -> Result<usize> {
        if *self.space.complete.lock() == Some(self.commit) {
            return limits.check().map(|()| 0);
        }
        let asked = format!(
            "SELECT count(DISTINCT c.key) FROM chunks c WHERE c.space = $1 AND {NEEDS_VECTOR}"
        );
        let values = values![self.commit.space, self.space.model()];
        let rows = self.rows(&asked, values, limits)?;
        let count = rows.first().map_or(0, |row| row.get::<_, i64>(0)) as usize;
        // A commit that came meanwhile brought more; it is not this one.
        if count == 0 && self.commit.generation > 0 && self.space.last_commit() == self.commit {
            *self.space.complete.lock() = Some(self.commit);
        }
        Ok(count)
    }
}

/// The condition that a search may find the chunk `c`, with [`filter_values`] from the value `first` on.
fn filter(first: usize) -> String {
    let (only, without) = (first + 1, first + 2);
    format!(
        "(${first} IS NULL OR c.chunk >> 32 IN
            (SELECT number FROM documents WHERE space = $1 AND source = ANY (${first})))
        AND (${only} IS NULL OR c.chunk = ANY (${only})) AND c.chunk <> ALL (${without})"
    )
}

/// The documents and the chunks that a search is limited to, and the chunks that it passes over.
fn filter_values(within: Within<'_>) -> Vec<Value> {
    let documents = within.documents;
    let documents: Option<Vec<String>> = documents.map(|these| these.iter().cloned().collect());
    let (only, without) = match within.chunks {
        Some(filter) => (filter.only.as_ref().map(packed), packed(&filter.without)),
        None => (None, Vec::new()),
    };
    values![documents, only, without]
}

fn packed<'a>(ids: impl IntoIterator<Item = &'a ChunkId>) -> Vec<i64> {
    let ids = ids.into_iter();
    ids.map(|id| id.pack().cast_signed()).collect()
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A match in the columns chunk, source, first, last.
fn scored_match(row: &Row, score: f64) -> Match {
    Match {
        chunk: chunk_id(row, 0),
        source: row.get(1),
        lines: lines(row, 2),
        score,
    }
}

/// The document in the columns [`DOCUMENT`], if there is one.
fn document(row: &Row) -> Option<Arc<Document>> {
    let source = row.get::<_, Option<String>>(0)?;
    let (hash, stamp): (&[u8], Vec<i64>) = (row.get(2), row.get(4));
    let number = |at: usize| stamp.get(at).map_or(0, |number| number.cast_unsigned());
    let local = LocalStamp {
        stamp: Stamp {
            size: number(0),
            modified: number(1),
            changed: number(2),
            inode: number(3),
        },
        mtime_is_reliable: number(4) == 1,
    };
    Some(Arc::new(Document {
        source,
        title: row.get(1),
        hash: hash.try_into().unwrap_or_default(),
        bytes: local.stamp.size,
        modified: local.stamp.modified,
        chunks: row.get::<_, i32>(3) as usize,
        metadata: DocumentMetadata {
            day: row
                .get::<_, Option<i32>>(6)
                .map(|day| Day::from_number(day.unsigned_abs())),
            tags: row.get(7),
        },
        stamp: row.get::<_, bool>(5).then_some(local),
    }))
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
