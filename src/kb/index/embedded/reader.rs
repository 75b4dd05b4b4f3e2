//! Reading one commit of the embedded store.

use std::cmp::Reverse;
use std::sync::{Arc, PoisonError};

use super::lexical::Row;
use super::vectors::Vectors;
use super::view::View;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::document::{Document, NameMatches, NameQuery, PathContents};
use crate::kb::index::limits::{Limits, Within};
use crate::kb::index::matches::{
    ChunkId, FetchOptions, FetchedChunk, LexicalMatches, MOST_NAMED, Match, Passage,
};
use crate::kb::index::names::{self, DocumentName};
use crate::kb::index::port::{Counts, PendingCursor, PendingPage, Reader};
use crate::kb::index::spelling::as_written;
use crate::kb::links::{Link, LinkTargets};
use crate::kb::source::is_prose;

/// The number of best passages in which the spelling of a corrected term is looked for.
const SPELLING: usize = 5;

impl View {
    fn passage(&self, chunk: ChunkId) -> Result<Option<Passage>, KbError> {
        let Some((document, at)) = self.place_of(chunk) else {
            return Ok(None);
        };
        let row = Row {
            document: document.number,
            chunk: at as u32,
        };
        let missing = || KbError::Damaged("a passage is missing".to_owned());
        let wording = self.lexical.wording(row)?.ok_or_else(missing)?;
        Ok(Some(Passage {
            source: document.document.source.clone(),
            lines: document.chunks[at].lines,
            place: wording.place,
            heading: wording.heading,
            text: wording.text,
        }))
    }

    /// The cosine of each chunk with the vector, where it has one.
    fn cosines(
        &self,
        chunks: &[ChunkId],
        vector: &[f32],
        vectors: &Vectors,
    ) -> Result<Vec<Option<f64>>, KbError> {
        let rows: Vec<Option<usize>> = chunks.iter().map(|c| self.row(*c, vectors)).collect();
        let known: Vec<usize> = rows.iter().copied().flatten().collect();
        if known.is_empty() {
            return Ok(vec![None; chunks.len()]);
        }
        let cosines = vectors.cosines(vector, &known)?.unwrap_or_default();
        let mut cosines = cosines.into_iter();
        Ok(rows
            .into_iter()
            .map(|row| row.and_then(|_| cosines.next()))
            .collect())
    }

    /// The chunks with a name of that key, at most [`MOST_NAMED`].
    fn matches_by_name(&self, key: &str, within: Within<'_>) -> Result<Vec<Match>, KbError> {
        let rows = self.lexical.rows_with_name(key)?.into_iter();
        let mut matches: Vec<Match> = rows
            .filter_map(|row| self.match_for(self.chunk_of(row)?, 0.0))
            .filter(|found| {
                within
                    .documents
                    .is_none_or(|these| these.contains(&found.source))
            })
            .collect();
        matches.sort_by(Match::best_first);
        matches.truncate(MOST_NAMED);
        Ok(matches)
    }

    /// All chunks without a vector: prose first, and what was written last before what is older.
    fn pending_chunks(&self) -> Arc<[(ChunkId, ChunkKey)]> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        let (holders, pending) = (self.holders(), self.pending_in(&vectors));
        drop(vectors);
        let chunks = pending.keys().filter_map(|key| {
            let first = holders.chunks(key).iter().min()?;
            Some((*first, *key))
        });
        let mut chunks: Vec<(ChunkId, ChunkKey)> = chunks.collect();
        chunks.sort_unstable();
        let lacking = chunks.chunk_by(|a, b| a.0.document() == b.0.document());
        let mut lacking: Vec<_> = lacking
            .filter_map(|lacks| {
                let document = self.document(lacks.first()?.0.document())?;
                Some((lacks, &*document.document))
            })
            .collect();
        lacking.sort_by_cached_key(|(_, document)| {
            let source = document.source.as_str();
            (!is_prose(source), Reverse(document.modified), source)
        });
        lacking
            .into_iter()
            .flat_map(|(lacks, _)| lacks)
            .copied()
            .collect()
    }
}

impl Reader for View {
    fn generation(&self) -> u64 {
        self.commit.generation
    }

