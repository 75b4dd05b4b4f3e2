use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::job::{Job, Phase};
use crate::kb::chunk::with_heading;
use crate::kb::error::KbError;
use crate::kb::index::{ChunkId, Reader, VectorBatch, Wanted};
use crate::kb::index::{ChunkKey, KeyHash};

/// Chunks embedded between two writes, at first …
const BATCH: usize = 16;
/// … and at most, where the embedding is so fast that writing would slow it down.
const LARGEST_BATCH: usize = 256;
/// Pending chunks in one answer of the index.
const PAGE: usize = 4096;
/// A batch that takes less than this may grow.
const SHORT: Duration = Duration::from_millis(100);

/// Embeds what has no vector yet, kept batch by batch, and says how many that were. What is
/// indexed meanwhile is embedded too, what vanishes is not.
pub(super) fn embed(
    job: &Job<'_>,
    mut vectors: Box<dyn VectorBatch + '_>,
) -> Result<usize, KbError> {
    let mut tried: HashSet<ChunkKey, KeyHash> = HashSet::default();
    let mut batch = BATCH.max(job.embedder.batch());
    let mut done = 0;
    loop {
        let reader = job.store.reader();
        let pending = reader.pending_count(job.limits())?;
        let mut cursor = None;
        let mut is_moved_on = false;
        let mut found_new = false;
        while !is_moved_on {
            let page = reader.pending(cursor, PAGE, job.limits())?;
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
                if job.stop.load(Ordering::Relaxed) {
                    return Ok(done);
                }
                let begun = Instant::now();
                let end = chunks.len().min(at + batch);
                let Some(made) = embedded(job, reader.as_ref(), &chunks[at..end])? else {
                    return Ok(done);
                };
                vectors.put(&made, job.limits())?;
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
            if done > 0 {
                job.report(Phase::Embedding, done, done);
            }
            return Ok(done);
        }
    }
}

/// Vectors under the keys of their chunks.
type Made = Vec<(ChunkKey, Vec<f32>)>;

/// The vectors of these chunks, without those that are gone; `None` when it was stopped.
fn embedded(
    job: &Job<'_>,
    reader: &dyn Reader,
    chunks: &[(ChunkId, ChunkKey)],
) -> Result<Option<Made>, KbError> {
    let ids: Vec<ChunkId> = chunks.iter().map(|(chunk, _)| *chunk).collect();
    let fetched = reader.fetch(&ids, Wanted::PASSAGES, job.limits())?;
    let known = chunks
        .iter()
        .zip(fetched)
        .filter_map(|((_, key), fetched)| {
            let passage = fetched?.passage?;
            Some((*key, with_heading(&passage.heading, &passage.text)))
        });
    let (keys, texts): (Vec<ChunkKey>, Vec<String>) = known.unzip();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if texts.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let made = job.embedder.embed_unless(&texts, job.priority, job.stop)?;
    Ok(made.map(|made| keys.into_iter().zip(made).collect()))
}
