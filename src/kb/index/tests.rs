//! An index in memory that promises no more than the port does: the engine on another machine of
//! the tests.
//!
//! Each call takes 5 ms of a clock of its own and is counted; a reader sees whatever is there at the
//! moment; calls fail at random where that is asked for, a commit also after it is done; stamps
//! belong to the machine that took them. It has no statistics of terms and knows no near ones.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::names::{self, DocumentName};
use super::port::{
    Batch, ChunkId, ChunkKey, Counts, Document, FetchOptions, FetchedChunk, Lease, LexicalMatches,
    Limits, LinksBySource, LocalStamp, MOST_NAMED, Match, NameMatches, NameQuery, NewDocument,
    Passage, PathContents, PendingCursor, PendingPage, Reader, Result, Store, VectorBatch, Within,
};
use super::tokens;
use crate::kb::chunk::Chunk;
use crate::kb::error::KbError;
use crate::kb::links::{Link, LinkTargets};
use crate::text::Trouble;

/// The server as one machine uses it.
pub(crate) struct FakeStore {
    server: Arc<Server>,
    machine: u32,
    generation: AtomicU64,
}

impl FakeStore {
    /// Opens the server as the machine of that number.
    pub fn new(server: &Arc<Server>, machine: u32) -> Self {
        let generation = server.state.lock().generation;
        Self {
            server: Arc::clone(server),
            machine,
            generation: AtomicU64::new(generation),
        }
    }
}

impl Store for FakeStore {
    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(FakeReader {
            server: Arc::clone(&self.server),
            machine: self.machine,
            generation: self.generation.load(Ordering::Relaxed),
        })
    }

    fn refresh(&self, _: &str, limits: Limits<'_>) -> Result<()> {
        let state = self.server.call("refresh", limits)?;
        self.generation.store(state.generation, Ordering::Relaxed);
        Ok(())
    }

    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>> {
        let holder = self.server.holder();
        let mut state = self.server.call("begin", limits)?;
        if state.writer.is_some() {
            return Err(KbError::Locked);
        }
        state.writer = Some(holder);
        Ok(Box::new(FakeBatch {
            server: &self.server,
            machine: self.machine,
            generation: &self.generation,
            holder,
            afresh,
            changes: Vec::new(),
            stamps: Vec::new(),
        }))
    }

    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>> {
        let holder = self.server.holder();
        let mut state = self.server.call("begin_vectors", limits)?;
        if state.vector_writer.is_some() {
            return Err(KbError::Locked);
        }
        state.vector_writer = Some(holder);
        Ok(Box::new(FakeVectorBatch {
            server: &self.server,
            holder,
        }))
    }

    fn lease(
        &self,
        name: &str,
        time: Duration,
        limits: Limits<'_>,
    ) -> Result<Option<Box<dyn Lease>>> {
        let holder = self.server.holder();
        let mut state = self.server.call("lease", limits)?;
        let now = state.clock;
        if state.leases.get(name).is_some_and(|(_, end)| *end > now) {
            return Ok(None);
        }
        state.leases.insert(name.to_owned(), (holder, now + time));
        Ok(Some(Box::new(FakeLease {
            server: Arc::clone(&self.server),
            name: name.to_owned(),
            holder,
            time,
        })))
    }
}

/// How long a call takes.
const CALL: Duration = Duration::from_millis(5);

/// What all machines share.
#[derive(Default)]
pub(crate) struct Server {
    state: Mutex<State>,
    holders: AtomicU64,
}

#[derive(Default)]
struct State {
    clock: Duration,
    calls: Vec<&'static str>,
    /// How many of a thousand calls fail, and the random sequence that chooses them.
    failing: Option<(u32, fastrand::Rng)>,
    generation: u64,
    documents: BTreeMap<String, Stored>,
    next_number: u32,
    stamps: HashMap<(u32, String), LocalStamp>,
    vectors: HashMap<ChunkKey, Vec<f32>>,
    writer: Option<u64>,
    vector_writer: Option<u64>,
    leases: HashMap<String, (u64, Duration)>,
}

#[derive(Clone)]
struct Stored {
    document: Document,
    number: u32,
    links: Vec<Link>,
    chunks: Vec<(ChunkKey, Chunk)>,
}

impl Stored {
    fn ids(&self) -> impl Iterator<Item = (ChunkId, &(ChunkKey, Chunk))> {
        let chunks = (0_u32..).zip(&self.chunks);
        chunks.map(|(at, chunk)| (ChunkId::new(self.number, at), chunk))
    }

    fn passage(&self, chunk: &Chunk) -> Passage {
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
        std::mem::take(&mut self.state.lock().calls)
    }

    /// Lets `of_a_thousand` of a thousand calls fail from now on; `seed` chooses which.
    pub fn fail(&self, of_a_thousand: u32, seed: u64) {
        let random = fastrand::Rng::with_seed(seed);
        self.state.lock().failing = (of_a_thousand > 0).then_some((of_a_thousand, random));
    }

    /// Moves the clock on.
    pub fn pass(&self, time: Duration) {
        self.state.lock().clock += time;
    }