    fn counts(&self, limits: Limits<'_>) -> Result<Counts, KbError> {
        limits.check()?;
        Ok(Counts {
            documents: self.documents.len(),
            chunks: self.documents.chunks(),
            words_only: self.documents.words_only(),
        })
    }

    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Arc<Document>>, KbError> {
        limits.check()?;
        let some = self.documents.after_name(after).take(limit);
        Ok(some.map(|stored| Arc::clone(&stored.document)).collect())
    }

    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>, KbError> {
        limits.check()?;
        let contents = paths.iter().map(|path| {
            let stored = self.documents.get(path);
            PathContents {
                document: stored.map(|stored| Arc::clone(&stored.document)),
                is_folder: self.documents.lie_in(path),
            }
        });
        Ok(contents.collect())
    }

    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches, KbError> {
        limits.check()?;
        let names = self.documents.iter().map(|stored| DocumentName {
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
        limits.check()?;
        let known = sources
            .iter()
            .filter_map(|source| self.documents.get(source));
        let mut links: Vec<(String, Vec<Link>)> = known
            .map(|stored| (stored.document.source.clone(), stored.links()))
            .collect();
        links.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(links)
    }

    fn links_to(
        &self,
        targets: &LinkTargets,
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        let mut found = Vec::new();
        for stored in self.documents.iter() {
            limits.check()?;
            let mut links = stored.links();
            links.retain(|link| targets.are_meant_by(link));
            if !links.is_empty() {
                found.push((stored.document.source.clone(), links));
            }
        }
        Ok(found)
    }

    fn openings(
        &self,
        sources: &[&str],
        passages: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Passage>, KbError> {
        let mut found = Vec::new();
        for stored in sources
            .iter()
            .filter_map(|source| self.documents.get(source))
        {
            limits.check()?;
            let first = stored.chunks.len().min(passages) as u32;
            for at in 0..first {
                found.extend(self.passage(ChunkId::new(stored.number, at))?);
            }
        }
        Ok(found)
    }

    fn lexical(
        &self,
        query: &str,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches, KbError> {
        within.go_on()?;
        let numbers: Option<Vec<u32>> = within.documents.map(|sources| {
            let documents = sources
                .iter()
                .filter_map(|source| self.documents.get(source));
            documents.map(|document| document.number).collect()
        });
        let found = self.lexical.search(query, k, numbers.as_deref())?;
        let matches = found.rows.into_iter();
        let mut matches: Vec<Match> = matches
            .filter_map(|(row, score)| self.match_for(self.chunk_of(row)?, score))
            .collect();
        matches.sort_by(Match::best_first);
        matches.truncate(k);
        let mut corrections = found.corrections;
        if !corrections.is_empty() {
            let best = matches.iter().take(SPELLING);
            let best = best.map(|found| self.passage(found.chunk));
            let best: Vec<Option<Passage>> = best.collect::<Result<_, _>>()?;
            let best = best.iter().flatten();
            let texts: Vec<&str> = best
                .flat_map(|passage| [passage.heading.as_str(), passage.text.as_str()])
                .collect();
            for correction in &mut corrections {
                correction.spelt = as_written(&correction.meant, &texts);
            }
        }
        let named = name.map_or(Ok(Vec::new()), |key| self.matches_by_name(key, within))?;
        Ok(LexicalMatches {
            matches,
            named,
            full: Some(found.full),
            corrections,
        })
    }

    fn semantic(
        &self,
        vector: &[f32],
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Match>, KbError> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        vectors.fits(vector)?;
        let nearest = match within.documents {
            Some(sources) => self.nearest_within(vector, k, sources.iter(), (&vectors, within))?,
            None => self.nearest(vector, k, &vectors, within.stop)?,
        };
        drop(vectors);
        within.go_on()?;
        let matches = nearest.into_iter();
        let mut matches: Vec<Match> = matches
            .filter_map(|(chunk, score)| self.match_for(chunk, score))
            .collect();
        matches.sort_by(Match::best_first);
        matches.truncate(k);
        Ok(matches)
    }

    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: FetchOptions<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<FetchedChunk>>, KbError> {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        limits.check()?;
        let cosines = match wanted.cosine_with {
            Some(vector) => self.cosines(chunks, vector, &vectors)?,
            None => vec![None; chunks.len()],
        };
        let fetch = |(chunk, cosine): (&ChunkId, Option<f64>)| {
            if self.place_of(*chunk).is_none() {
                return Ok(None);
            }
            limits.check()?;
            let passage = wanted.passages.then(|| self.passage(*chunk));
            let passage = passage.transpose()?.flatten();
            Ok(Some(FetchedChunk { passage, cosine }))
        };
        chunks.iter().zip(cosines).map(fetch).collect()
    }

    fn vectors(
        &self,
        keys: &[ChunkKey],
        limits: Limits<'_>,
    ) -> Result<Vec<Option<Vec<f32>>>, KbError> {
        limits.check()?;
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        keys.iter().map(|key| vectors.vector(key)).collect()
    }

    /// The cursor is a place in the list that the first page found.
    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage, KbError> {
        limits.check()?;
        let mut known = self
            .pending_list
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let from = match after {
            None => {
                *known = self.pending_chunks();
                0
            }
            Some(PendingCursor(from)) => from as usize,
        };
        let rest = known.get(from..).unwrap_or_default();
        let chunks = rest[..rest.len().min(limit)].to_vec();
        let end = from + chunks.len();
        let next = (end < known.len()).then_some(PendingCursor(end as u64));
        Ok(PendingPage { chunks, next })
    }

    fn pending_count(&self, limits: Limits<'_>) -> Result<usize, KbError> {
        limits.check()?;
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        Ok(self.pending_in(&vectors).len())
    }
}
