//! Searching a space, in one call of the server each; a query with words that the space does not
//! have takes another.

use std::collections::HashMap;
use std::iter;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::binary::vector_text;
use super::gains::{self, SearchTerm, term_id};
use super::rows::{check_dimensions, lines};
use super::slips;
use super::space_reader::RemoteReader;
use super::store_server::{Connection, TypedValue};
use crate::kb::error::KbError;
use crate::kb::index::bm25::Bm25;
use crate::kb::index::limits::{Limits, Within};
use crate::kb::index::matches::{
    ChunkId, Correction, FetchOptions, FetchedChunk, LexicalMatches, MOST_NAMED, Match,
};
use crate::kb::index::near_words::{self, MOST_LOOKED_UP, NearTerm};
use crate::kb::index::port::Reader;
use crate::kb::index::quantised::Query;
use crate::kb::index::spelling::as_written;
use crate::kb::index::tokens::{self, QueryTerm, Role};

/// The number of best passages in which the spelling of a corrected term is looked for.
const SPELLING: usize = 5;
/// Words of a query that may be looked up: which of them are unknown, the server tells.
const MOST_WITH_SLIPS: usize = 8 * MOST_LOOKED_UP;

/// The best chunks by BM25.
pub(super) fn lexical(
    reader: &RemoteReader,
    (query, name): (&str, Option<&str>),
    k: usize,
    within: Within<'_>,
) -> Result<LexicalMatches, KbError> {
    let limits = within.limits();
    let asked = tokens::terms(query);
    if k == 0 || asked.is_empty() {
        within.go_on()?;
        return Ok(LexicalMatches::default());
    }
    let first = LexicalArguments::from_query(&asked);
    let mut found = reader.ask(limits, LexicalAnswer::default(), |connection, space, _| {
        call_lexical(connection, space, (&first, name), k, within)
    })?;
    let mut terms = found.search_terms(&asked);
    if terms.iter().any(|word| word.is_corrected) {
        let again = LexicalArguments::from_search_terms(&terms);
        found = reader.ask(limits, LexicalAnswer::default(), |connection, space, _| {
            call_lexical(connection, space, (&again, name), k, within)
        })?;
        found.update_counts(&mut terms);
    }
    let matches = found.rows.iter().map(|row| Match {
        chunk: row.chunk,
        source: row.source.clone(),
        lines: lines(row.first, row.last),
        score: gains::score(found.bm25, &terms, (&row.ids, &row.frequencies), row.length),
    });
    let mut matches: Vec<Match> = matches.filter(|found| found.score > 0.0).collect();
    matches.sort_by(Match::best_first);
    matches.truncate(k);
    let corrections = corrections(reader, &terms, &matches, limits)?;
    let named = found.named.into_iter().map(|row| Match {
        chunk: row.chunk,
        lines: lines(row.first, row.last),
        source: row.source,
        score: 0.0,
    });
    Ok(LexicalMatches {
        named: named.collect(),
        full: Some(gains::full_match(found.bm25, &terms)),
        matches,
        corrections,
    })
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
            let Some(edits) = near_words::edits(&term.text) else {
                continue;
            };
            if term.role != Role::Word || with_slips == MOST_WITH_SLIPS {
                continue;
            }
            with_slips += 1;
            for slip in slips::of_word(&term.text, edits) {
                asked.slip_of.push(at);
                asked.slips.push(slip);
            }
            for begin in near_words::beginnings(&term.text) {
                asked.begin_of.push(at);
                asked.begins.push(begin);
            }
        }
        asked
    }

    /// Takes the terms that were chosen for the words of the query.
    fn from_search_terms(terms: &[SearchTerm]) -> Self {
        let terms = terms.iter().flat_map(|word| &word.terms);
        let (terms, weights) = terms
            .map(|(term, weight, _)| (term.clone(), *weight))
            .unzip();
        Self {
            terms,
            weights,
            ..Self::default()
        }
    }
}

/// A chunk that has some of the terms.
#[derive(Debug)]
struct FoundRow {
    chunk: ChunkId,
    source: String,
    first: i32,
    last: i32,
    ids: Vec<i32>,
    frequencies: Vec<i16>,
    length: u32,
}

/// The answer of the server's function.
#[derive(Debug, Default)]
struct LexicalAnswer {
    bm25: Bm25,
    /// How many chunks hold each term that was asked for.
    doc_freq: HashMap<String, u64>,
    /// Terms that may stand for one that is not there.
    near: Vec<(String, u64)>,
    rows: Vec<FoundRow>,
    /// Chunks with the name that was asked for.
    named: Vec<FoundRow>,
}

