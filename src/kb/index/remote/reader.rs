//! Reading a space: each verb one statement, which sees one commit.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::binary::vector_text;
use super::links::{keys_of_targets, read_links};
use super::remote_search;
use super::rows::{DOCUMENT, check_dimensions, chunk_id, document, missing_space, passage};
use super::space::Model;
use super::space_reader::RemoteReader;
use super::store_server::TypedValue;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::document::{Document, NameMatches, NameQuery, PathContents};
use crate::kb::index::limits::{Limits, Within};
use crate::kb::index::matches::{
    ChunkId, FetchOptions, FetchedChunk, LexicalMatches, Match, Passage,
};
use crate::kb::index::names::{self, DocumentName};
use crate::kb::index::port::{Counts, PendingCursor, PendingPage, Reader};
use crate::kb::index::quantised::Query;
use crate::kb::links::{Link, LinkTargets};

/// [`ChunkKey::WORDS_ONLY`] as the server writes it.
const WORDS_ONLY: &str = "decode(repeat('00', 16), 'hex')";

impl Reader for RemoteReader {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn counts(&self, limits: Limits<'_>) -> Result<Counts, KbError> {
        self.ask(limits, Counts::default(), |connection, space, _| {
            let asked = format!(
                "SELECT documents, chunks,
                    (SELECT count(*) FROM chunks_{space} WHERE key = {WORDS_ONLY})
                FROM spaces WHERE space = $1"
            );
            let rows = connection.rows(limits, &asked, &[(&space, Type::INT4)])?;
            let row = rows.first().ok_or_else(missing_space)?;
            Ok(Counts {
                documents: row.get::<_, i64>(0) as usize,
                chunks: row.get::<_, i64>(1) as usize,
                words_only: row.get::<_, i64>(2) as usize,
            })
        })
    }

    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Arc<Document>>, KbError> {
        let labels = &self.space.labels;
        let begins: Vec<String> = labels.iter().map(|label| format!("{label}/")).collect();
        // `0` comes right behind `/`.
        let ends: Vec<String> = labels.iter().map(|label| format!("{label}0")).collect();
        let own = if self.own_only {
            "AND (d.source = ANY ($4) OR EXISTS (SELECT FROM unnest($5, $6) AS own(begins, ends)
                WHERE d.source >= own.begins AND d.source < own.ends))"
        } else {
            ""
        };
        self.ask(limits, Vec::new(), |connection, space, _| {
            let asked = format!(
                "SELECT {DOCUMENT} FROM documents_{space} d
                LEFT JOIN stamps_{space} s ON s.number = d.number AND s.machine = $3
                WHERE d.source > $1 {own} ORDER BY d.source LIMIT $2"
            );
            let (after, limit) = (after.unwrap_or_default(), limit as i64);
            let mut values: Vec<TypedValue<'_>> = vec![
                (&after, Type::TEXT),
                (&limit, Type::INT8),
                (&self.space.machine, Type::TEXT),
            ];
            if self.own_only {
                let own = [labels, &begins, &ends];
                values.extend(own.map(|texts| (texts as _, Type::TEXT_ARRAY)));
            }
            let rows = connection.rows(limits, &asked, &values)?;
            Ok(rows.iter().map(document).collect())
        })
    }

    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>, KbError> {
        let nothing = vec![PathContents::default(); paths.len()];
        self.ask(limits, nothing, |connection, space, _| {
            let asked = format!(
                "SELECT {DOCUMENT}, d.number IS NOT NULL, EXISTS (SELECT FROM documents_{space} f
                    WHERE f.source >= p.path || '/' AND f.source < p.path || '0')
                FROM unnest($1) WITH ORDINALITY AS p(path, at)
                LEFT JOIN documents_{space} d ON d.source = p.path
                LEFT JOIN stamps_{space} s ON s.number = d.number AND s.machine = $2
                ORDER BY p.at"
            );
            let values: [TypedValue<'_>; 2] = [
                (&paths, Type::TEXT_ARRAY),
                (&self.space.machine, Type::TEXT),
            ];
            let rows = connection.rows(limits, &asked, &values)?;
            let contents = rows.iter().map(|row| PathContents {
                document: row.get::<_, bool>(11).then(|| document(row)),
                is_folder: row.get(12),
            });
            Ok(contents.collect())
        })
    }

    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches, KbError> {
        if let NameQuery::Under(folder) = query
            && !folder.is_empty()
        {
            return self.ask(limits, NameMatches::default(), |connection, space, _| {
                let asked = format!(
                    "SELECT source FROM documents_{space} WHERE source = $1
                    OR (source >= $1 || '/' AND source < $1 || '0') ORDER BY source"
                );
                let rows = connection.rows(limits, &asked, &[(folder, Type::TEXT)])?;
                Ok(NameMatches {
                    distance: 0,
                    sources: rows.iter().map(|row| row.get(0)).collect(),
                })
            });
        }
        limits.check()?;
        let names = self.names(limits)?;
        let names = names
            .iter()
            .map(|(source, title)| DocumentName { source, title });
        names::matches(&names.collect::<Vec<_>>(), query)
    }

    fn links_of(
        &self,
        sources: &[&str],
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        self.ask(limits, Vec::new(), |connection, space, _| {
            let asked = format!(
                "SELECT source, links FROM documents_{space} WHERE source = ANY ($1) ORDER BY source"
            );
            let rows = connection.rows(limits, &asked, &[(&sources, Type::TEXT_ARRAY)])?;
            let links = rows.iter().map(|row| (row.get(0), read_links(row.get(1))));
            Ok(links.collect())
        })
    }

    fn links_to(
        &self,
        targets: &LinkTargets,
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        let keys = keys_of_targets(targets);
        self.ask(limits, Vec::new(), |connection, space, _| {
            let asked = format!(
                "SELECT source, links FROM documents_{space} WHERE link_keys && $1 ORDER BY source"
            );
            let rows = connection.rows(limits, &asked, &[(&keys, Type::TEXT_ARRAY)])?;
            let links = rows.iter().map(|row| {
                let mut links = read_links(row.get(1));
                links.retain(|link| targets.are_meant_by(link));
                (row.get::<_, String>(0), links)
            });
            Ok(links.filter(|(_, links)| !links.is_empty()).collect())
        })
    }

    fn openings(
        &self,
        sources: &[&str],
        passages: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Passage>, KbError> {
        self.ask(limits, Vec::new(), |connection, space, _| {
            let asked = format!(
                "SELECT d.source, c.first, c.last, c.place, c.heading, c.body
                FROM unnest($1) WITH ORDINALITY AS a(source, at)
                JOIN documents_{space} d ON d.source = a.source
                JOIN chunks_{space} c ON c.chunk >= d.number << 32 AND c.chunk < (d.number << 32) + $2
                ORDER BY a.at, c.chunk"
            );
            let amount = passages as i64;
            let values: [TypedValue<'_>; 2] = [(&sources, Type::TEXT_ARRAY), (&amount, Type::INT8)];
            let rows = connection.rows(limits, &asked, &values)?;
            Ok(rows.iter().map(|row| passage(row, 0)).collect())
        })
    }

    fn lexical(
        &self,
        query: &str,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches, KbError> {
        remote_search::lexical(self, (query, name), k, within)
    }

    fn semantic(
        &self,
        vector: &[f32],
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Match>, KbError> {
        remote_search::semantic(self, vector, k, within)
    }

    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: FetchOptions<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<FetchedChunk>>, KbError> {
        let ids: Vec<i64> = chunks.iter().map(|id| id.pack().cast_signed()).collect();
        self.ask(
            limits,
            vec![None; chunks.len()],
            |connection, space, model| {
                let asked = wanted.cosine_with.zip(model);
                if let Some((vector, model)) = asked {
                    check_dimensions(model, vector)?;
                }
                let query = asked.and_then(|(vector, _)| Query::new(vector, vector.len()));
                let text = query
                    .as_ref()
                    .map(|query| vector_text(query.values().iter().copied()));
                let passages = if wanted.passages {
                    "c.place, c.heading, c.body"
                } else {
                    "NULL::text, ''::text, ''::text"
                };
                let (products, vectors) = match asked.filter(|_| text.is_some()) {
                    Some((_, model)) => (
                        remote_search::products("$2"),
                        format!("LEFT JOIN vectors_{} v ON v.key = c.key", model.number),
                    ),
                    None => ("NULL::float8".to_owned(), String::new()),
                };
                let statement = format!(
                    "SELECT c.chunk, d.source, c.first, c.last, {passages}, {products}
                FROM unnest($1) AS a(chunk) JOIN chunks_{space} c USING (chunk)
                JOIN documents_{space} d ON d.number = c.chunk >> 32 {vectors}"
                );
                let mut values: Vec<TypedValue<'_>> = vec![(&ids, Type::INT8_ARRAY)];
                values.extend(text.as_ref().map(|text| (text as _, Type::TEXT)));
                let rows = connection.rows(limits, &statement, &values)?;
                let known: HashMap<ChunkId, &Row> =
                    rows.iter().map(|row| (chunk_id(row, 0), row)).collect();
                let fetched = chunks.iter().map(|id| {
                    let row = known.get(id)?;
                    Some(FetchedChunk {
                        passage: wanted.passages.then(|| passage(row, 1)),
                        cosine: query
                            .as_ref()
                            .zip(row.get(7))
                            .map(|(query, products)| query.cosine_of(products).into()),
                    })
                });
                Ok(fetched.collect())
            },
        )
    }

    fn vectors(
        &self,
        keys: &[ChunkKey],
        limits: Limits<'_>,
    ) -> Result<Vec<Option<Vec<f32>>>, KbError> {
        let asked: Vec<&[u8]> = keys.iter().map(|key| key.0.as_slice()).collect();
        self.ask(limits, vec![None; keys.len()], |connection, _, model| {
            let Some(model) = model else {
                return Ok(vec![None; keys.len()]);
            };
            let statement = format!(
                "SELECT v.v::real[], v.scale FROM unnest($1) WITH ORDINALITY AS a(key, at)
                LEFT JOIN vectors_{} v ON v.key = a.key ORDER BY a.at",
                model.number
            );
            let rows = connection.rows(limits, &statement, &[(&asked, Type::BYTEA_ARRAY)])?;
            let vectors = rows.iter().map(|row| {
                let (numbers, scale): (Option<Vec<f32>>, Option<f32>) = (row.get(0), row.get(1));
                let scaled = |(numbers, scale): (Vec<f32>, f32)| {
                    numbers.iter().map(|number| number * scale).collect()
                };
                numbers.zip(scale).map(scaled)
            });
            Ok(vectors.collect())
        })
    }

    /// The cursor is the last chunk of the page before. Of chunks that say the same the first counts.
    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage, KbError> {
        self.ask(limits, PendingPage::default(), |connection, space, model| {
            let statement = format!(
                "SELECT c.chunk, c.key FROM chunks_{space} c WHERE c.chunk > $1 AND {}
                AND NOT EXISTS (SELECT FROM chunks_{space} e WHERE e.key = c.key AND e.chunk < c.chunk)
                ORDER BY c.chunk LIMIT $2",
                without_vector(model)
            );
            let after = after.map_or(-1, |PendingCursor(last)| last.cast_signed());
            let asked = limit as i64 + 1;
            let values: [TypedValue<'_>; 2] = [(&after, Type::INT8), (&asked, Type::INT8)];
            let rows = connection.rows(limits, &statement, &values)?;
            let chunks = rows.iter().take(limit).map(|row| {
                let key: &[u8] = row.get(1);
                (chunk_id(row, 0), ChunkKey(key.try_into().unwrap_or_default()))
            });
            let chunks: Vec<(ChunkId, ChunkKey)> = chunks.collect();
            let last = chunks.last().filter(|_| rows.len() > limit);
            let next = last.map(|(id, _)| PendingCursor(id.pack()));
            Ok(PendingPage { chunks, next })
        })
    }

    fn pending_count(&self, limits: Limits<'_>) -> Result<usize, KbError> {
        let commit = self.commit();
        if self.space.is_complete(commit) {
            return limits.check().map(|()| 0);
        }
        let count = self.ask(limits, 0, |connection, space, model| {
            let statement = format!(
                "SELECT count(DISTINCT c.key) FROM chunks_{space} c WHERE {}",
                without_vector(model)
            );
            let rows = connection.rows(limits, &statement, &[])?;
            Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0)) as usize)
        })?;
        // A commit that came meanwhile brought more; it is not this one.
        if count == 0 && commit.space.is_some() && self.space.last_commit() == commit {
            self.space.note_complete(Some(commit));
        }
        Ok(count)
    }
}

/// Whether a chunk still needs a vector.
fn without_vector(model: Option<Model>) -> String {
    let has_one = model.map_or_else(String::new, |model| {
        let vectors = model.number;
        format!(" AND NOT EXISTS (SELECT FROM vectors_{vectors} v WHERE v.key = c.key)")
    });
    format!("c.key <> {WORDS_ONLY}{has_one}")
}
