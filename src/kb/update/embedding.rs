//! The second phase of an update: the vectors, batch by batch.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::{Job, Phase, Unembedded};
use crate::kb::chunk::with_heading;
use crate::kb::error::KbError;
use crate::kb::index::{ChunkId, ChunkKey, FetchOptions, KeyHash, Passage, Reader, VectorBatch};

/// Chunks embedded between two writes, at first …
const BATCH: usize = 16;
/// … and at most, where the embedding is so fast that writing would slow it down.
const LARGEST_BATCH: usize = 256;
/// Pending chunks in one answer of the index.
const PAGE: usize = 4096;
/// A batch that takes less than this may grow.
const SHORT: Duration = Duration::from_millis(100);

impl Job<'_> {
    /// Embeds the chunks that have no vector yet, and says how many it did.
    pub fn embed_pending(&self) -> Result<usize, KbError> {
        match self.store.begin_vectors(self.limits()) {
            Ok(vectors) => embed(self, vectors),
            // The embedding process is doing it for another commit.
            Err(KbError::Locked) if self.store.reader().pending_count(self.limits())? == 0 => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Embeds what has no vector yet, kept batch by batch, and says how many that were. What is
/// indexed meanwhile is embedded too, what vanishes is not. Where the model gives vectors of another
/// length than the index holds, all are made anew.
fn embed(job: &Job<'_>, mut vectors: Box<dyn VectorBatch + '_>) -> Result<usize, KbError> {
    if is_of_another_length(job)? {
        tracing::warn!("the model gives vectors of another length: all are made anew");
        vectors.clear(job.limits())?;
    }
    let mut tried: HashSet<ChunkKey, KeyHash> = HashSet::default();
    // What was refused once in this process is not asked for again at each change of a file.
    tried.extend(job.refused.lock().keys());
    let mut batch = BATCH.max(job.embedder.batch());
    let mut done = 0;
    loop {
        let reader = job.store.reader();
        let pending = reader.pending_count(job.limits())?;
        let mut cursor = None;
        let mut is_moved_on = false;
        let mut found_new = false;
        let mut still_pending: HashSet<ChunkKey, KeyHash> = HashSet::default();
        while !is_moved_on {
            let page = reader.pending(cursor, PAGE, job.limits())?;
            still_pending.extend(page.chunks.iter().map(|(_, key)| *key));
            let chunks = page.chunks.into_iter();
            let chunks: Vec<_> = chunks.filter(|(_, key)| !tried.contains(key)).collect();
            let total = done + chunks.len().max(pending.saturating_sub(tried.len()));
            let mut at = 0;
            while at < chunks.len() {
                found_new = true;
                // Another commit has other chunks.
                if job.store.reader().generation() != reader.generation() {
                    is_moved_on = true;
                    break;
                }
                job.report(Phase::Embedding, done, total);
                if job.cancel.is_cancelled() {
                    return Ok(done);
                }
                let begun = Instant::now();
                let end = chunks.len().min(at + batch);
                let Some(mut made) = embed_chunks(job, reader.as_ref(), &chunks[at..end])? else {
                    return Ok(done);
                };
                made.retain(|(_, vector)| !vector.is_empty());
                vectors.put_vectors(&made, job.limits())?;
                tried.extend(chunks[at..end].iter().map(|(_, key)| *key));
                done += made.len();
                at = end;
                if begun.elapsed() < SHORT {
                    batch = LARGEST_BATCH.min(2 * batch);
                }
                job.store.refresh(job.embedder.model_id(), job.limits())?;
                // Only now: where the files never rest, it still gets on.
                if job.is_to_pause() {
                    return Ok(done);
                }
            }
            cursor = page.next;
            is_moved_on |= cursor.is_none();
        }
        if pending == 0 {
            vectors.complete(job.limits())?;
        }
        if !found_new {
            job.refused
                .lock()
                .retain(|key, _| still_pending.contains(key));
            if done > 0 {
                job.report(Phase::Embedding, done, done);
            }
            return Ok(done);
        }
    }
}

/// Vectors under the keys of their chunks.
type ChunkVectors = Vec<(ChunkKey, Vec<f32>)>;

/// The vectors of these chunks, without those that are gone; `None` when it was stopped.
fn embed_chunks(
    job: &Job<'_>,
    reader: &dyn Reader,
    chunks: &[(ChunkId, ChunkKey)],
) -> Result<Option<ChunkVectors>, KbError> {
    let ids: Vec<ChunkId> = chunks.iter().map(|(chunk, _)| *chunk).collect();
    let fetched = reader.fetch(&ids, FetchOptions::PASSAGES, job.limits())?;
    let known = chunks
        .iter()
        .zip(fetched)
        .filter_map(|((_, key), fetched)| Some((*key, fetched?.passage?)));
    let (keys, passages): (Vec<ChunkKey>, Vec<Passage>) = known.unzip();
    let texts = passages
        .iter()
        .map(|passage| with_heading(&passage.heading, &passage.text));
    let texts: Vec<String> = texts.collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if texts.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let made = job
        .embedder
        .embed_unless(&texts, job.priority, job.cancel)?;
    let Some(made) = made else {
        return Ok(None);
    };
    for ((key, passage), vector) in keys.iter().zip(passages).zip(&made) {
        if vector.is_empty() {
            let why = job.embedder.last_refusal();
            let refused = Unembedded {
                path: passage.source,
                lines: passage.lines,
                why: why.map_or_else(String::new, |why| why.0.what),
            };
            job.refused.lock().insert(*key, refused);
        }
    }
    Ok(Some(keys.into_iter().zip(made).collect()))
}

/// Whether the model has become another one behind its name.
fn is_of_another_length(job: &Job<'_>) -> Result<bool, KbError> {
    let Some(kept) = job.store.dimensions(job.limits())? else {
        return Ok(false);
    };
    if job.embedder.length_now().is_none_or(|now| now == kept) {
        return Ok(false);
    }
    // One odd reply throws nothing away: the model is asked once more.
    let again = job
        .embedder
        .embed_unless(&["text"], job.priority, job.cancel)?;
    let vector = again.and_then(|vectors| vectors.into_iter().next());
    Ok(vector.is_some_and(|vector| !vector.is_empty() && vector.len() != kept))
}