fn call_lexical(
    connection: &mut Connection,
    space: i32,
    (asked, name): (&LexicalArguments, Option<&str>),
    k: usize,
    within: Within<'_>,
) -> Result<LexicalAnswer, KbError> {
    let ids: Vec<i32> = asked.terms.iter().map(|term| term_id(term)).collect();
    let amount = k as i32;
    let sources: Option<Vec<&String>> = within.documents.map(|these| these.iter().collect());
    let numbers = if sources.is_some() {
        format!("ARRAY(SELECT number FROM documents_{space} WHERE source = ANY ($11))")
    } else {
        "NULL".to_owned()
    };
    let of_these = if sources.is_some() {
        "AND d.source = ANY ($11)"
    } else {
        ""
    };
    let statement = format!(
        "SELECT * FROM kb_lexical($1, $2, $3, $4, $5, $6, $7, $8, $9, {numbers})
        UNION ALL (SELECT 4, c.chunk, d.source, c.first, c.last, '{{}}'::int4[], '{{}}'::int2[], 0,
            NULL::int, NULL::text, NULL::bigint FROM chunks_{space} c
            JOIN documents_{space} d ON d.number = c.chunk >> 32
            WHERE c.names @> ARRAY[$10::text] {of_these} ORDER BY d.source, c.chunk LIMIT {MOST_NAMED})"
    );
    let mut values: Vec<TypedValue<'_>> = vec![
        (&space, Type::INT4),
        (&asked.terms, Type::TEXT_ARRAY),
        (&ids, Type::INT4_ARRAY),
        (&asked.weights, Type::FLOAT8_ARRAY),
        (&asked.slip_of, Type::INT4_ARRAY),
        (&asked.slips, Type::INT4_ARRAY),
        (&asked.begin_of, Type::INT4_ARRAY),
        (&asked.begins, Type::TEXT_ARRAY),
        (&amount, Type::INT4),
        (&name, Type::TEXT),
    ];
    values.extend(sources.as_ref().map(|these| (these as _, Type::TEXT_ARRAY)));
    let rows = connection.rows(within.limits(), &statement, &values)?;
    let mut found = LexicalAnswer::default();
    for row in &rows {
        found.take(row, &asked.terms);
    }
    Ok(found)
}

fn found_row(row: &Row) -> Result<FoundRow, tokio_postgres::Error> {
    Ok(FoundRow {
        chunk: ChunkId::unpack(row.try_get::<_, i64>(1)?.cast_unsigned()),
        source: row.try_get(2)?,
        first: row.try_get(3)?,
        last: row.try_get(4)?,
        ids: row.try_get(5)?,
        frequencies: row.try_get(6)?,
        length: row.try_get::<_, i32>(7)?.cast_unsigned(),
    })
}

impl LexicalAnswer {
    fn take(&mut self, row: &Row, asked: &[String]) {
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
            2 => self.near.push((row.get(9), held())),
            4 => self.named.extend(found_row(row).ok()),
            // A row with gaps is of no use.
            _ => self.rows.extend(found_row(row).ok()),
        }
    }

    fn doc_freq_of(&self, term: &str) -> u64 {
        self.doc_freq.get(term).copied().unwrap_or(0)
    }

    /// Chooses what to search for each term of the query.
    fn search_terms(&self, asked: &[QueryTerm]) -> Vec<SearchTerm> {
        let mut looked_up = 0;
        let words = asked.iter().map(|term| {
            let texts = iter::once(&term.text).chain(&term.others);
            let mut terms: Vec<(String, f64, u64)> = texts
                .map(|text| (text.clone(), 1.0, self.doc_freq_of(text)))
                .collect();
            terms.retain(|(text, _, held)| *held > 0 || *text == term.text);
            let doc_freq = most_held(&terms);
            if doc_freq == 0 && term.role == Role::Word && looked_up < MOST_LOOKED_UP {
                looked_up += 1;
                let replacements = self.replacements(&term.text);
                if !replacements.is_empty() {
                    return SearchTerm {
                        asked: term.text.clone(),
                        doc_freq: replacements.first().map(|near| near.doc_freq),
                        terms: replacements
                            .into_iter()
                            .map(|near| (near.text, near.weight, near.doc_freq))
                            .collect(),
                        is_corrected: true,
                    };
                }
            }
            // `high-speed` may well be written apart; its words are asked for themselves.
            let is_required = doc_freq > 0 || term.role != Role::Joined;
            SearchTerm {
                asked: term.text.clone(),
                terms,
                doc_freq: is_required.then_some(doc_freq),
                is_corrected: false,
            }
        });
        words.collect()
    }

    fn replacements(&self, word: &str) -> Vec<NearTerm> {
        let Some(edits) = near_words::edits(word) else {
            return Vec::new();
        };
        let automaton = near_words::automaton(word, edits);
        let near = near_words::nearest(word, &automaton, self.near.iter().cloned());
        if !near.is_empty() {
            return near;
        }
        let begun = near_words::beginnings(word).find_map(|begin| {
            let known = self.near.iter().find(|(text, _)| *text == begin)?;
            Some(near_words::stem(begin, known.1))
        });
        begun.into_iter().collect()
    }

    /// Replaces the counts of the terms by those of this answer.
    fn update_counts(&self, terms: &mut [SearchTerm]) {
        for word in terms {
            for (term, _, doc_freq) in &mut word.terms {
                *doc_freq = self.doc_freq_of(term);
            }
            let first = word.terms.first().map(|(.., doc_freq)| *doc_freq);
            let shared = Some(most_held(&word.terms));
            word.doc_freq = word
                .doc_freq
                .and(if word.is_corrected { first } else { shared });
        }
    }
}

