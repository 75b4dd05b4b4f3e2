use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::job::{Job, Phase};
use crate::kb::chunk::with_heading;
use crate::kb::error::KbError;
use crate::kb::index::{ChunkId, VectorBatch};
use crate::kb::index::{ChunkKey, KeyHash};

/// Chunks embedded between two writes, at first …
const BATCH: usize = 16;
/// … and at most, where the embedding is so fast that writing would slow it down.
const LARGEST_BATCH: usize = 256;
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
        let snapshot = job.store.snapshot();
        let pending = snapshot.pending()?;
        let (chunks, keys): (Vec<ChunkId>, Vec<ChunkKey>) = pending
            .iter()
            .filter(|(_, key)| !tried.contains(key))
            .copied()
            .unzip();
        let total = done + chunks.len();
        if pending.is_empty() {
            vectors.complete();
        }
        if chunks.is_empty() {
            if total > 0 {
                job.report(Phase::Embedding, total, total);
            }
            return Ok(done);
        }
        let mut at = 0;
        // Another commit has other chunks.
        while at < chunks.len() && job.store.snapshot().commit() == snapshot.commit() {
            job.report(Phase::Embedding, done, total);
            if job.stop.load(Ordering::Relaxed) {
                return Ok(done);
            }
            let begun = Instant::now();
            let end = chunks.len().min(at + batch);
            let passages = snapshot.passages(&chunks[at..end])?;
            let texts = passages.iter().map(|p| with_heading(&p.heading, &p.text));
            let texts: Vec<String> = texts.collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let Some(made) = job.embedder.embed_unless(&texts, job.stop)? else {
                return Ok(done);
            };
            let rows: Vec<_> = keys[at..end].iter().copied().zip(made).collect();
            vectors.put(&rows)?;
            tried.extend(&keys[at..end]);
            done += rows.len();
            at = end;
            if begun.elapsed() < SHORT {
                batch = LARGEST_BATCH.min(2 * batch);
            }
            job.store.refresh(job.embedder.model_id())?;
            // Only now: where the files never rest, it still gets on.
            if job.is_to_pause() {
                return Ok(done);
            }
        }
    }
}