    fn call(&self, name: &'static str, limits: Limits<'_>) -> Result<MutexGuard<'_, State>> {
        limits.check()?;
        let mut state = self.state.lock();
        state.clock += CALL;
        state.calls.push(name);
        if state.fails() {
            return Err(unreachable_server());
        }
        Ok(state)
    }

    fn holder(&self) -> u64 {
        self.holders.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn unreachable_server() -> KbError {
    KbError::Store(Trouble::new("the server cannot be reached", "try again"))
}

impl State {
    fn fails(&mut self) -> bool {
        let failing = self.failing.as_mut();
        failing.is_some_and(|(rate, random)| random.u32(0..1000) < *rate)
    }

    fn chunks(&self) -> impl Iterator<Item = (ChunkId, &Stored, &(ChunkKey, Chunk))> {
        let stored = self.documents.values();
        stored.flat_map(|stored| stored.ids().map(move |(id, chunk)| (id, stored, chunk)))
    }

    fn document(&self, stored: &Stored, machine: u32) -> Arc<Document> {
        let key = (machine, stored.document.source.clone());
        Arc::new(Document {
            stamp: self.stamps.get(&key).copied(),
            ..stored.document.clone()
        })
    }

    fn best(
        &self,
        k: usize,
        within: Within<'_>,
        score: impl Fn(&(ChunkKey, Chunk)) -> Option<f64>,
    ) -> Vec<Match> {
        let chunks = self.chunks().filter(|(_, stored, _)| {
            let documents = within.documents;
            documents.is_none_or(|documents| documents.contains(&stored.document.source))
        });
        let chunks = chunks.filter(|(id, ..)| within.lets_through(*id));
        let matches = chunks.filter_map(|(id, stored, chunk)| {
            Some(Match {
                chunk: id,
                source: stored.document.source.clone(),
                lines: chunk.1.lines,
                score: score(chunk)?,
            })
        });
        Match::best(matches, k)
    }
}

/// Reads what is there at the moment.
struct FakeReader {
    server: Arc<Server>,
    machine: u32,
    generation: u64,
}

impl Reader for FakeReader {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn counts(&self, limits: Limits<'_>) -> Result<Counts> {
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
    ) -> Result<Vec<Arc<Document>>> {
        let state = self.server.call("page", limits)?;
        let rest = state.documents.values();
        let rest = rest.filter(|stored| after.is_none_or(|after| *stored.document.source > *after));
        let page = rest.take(limit);
        Ok(page
            .map(|stored| state.document(stored, self.machine))
            .collect())
    }

    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>> {
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

    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches> {
        let state = self.server.call("find", limits)?;
        let names = state.documents.values().map(|stored| DocumentName {
            source: &stored.document.source,
            title: &stored.document.title,
        });
        names::matches(&names.collect::<Vec<_>>(), query)
    }

    fn chunks_with(&self, terms: &[&str], within: Within<'_>) -> Result<Vec<ChunkId>> {
        let state = self.server.call("chunks_with", within.limits())?;
        let found = state.best(usize::MAX, within, |(_, chunk)| {
            let own = tokens::terms(&chunk.indexed_text());
            let holds = |term: &&str| own.iter().any(|own| own.text == **term);
            terms.iter().all(holds).then_some(0.0)
        });
        Ok(found.into_iter().map(|found| found.chunk).collect())
    }

    fn links_of(&self, sources: &[&str], limits: Limits<'_>) -> Result<LinksBySource> {
        let state = self.server.call("links_of", limits)?;
        let wanted: HashSet<&str> = sources.iter().copied().collect();
        let known = state.documents.iter();
        let known = known.filter(|(source, _)| wanted.contains(source.as_str()));
        Ok(known
            .map(|(source, stored)| (source.clone(), stored.links.clone()))
            .collect())
    }

    fn links_to(&self, targets: &LinkTargets, limits: Limits<'_>) -> Result<LinksBySource> {
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
    ) -> Result<Vec<Passage>> {
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
    ) -> Result<LexicalMatches> {
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

    fn semantic(&self, vector: &[f32], k: usize, within: Within<'_>) -> Result<Vec<Match>> {
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
    ) -> Result<Vec<Option<FetchedChunk>>> {
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

    fn vectors(&self, keys: &[ChunkKey], limits: Limits<'_>) -> Result<Vec<Option<Vec<f32>>>> {
        let state = self.server.call("vectors", limits)?;
        let vectors = keys.iter().map(|key| state.vectors.get(key).cloned());
        Ok(vectors.collect())
    }

    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage> {
        let state = self.server.call("pending", limits)?;
        let after = after.map(|PendingCursor(last)| ChunkId::unpack(last));
        let mut pending = pending(&state);
        pending.retain(|(id, _)| after.is_none_or(|after| *id > after));
        let is_more = pending.len() > limit;
        pending.truncate(limit);
        let last = pending.last().filter(|_| is_more);
        let next = last.map(|(id, _)| PendingCursor(id.pack()));
        Ok(PendingPage {
            chunks: pending,
            next,
        })
    }

    fn pending_count(&self, limits: Limits<'_>) -> Result<usize> {
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

struct FakeLease {
    server: Arc<Server>,
    name: String,
    holder: u64,
    time: Duration,
}

impl Lease for FakeLease {
    fn renew(&self) -> Result<bool> {
        let mut state = self.server.state.lock();
        let now = state.clock;
        let held = state.leases.get_mut(&self.name);
        let own = held.filter(|(holder, end)| *holder == self.holder && *end > now);
        Ok(own.map(|held| held.1 = now + self.time).is_some())
    }
}

impl Drop for FakeLease {
    fn drop(&mut self) {
        let mut state = self.server.state.lock();
        let held = state.leases.get(&self.name);
        if held.is_some_and(|(holder, _)| *holder == self.holder) {
            state.leases.remove(&self.name);
        }
    }
}

enum FakeChange {
    Put(NewDocument),
    Remove(String),
}

struct FakeBatch<'a> {
    server: &'a Arc<Server>,
    machine: u32,
    generation: &'a AtomicU64,
    holder: u64,
    afresh: bool,
    changes: Vec<FakeChange>,
    stamps: Vec<(String, LocalStamp)>,
}

impl Batch for FakeBatch<'_> {
    fn previous_reader(&self) -> Option<Arc<dyn Reader>> {
        let reader = || FakeReader {
            server: Arc::clone(self.server),
            machine: self.machine,
            generation: self.generation.load(Ordering::Relaxed),
        };
        (!self.afresh).then(|| Arc::new(reader()) as Arc<dyn Reader>)
    }

    fn expect(&mut self, _: usize) {}

    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<()> {
        drop(self.server.call("put", limits)?);
        self.changes.push(FakeChange::Put(document));
        Ok(())
    }

    fn restamp(&mut self, source: &str, stamp: LocalStamp, limits: Limits<'_>) -> Result<()> {
        limits.check()?;
        self.stamps.push((source.to_owned(), stamp));
        Ok(())
    }

    fn remove(&mut self, source: &str, limits: Limits<'_>) -> Result<()> {
        drop(self.server.call("remove", limits)?);
        self.changes.push(FakeChange::Remove(source.to_owned()));
        Ok(())
    }

    fn commit(&mut self, limits: Limits<'_>) -> Result<()> {
        let machine = self.machine;
        let mut state = self.server.call("commit", limits)?;
        let clear = std::mem::take(&mut self.afresh);
        if clear {
            state.documents.clear();
        }
        let is_changed = clear || !self.changes.is_empty();
        for change in self.changes.drain(..) {
            match change {
                FakeChange::Remove(source) => {
                    state.documents.remove(&source);
                }
                FakeChange::Put(document) => {
                    state.next_number += 1;
                    let source = document.source;
                    state
                        .stamps
                        .insert((machine, source.clone()), document.stamp);
                    let stored = Stored {
                        document: Document {
                            source: source.clone(),
                            title: document.title,
                            hash: document.hash,
                            bytes: document.stamp.stamp.size,
                            modified: document.stamp.stamp.modified,
                            chunks: document.chunks.len(),
                            metadata: document.metadata,
                            stamp: None,
                        },
                        number: state.next_number,
                        links: document.links,
                        chunks: document.chunks,
                    };
                    state.documents.insert(source, stored);
                }
            }
        }
        for (source, stamp) in self.stamps.drain(..) {
            state.stamps.insert((machine, source), stamp);
        }
        if is_changed {
            state.generation = (state.clock.as_millis() as u64).max(state.generation + 1);
        }
        let generation = self.generation;
        generation.store(state.generation, Ordering::Relaxed);
        if state.fails() {
            // It is done, and what comes back is lost.
            return Err(unreachable_server());
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, limits: Limits<'_>) -> Result<()> {
        self.commit(limits)
    }
}

impl Drop for FakeBatch<'_> {
    fn drop(&mut self) {
        let mut state = self.server.state.lock();
        state.writer.take_if(|holder| *holder == self.holder);
    }
}

struct FakeVectorBatch<'a> {
    server: &'a Arc<Server>,
    holder: u64,
}

impl VectorBatch for FakeVectorBatch<'_> {
    fn put_vectors(&mut self, vectors: &[(ChunkKey, Vec<f32>)], limits: Limits<'_>) -> Result<()> {
        let mut state = self.server.call("put_vectors", limits)?;
        state.vectors.extend(vectors.iter().cloned());
        Ok(())
    }

    fn complete(&mut self, limits: Limits<'_>) -> Result<()> {
        self.server.call("complete", limits).map(drop)
    }

    fn clear(&mut self, limits: Limits<'_>) -> Result<()> {
        let mut state = self.server.call("clear", limits)?;
        state.vectors.clear();
        Ok(())
    }
}

impl Drop for FakeVectorBatch<'_> {
    fn drop(&mut self) {
        let mut state = self.server.state.lock();
        state.vector_writer.take_if(|holder| *holder == self.holder);
    }
}
