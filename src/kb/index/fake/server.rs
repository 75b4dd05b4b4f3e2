//! What all machines share, in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::kb::chunk::Chunk;
use crate::kb::error::KbError;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::document::{Document, LocalStamp};
use crate::kb::index::limits::{Limits, Within};
use crate::kb::index::matches::{ChunkId, Match, Passage};
use crate::kb::links::Link;
use crate::text::Trouble;

/// How long a call takes.
const CALL: Duration = Duration::from_millis(5);

/// What all machines share.
#[derive(Default)]
pub(crate) struct Server {
    state: Mutex<State>,
    holders: AtomicU64,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) clock: Duration,
    pub(super) calls: Vec<&'static str>,
    /// How many of a thousand calls fail, and the random sequence that chooses them.
    pub(super) failing: Option<(u32, fastrand::Rng)>,
    pub(super) generation: u64,
    pub(super) documents: BTreeMap<String, Stored>,
    pub(super) next_number: u32,
    pub(super) stamps: HashMap<(u32, String), LocalStamp>,
    pub(super) vectors: HashMap<ChunkKey, Vec<f32>>,
    pub(super) writer: Option<u64>,
    pub(super) vector_writer: Option<u64>,
    pub(super) leases: HashMap<String, (u64, Duration)>,
}

#[derive(Clone)]
pub(super) struct Stored {
    pub(super) document: Document,
    pub(super) number: u32,
    pub(super) links: Vec<Link>,
    pub(super) chunks: Vec<(ChunkKey, Chunk)>,
}

impl Stored {
    pub(super) fn ids(&self) -> impl Iterator<Item = (ChunkId, &(ChunkKey, Chunk))> {
        let chunks = (0_u32..).zip(&self.chunks);
        chunks.map(|(at, chunk)| (ChunkId::new(self.number, at), chunk))
    }

    pub(super) fn passage(&self, chunk: &Chunk) -> Passage {
        Passage {
            source: self.document.source.clone(),
            lines: chunk.lines,
            place: chunk.place.clone(),
            heading: chunk.heading.clone(),
            text: chunk.text.clone(),
        }
    }
}

impl Server {
    /// Takes the names of the calls since the last time.
    pub fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().calls)
    }

    /// Lets `of_a_thousand` of a thousand calls fail from now on; `seed` chooses which.
    pub fn fail(&self, of_a_thousand: u32, seed: u64) {
        let random = fastrand::Rng::with_seed(seed);
        self.state().failing = (of_a_thousand > 0).then_some((of_a_thousand, random));
    }

    /// Moves the clock on.
    pub fn pass(&self, time: Duration) {
        self.state().clock += time;
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn call(
        &self,
        name: &'static str,
        limits: Limits<'_>,
    ) -> Result<MutexGuard<'_, State>, KbError> {
        limits.check()?;
        let mut state = self.state();
        state.clock += CALL;
        state.calls.push(name);
        if state.fails() {
            return Err(unreachable_server());
        }
        Ok(state)
    }

    pub(super) fn holder(&self) -> u64 {
        self.holders.fetch_add(1, Ordering::Relaxed) + 1
    }
}

pub(super) fn unreachable_server() -> KbError {
    KbError::Store(Trouble::new("the server cannot be reached", "try again"))
}

impl State {
    pub(super) fn fails(&mut self) -> bool {
        let failing = self.failing.as_mut();
        failing.is_some_and(|(rate, random)| random.u32(0..1000) < *rate)
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = (ChunkId, &Stored, &(ChunkKey, Chunk))> {
        let stored = self.documents.values();
        stored.flat_map(|stored| stored.ids().map(move |(id, chunk)| (id, stored, chunk)))
    }

    pub(super) fn document(&self, stored: &Stored, machine: u32) -> Arc<Document> {
        let key = (machine, stored.document.source.clone());
        Arc::new(Document {
            stamp: self.stamps.get(&key).copied(),
            ..stored.document.clone()
        })
    }

    pub(super) fn best(
        &self,
        k: usize,
        within: Within<'_>,
        score: impl Fn(&(ChunkKey, Chunk)) -> Option<f64>,
    ) -> Vec<Match> {
        let chunks = self.chunks().filter(|(_, stored, _)| {
            let documents = within.documents;
            documents.is_none_or(|documents| documents.contains(&stored.document.source))
        });
        let mut matches: Vec<Match> = chunks
            .filter_map(|(id, stored, chunk)| {
                Some(Match {
                    chunk: id,
                    source: stored.document.source.clone(),
                    lines: chunk.1.lines,
                    score: score(chunk)?,
                })
            })
            .collect();
        matches.sort_by(Match::best_first);
        matches.truncate(k);
        matches
    }
}
