//! Reading the index in memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::server::{Server, State, Stored};
use crate::kb::chunk::Chunk;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::document::{Document, NameMatches, NameQuery, PathContents};
use crate::kb::index::limits::{Limits, Within};
use crate::kb::index::matches::{
    ChunkId, FetchOptions, FetchedChunk, LexicalMatches, MOST_NAMED, Match, Passage,
};
use crate::kb::index::names::{self, DocumentName};
use crate::kb::index::port::{Counts, PendingCursor, PendingPage, Reader};
use crate::kb::index::tokens;
use crate::kb::links::{Link, LinkTargets};

/// Reads what is there at the moment.
pub(super) struct FakeReader {
    pub(super) server: Arc<Server>,
    pub(super) machine: u32,
    pub(super) generation: u64,
}

impl Reader for FakeReader {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn counts(&self, limits: Limits<'_>) -> Result<Counts, KbError> {
        let state = self.server.call("counts", limits)?;
        Ok(Counts {
            documents: state.documents.len(),
            chunks: state.chunks().count(),
            words_only: state
                .chunks()
                .filter(|(.., chunk)| chunk.0 == ChunkKey::WORDS_ONLY)
                .count(),
        })
    }

    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Arc<Document>>, KbError> {
        let state = self.server.call("page", limits)?;
        let rest = state.documents.values();
        let rest = rest.filter(|stored| after.is_none_or(|after| *stored.document.source > *after));
        let page = rest.take(limit);
        Ok(page
            .map(|stored| state.document(stored, self.machine))
            .collect())
    }

    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>, KbError> {
        let state = self.server.call("look_up", limits)?;
        let contents = paths.iter().map(|path| {
            let below = format!("{path}/");
            let stored = state.documents.get(*path);
            PathContents {
                document: stored.map(|stored| state.document(stored, self.machine)),
                is_folder: state.documents.keys().any(|name| name.starts_with(&below)),
            }
        });
        Ok(contents.collect())
    }

    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches, KbError> {
        let state = self.server.call("find", limits)?;
        let names = state.documents.values().map(|stored| DocumentName {
            source: &stored.document.source,
            title: &stored.document.title,
        });
        names::matches(&names.collect::<Vec<_>>(), query)
    }

    fn links_of(
        &self,
        sources: &[&str],
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        let state = self.server.call("links_of", limits)?;
        let wanted: HashSet<&str> = sources.iter().copied().collect();
        let known = state.documents.iter();
        let known = known.filter(|(source, _)| wanted.contains(source.as_str()));
        Ok(known
            .map(|(source, stored)| (source.clone(), stored.links.clone()))
            .collect())
    }

    fn links_to(
        &self,
        targets: &LinkTargets,
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        let state = self.server.call("links_to", limits)?;
        let linking = state.documents.iter().map(|(source, stored)| {
            let links = stored.links.iter();
            let links = links.filter(|link| targets.are_meant_by(link));
            (source.clone(), links.cloned().collect::<Vec<_>>())
        });
        Ok(linking.filter(|(_, links)| !links.is_empty()).collect())
    }