fn most_held(terms: &[(String, f64, u64)]) -> u64 {
    let held = terms.iter().map(|(.., doc_freq)| *doc_freq);
    held.max().unwrap_or(0)
}

fn corrections(
    reader: &RemoteReader,
    terms: &[SearchTerm],
    matches: &[Match],
    limits: Limits<'_>,
) -> Result<Vec<Correction>, KbError> {
    let corrected = terms.iter().filter(|word| word.is_corrected);
    let corrected: Vec<&SearchTerm> = corrected.collect();
    if corrected.is_empty() {
        return Ok(Vec::new());
    }
    let best: Vec<ChunkId> = matches.iter().take(SPELLING).map(|m| m.chunk).collect();
    let best = reader.fetch(&best, FetchOptions::PASSAGES, limits)?;
    let best = best.iter().flatten();
    let texts = best.filter_map(|fetched: &FetchedChunk| fetched.passage.as_ref());
    let texts: Vec<&str> = texts
        .flat_map(|passage| [passage.heading.as_str(), passage.text.as_str()])
        .collect();
    let corrections = corrected.iter().filter_map(|word| {
        let (meant, ..) = word.terms.first()?;
        Some(Correction {
            asked: word.asked.clone(),
            meant: meant.clone(),
            spelt: as_written(meant, &texts),
        })
    });
    Ok(corrections.collect())
}

/// The chunks nearest to a vector.
pub(super) fn semantic(
    reader: &RemoteReader,
    vector: &[f32],
    k: usize,
    within: Within<'_>,
) -> Result<Vec<Match>, KbError> {
    let limits = within.limits();
    let Some(query) = Query::new(vector, vector.len()) else {
        return Ok(Vec::new());
    };
    let (text, amount) = (vector_text(query.values().iter().copied()), k as i64);
    let sources: Option<Vec<&String>> = within.documents.map(|these| these.iter().collect());
    let rows = reader.ask(limits, Vec::new(), |connection, space, model| {
        let Some(model) = model else {
            return Ok(Vec::new());
        };
        check_dimensions(model, vector)?;
        let mut values: Vec<TypedValue<'_>> = vec![(&text, Type::TEXT), (&amount, Type::INT8)];
        values.extend(sources.as_ref().map(|these| (these as _, Type::TEXT_ARRAY)));
        let statement = if sources.is_some() {
            nearest_of_documents(space, model.number)
        } else {
            nearest_of_all(space, model.number)
        };
        connection.rows(limits, &statement, &values)
    })?;
    let matches = rows.iter().map(|row| Match {
        chunk: ChunkId::unpack(row.get::<_, i64>(0).cast_unsigned()),
        source: row.get(1),
        lines: lines(row.get(2), row.get(3)),
        score: query.cosine_of(row.get(4)).into(),
    });
    let mut matches: Vec<Match> = matches.collect();
    matches.sort_by(Match::best_first);
    matches.truncate(k);
    Ok(matches)
}

/// The sum of products of the vector `$QUERY` with that of `v`, times the scale of `v`.
pub(super) fn products(query: &str) -> String {
    format!("-(v.v::vector <#> {query}::text::vector) * v.scale")
}

/// Each vector of some documents compared.
fn nearest_of_documents(space: i32, vectors: i32) -> String {
    format!(
        "SELECT c.chunk, d.source, c.first, c.last, {} AS score FROM documents_{space} d
        JOIN chunks_{space} c ON c.chunk >= d.number << 32 AND c.chunk < (d.number + 1) << 32
        JOIN vectors_{vectors} v ON v.key = c.key WHERE d.source = ANY ($3)
        ORDER BY score DESC, d.source, c.chunk LIMIT $2",
        products("$1")
    )
}

/// Twice as many as asked for by the index, as whose distances are of half precision, then exactly.
///
/// Vector by vector as they come nearer: those of other spaces are passed over at once (`OFFSET 0`
/// keeps the server from joining before it looks for near ones). Where all that it looks at are
/// others', each vector of the space is compared.
fn nearest_of_all(space: i32, vectors: i32) -> String {
    let distance = "v.v <=> $1::text::halfvec";
    let too_few = "(SELECT count(*) FROM near) < $2";
    format!(
        "WITH near AS MATERIALIZED (
            SELECT c.chunk, c.first, c.last, v.v, v.scale FROM vectors_{vectors} v
            CROSS JOIN LATERAL (
                SELECT chunk, first, last FROM chunks_{space} WHERE key = v.key OFFSET 0) c
            ORDER BY {distance} LIMIT 2 * $2)
        SELECT v.chunk, (SELECT source FROM documents_{space} WHERE number = v.chunk >> 32),
            v.first, v.last, {} FROM (
            SELECT * FROM near WHERE NOT {too_few}
            UNION ALL (
                SELECT c.chunk, c.first, c.last, v.v, v.scale FROM chunks_{space} c
                JOIN vectors_{vectors} v ON v.key = c.key WHERE {too_few}
                ORDER BY {distance} LIMIT 2 * $2)) v",
        products("$1")
    )
}