    fn openings(
        &self,
        sources: &[&str],
        passages: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Passage>, KbError> {
        let state = self.server.call("openings", limits)?;
        let known = sources.iter();
        let known = known.filter_map(|source| state.documents.get(*source));
        Ok(known
            .flat_map(|stored| {
                let first = stored.chunks.iter().take(passages);
                first.map(|(_, chunk)| stored.passage(chunk))
            })
            .collect())
    }

    fn lexical(
        &self,
        query: &str,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches, KbError> {
        let state = self.server.call("lexical", within.limits())?;
        let terms = |text: &str| -> Vec<String> {
            let terms = tokens::terms(text).into_iter();
            terms.map(|term| term.text).collect()
        };
        let held =
            |(_, chunk): &(ChunkKey, Chunk)| terms(&format!("{}\n{}", chunk.heading, chunk.text));
        let asked = terms(query);
        let chunks: Vec<Vec<String>> = state.chunks().map(|(.., chunk)| held(chunk)).collect();
        let count = chunks.len() as f64;
        let idf = |term: &String| {
            let doc_freq = chunks.iter().filter(|own| own.contains(term)).count() as f64;
            (1.0 + (count - doc_freq + 0.5) / (doc_freq + 0.5)).ln()
        };
        let idf: Vec<f64> = asked.iter().map(idf).collect();
        let matches = state.best(k, within, |chunk| {
            let own = held(chunk);
            let scores = asked.iter().zip(&idf).map(|(term, idf)| {
                let freq = own.iter().filter(|own| *own == term).count() as f64;
                idf * freq / (freq + 1.2)
            });
            Some(scores.sum::<f64>()).filter(|score| *score > 0.0)
        });
        let is_named = |(_, chunk): &(ChunkKey, Chunk)| {
            let keys = tokens::name_keys(&chunk.names);
            keys.iter()
                .any(|own| Some(own.as_str()) == name)
                .then_some(0.0)
        };
        let named = state.best(MOST_NAMED, within, is_named);
        Ok(LexicalMatches {
            matches,
            named,
            full: None,
            corrections: Vec::new(),
        })
    }

    fn semantic(
        &self,
        vector: &[f32],
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Match>, KbError> {
        let state = self.server.call("semantic", within.limits())?;
        Ok(state.best(k, within, |(key, _)| {
            state.vectors.get(key).map(|own| cosine(own, vector))
        }))
    }

    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: FetchOptions<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<FetchedChunk>>, KbError> {
        let state = self.server.call("fetch", limits)?;
        let known: HashMap<ChunkId, (&Stored, &(ChunkKey, Chunk))> = state
            .chunks()
            .map(|(id, stored, chunk)| (id, (stored, chunk)))
            .collect();
        let fetched = chunks.iter().map(|id| {
            let (stored, (key, chunk)) = *known.get(id)?;
            let vector = state.vectors.get(key);
            let both = wanted.cosine_with.zip(vector);
            Some(FetchedChunk {
                passage: wanted.passages.then(|| stored.passage(chunk)),
                cosine: both.map(|(asked, own)| cosine(own, asked)),
            })
        });
        Ok(fetched.collect())
    }

    fn vectors(
        &self,
        keys: &[ChunkKey],
        limits: Limits<'_>,
    ) -> Result<Vec<Option<Vec<f32>>>, KbError> {
        let state = self.server.call("vectors", limits)?;
        let vectors = keys.iter().map(|key| state.vectors.get(key).cloned());
        Ok(vectors.collect())
    }

    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage, KbError> {
        let state = self.server.call("pending", limits)?;
        let after = after.map(|PendingCursor(last)| ChunkId::new((last >> 32) as u32, last as u32));
        let mut pending = pending(&state);
        pending.retain(|(id, _)| after.is_none_or(|after| *id > after));
        let is_more = pending.len() > limit;
        pending.truncate(limit);
        let last = pending.last().filter(|_| is_more);
        let next = last
            .map(|(id, _)| PendingCursor(u64::from(id.document()) << 32 | u64::from(id.ordinal())));
        Ok(PendingPage {
            chunks: pending,
            next,
        })
    }

    fn pending_count(&self, limits: Limits<'_>) -> Result<usize, KbError> {
        let state = self.server.call("pending_count", limits)?;
        Ok(pending(&state).len())
    }
}

fn pending(state: &State) -> Vec<(ChunkId, ChunkKey)> {
    let mut seen = HashSet::new();
    let mut chunks: Vec<(ChunkId, ChunkKey)> = state
        .chunks()
        .map(|(id, _, (key, _))| (id, *key))
        .filter(|(_, key)| *key != ChunkKey::WORDS_ONLY && !state.vectors.contains_key(key))
        .collect();
    chunks.sort_unstable();
    chunks.retain(|(_, key)| seen.insert(*key));
    chunks
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(x * y)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f64::MIN_POSITIVE)
}
