//! The interface of every index engine, and the plain types that go over it.
//!
//! Updating and searching know these verbs and nothing of files, so that an engine on other machines
//! can stand behind them: every verb that asks the engine may fail, ends at its [`Limits`] and gives
//! no more than a page. What an engine must guarantee is said at each verb; the rest of the program
//! relies on no more than that. `embedded` is the engine in the data folder.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::phrases::PhraseFilter;
use crate::agent::ports::{Caller, WaitSink};
use crate::domain::{Day, LineRange, Place};
use crate::kb::budget::Reservation;
use crate::kb::chunk::Chunk;
use crate::kb::error::KbError;
use crate::kb::links::{Link, LinkTargets};
use crate::kb::source::Stamp;

/// What a call to an index gives.
pub(crate) type Result<T, E = KbError> = std::result::Result<T, E>;

/// References by the documents that make them, in the order of their names.
pub(crate) type LinksBySource = Vec<(String, Vec<Link>)>;

/// An index: what can be asked of it, and what can be done to it.
pub(crate) trait Store: Send + Sync {
    /// Reads what is known of the last commit. Asks the engine nothing.
    fn reader(&self) -> Arc<dyn Reader>;

    /// Moves on to the last commit and the last vectors of this model, of whatever process. What an
    /// endpoint's model is called may become known late.
    fn refresh(&self, model_id: &str, limits: Limits<'_>) -> Result<()>;

    /// Starts changing documents; `afresh` begins with none. One writer at a time among all
    /// processes: while there is another, this is [`KbError::Locked`], at once.
    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>>;

    /// Starts adding vectors, beside a writer of documents. One at a time among all processes:
    /// while there is another, this is [`KbError::Locked`], at once.
    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>>;

    /// How many numbers the vectors of the model have; `None` while there are none, and where others
    /// keep vectors there too, perhaps by servers of their own.
    fn dimensions(&self, limits: Limits<'_>) -> Result<Option<usize>> {
        limits.check().map(|()| None)
    }

    /// The id of the model whose vectors are searched by all who share the index; `None` while there are
    /// none, and of an index that nobody shares.
    fn model_in_use(&self, limits: Limits<'_>) -> Result<Option<String>> {
        limits.check().map(|()| None)
    }

    /// The leadership of that name for so long, renewed or not; `None` while another holds it.
    fn lease(
        &self,
        name: &str,
        time: Duration,
        limits: Limits<'_>,
    ) -> Result<Option<Box<dyn Lease>>>;
}

/// Leadership for a time. It is given back when this is dropped.
pub trait Lease: Send {
    /// Begins the time anew. `false` when it was over and may be another's: then it is lost.
    fn renew(&self) -> Result<bool>;
}

/// The damage of an index, a line each; the next update makes the damaged part anew.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Damage {
    /// Damage to the documents and their words.
    pub documents: Option<String>,
    /// Damage to the vectors of the model.
    pub vectors: Option<String>,
}

/// Reads an index at a commit or, where the engine keeps no earlier ones, at a later one. What has
/// gone since is left out of what comes back, and is no error.
pub(crate) trait Reader: Send + Sync {
    /// Which commit it was made for: a greater number for a later one, 0 before the first. Asks the
    /// engine nothing.
    fn generation(&self) -> u64;

    /// How many documents and chunks there are.
    fn counts(&self, limits: Limits<'_>) -> Result<Counts>;

    /// The first `limit` documents after that name, in the order of their names.
    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Arc<Document>>>;

    /// The contents at each of these paths.
    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>>;

    /// The documents that a name means.
    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches>;

    /// The documents that `is_wanted` takes, in the order of their names.
    fn documents_that(
        &self,
        is_wanted: &mut dyn FnMut(&DocumentFacts<'_>) -> bool,
        limits: Limits<'_>,
    ) -> Result<Vec<String>> {
        limits.check()?;
        let mut found = Vec::new();
        for_each_document(self, limits, |document| {
            if is_wanted(&document.facts()) {
                found.push(document.source.clone());
            }
        })?;
        Ok(found)
    }

    /// The chunks that hold all of these terms of the index, in no order.
    fn chunks_with(&self, terms: &[&str], within: Within<'_>) -> Result<Vec<ChunkId>>;

    /// The references that these documents make.
    fn links_of(&self, sources: &[&str], limits: Limits<'_>) -> Result<LinksBySource>;

    /// The references that lead there.
    fn links_to(&self, targets: &LinkTargets, limits: Limits<'_>) -> Result<LinksBySource>;

    /// The first so many passages of each of these documents, in this order.
    fn openings(
        &self,
        sources: &[&str],
        passages: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Passage>>;

    /// The chunks that hold the query's words with their BM25, best first; equal ones in the
    /// order of [`Match::best_first`], whatever came into the index before or after. With a `name`, a
    /// key of `tokens::name_key`, those come along that have a name of that key.
    fn lexical(
        &self,
        query: &str,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches>;

    /// The chunks nearest to the vector with their cosine, best first; only those that have one.
    fn semantic(&self, vector: &[f32], k: usize, within: Within<'_>) -> Result<Vec<Match>>;

    /// Fetches parts of these chunks as they were indexed, whatever the files say now; `None` for those
    /// that are gone.
    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: FetchOptions<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<FetchedChunk>>>;

    /// The vectors under these keys; `None` where there is none.
    fn vectors(&self, keys: &[ChunkKey], limits: Limits<'_>) -> Result<Vec<Option<Vec<f32>>>>;

    /// Chunks that have no vector yet, each text once and without those that are found by their words
    /// only: the first `limit`, or those after a page before. If it can, the engine names prose before
    /// everything else, and of each the documents first that were written last.
    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage>;

    /// The number of texts that have no vector yet; quick however many chunks there are.
    fn pending_count(&self, limits: Limits<'_>) -> Result<usize>;
}

/// How much an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub documents: usize,
    pub chunks: usize,
    /// The number of chunks that are found by their words only.
    pub words_only: usize,
}

/// The position where a page of pending chunks ended; only the engine interprets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingCursor(pub(super) u64);

/// Some of the chunks that have no vector yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PendingPage {
    pub chunks: Vec<(ChunkId, ChunkKey)>,
    /// Where the next page begins; `None` behind the last.
    pub next: Option<PendingCursor>,
}

/// Changes to the documents, visible together or not at all. Dropped without a commit, nothing
/// has happened; a kill at any moment leaves the last commit.
pub(crate) trait Batch {
    /// A reader of the documents before this batch; `None` when everything is made anew. Asks the
    /// engine nothing.
    fn previous_reader(&self) -> Option<Arc<dyn Reader>>;

    /// The longest name that a document may have here, in bytes.
    fn longest_source(&self) -> usize {
        usize::MAX
    }

    /// Announces how many documents will be put, as a hint for the engine.
    fn expect(&mut self, documents: usize);

    /// Adds a document, in place of one of that name.
    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<()>;

    /// Notes a document's new stamp; its text is the same as before.
    fn restamp(&mut self, source: &str, stamp: LocalStamp, limits: Limits<'_>) -> Result<()>;

    /// Forgets a document.
    fn remove(&mut self, source: &str, limits: Limits<'_>) -> Result<()>;

    /// Makes everything since the last commit visible. May be called again and again. Once it has
    /// begun, no limit ends it half done.
    fn commit(&mut self, limits: Limits<'_>) -> Result<()>;

    /// The last commit, after which the store may take time to put itself in order.
    fn finish(self: Box<Self>, limits: Limits<'_>) -> Result<()>;
}

/// Adds vectors. Each is kept at once: there is nothing to commit.
pub(crate) trait VectorBatch {
    /// Keeps vectors under the keys of their chunks, for good and at once. Those of chunks that
    /// have vanished are no error.
    fn put_vectors(&mut self, vectors: &[(ChunkKey, Vec<f32>)], limits: Limits<'_>) -> Result<()>;

    /// Says that every chunk has its vector: those of models that are no longer used may go.
    fn complete(&mut self, limits: Limits<'_>) -> Result<()>;

    /// Forgets all vectors.
    fn clear(&mut self, limits: Limits<'_>) -> Result<()>;
}

/// The number of documents in one answer of the index.
const PAGE: usize = 4096;

/// Calls `each` with every document, in the order of their names, a page at a time; each page is a
/// call of its own.
pub(crate) fn for_each_document<R: Reader + ?Sized>(
    reader: &R,
    limits: Limits<'_>,
    mut each: impl FnMut(&Arc<Document>),
) -> Result<()> {
    let mut last: Option<Arc<Document>> = None;
    loop {
        let after = last.as_ref().map(|document| document.source.as_str());
        let page = reader.page(after, PAGE, limits.renewed())?;
        page.iter().for_each(&mut each);
        if page.len() < PAGE {
            return Ok(());
        }
        last = page.into_iter().next_back();
    }
}

/// One document of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its file, as evidence names it.
    pub source: String,
    /// Its first heading, or the file's name.
    pub title: String,
    /// BLAKE3 of what was read from it: the same on every machine.
    pub hash: [u8; 32],
    /// The size of its file in bytes, when it was read.
    pub bytes: u64,
    /// When its file was written, in nanoseconds since 1970.
    pub(crate) modified: u64,
    /// How many chunks it has.
    pub chunks: usize,
    /// What it says of itself that questions are limited by.
    #[serde(rename = "labels")]
    pub metadata: DocumentMetadata,
    /// The file on this machine when it was read here; `None` where only another machine has read it.
    pub(crate) stamp: Option<LocalStamp>,
}

impl Document {
    /// When its file was written.
    pub fn modified(&self) -> SystemTime {
        let since = Duration::from_nanos(self.modified);
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }

    /// What questions are limited by.
    pub(crate) fn facts(&self) -> DocumentFacts<'_> {
        DocumentFacts::new(&self.source, self.modified, &self.metadata)
    }
}

/// What a document says of itself that questions are limited by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DocumentMetadata {
    /// Its day, where it says one.
    pub day: Option<Day>,
    /// Its tags, each once and in lower case, without `#`.
    pub tags: Vec<String>,
}

/// What questions are limited by of one document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentFacts<'d> {
    pub source: &'d str,
    /// Its own day, else that on which its file was written, by the clock of this machine.
    pub day: Day,
    pub tags: &'d [String],
}

impl<'d> DocumentFacts<'d> {
    /// `modified` is when its file was written, in nanoseconds since 1970.
    pub fn new(source: &'d str, modified: u64, metadata: &'d DocumentMetadata) -> Self {
        let written = || {
            let moment = jiff::Timestamp::from_nanosecond(i128::from(modified));
            let moment = moment.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
            Day::from_date(moment.to_zoned(TimeZone::system()).date())
        };
        Self {
            source,
            day: metadata.day.unwrap_or_else(written),
            tags: &metadata.tags,
        }
    }
}

/// The stamp of a file on this machine; other machines see another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LocalStamp {
    /// The file before it was read.
    pub stamp: Stamp,
    /// Whether it was old enough then that a later change shows in the stamp.
    pub mtime_is_reliable: bool,
}

/// A document to be indexed.
pub(crate) struct NewDocument {
    /// Its file, as evidence names it.
    pub source: String,
    /// Its first heading, or the file's name.
    pub title: String,
    /// BLAKE3 of what was read from it.
    pub hash: [u8; 32],
    /// The file before it was read.
    pub stamp: LocalStamp,
    /// What it says of itself that questions are limited by.
    pub metadata: DocumentMetadata,
    /// The references it makes.
    pub links: Vec<Link>,
    /// Its chunks, in order, with their keys; [`ChunkKey::WORDS_ONLY`] for those without a vector.
    pub chunks: Vec<(ChunkKey, Chunk)>,
    /// Memory that is released when the store keeps no copies of the chunks any more.
    pub reservation: Reservation,
}

/// The contents of an index at a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PathContents {
    /// The document of that name.
    pub document: Option<Arc<Document>>,
    /// Whether documents lie in a folder of that name.
    pub is_folder: bool,
}

/// How documents are asked for by name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NameQuery<'a> {
    /// A path, file name, title, folder or glob as a person remembers it, possibly misspelt.
    Remembered(&'a str),
    /// A folder's name, else a document's, spelt right. With a `/` at its end it means a folder and
    /// nothing else.
    Given(&'a str),
    /// Documents whose file name occurs in this question.
    MentionedIn(&'a str),
    /// Documents whose file name consists of these words and no others. The words are in lower case.
    NamedBy(&'a HashSet<String>),
    /// The document of that name and all documents in the folder of that name; all documents where it is empty.
    Under(&'a str),
}

/// The documents that a name means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NameMatches {
    /// How far the name is from theirs: 0 for what it says in so many words. Only those with the
    /// least distance match.
    pub distance: usize,
    /// Their names, in order.
    pub sources: Vec<String>,
}

/// A chunk: its document's number and its place in the document. It stays the same for as long as
/// the document says what it says; no other chunk ever gets it. Those of one document are in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ChunkId(u64);

impl ChunkId {
    /// Names the chunk at a place of the document with a number.
    pub(super) fn new(document: u32, ordinal: u32) -> Self {
        Self(u64::from(document) << 32 | u64::from(ordinal))
    }

    /// The id as a number in the same order; below 2⁶³ for documents below 2³¹.
    pub(super) fn pack(self) -> u64 {
        self.0
    }

    pub(super) fn unpack(packed: u64) -> Self {
        Self(packed)
    }

    pub(super) fn document(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(super) fn ordinal(self) -> u32 {
        self.0 as u32
    }
}

/// An indexed chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its file, as evidence names it.
    pub source: String,
    /// Where in the file.
    pub lines: LineRange,
    /// Where in a format that has places.
    pub place: Option<Place>,
    /// The headings above it.
    pub heading: String,
    /// The text of these lines.
    pub text: String,
}

/// Which parts of chunks are fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchOptions<'a> {
    /// Whether the text is fetched.
    pub passages: bool,
    /// The vector to compute cosines with.
    pub cosine_with: Option<&'a [f32]>,
}

impl FetchOptions<'_> {
    /// The text, and nothing else.
    pub const PASSAGES: Self = Self {
        passages: true,
        cosine_with: None,
    };
}

/// The fetched parts of a chunk.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct FetchedChunk {
    /// The text, where it was asked for.
    pub passage: Option<Passage>,
    /// The cosine, where it was asked for and the chunk has a vector.
    pub cosine: Option<f64>,
}

/// A chunk and how well it matched, by the measure of the search that found it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Match {
    /// The chunk.
    pub chunk: ChunkId,
    /// Its file, as evidence names it.
    pub source: String,
    /// Where in the file.
    pub lines: LineRange,
    /// BM25 or cosine.
    pub score: f64,
}

impl Match {
    /// The order of a list of matches.
    pub(crate) fn best_first(a: &Self, b: &Self) -> Ordering {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (&a.source, a.chunk).cmp(&(&b.source, b.chunk)))
    }

    /// The `k` best of these, best first.
    pub(super) fn best(found: impl Iterator<Item = Self>, k: usize) -> Vec<Self> {
        let mut found: Vec<Self> = found.collect();
        found.sort_by(Self::best_first);
        found.truncate(k);
        found
    }
}

/// Chunks of one name that come along with a lexical search, at most.
pub(crate) const MOST_NAMED: usize = 50;

/// What a lexical search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LexicalMatches {
    /// Chunks that hold words of the query, best first, with their BM25.
    pub matches: Vec<Match>,
    /// Chunks with the name that was asked for, at most [`MOST_NAMED`], with a score of 0.
    pub named: Vec<Match>,
    /// The BM25 of a passage that holds all terms of the query well: what makes the scores of
    /// different queries comparable. `None` of an engine that has no statistics of its terms.
    pub full: Option<f64>,
    /// Terms of the query that the index does not have, and what they were taken for; none of an
    /// engine that does not know which terms are near.
    pub corrections: Vec<Correction>,
}

impl LexicalMatches {
    /// The score of a full match; the best score of the list where the engine does not know it.
    pub(crate) fn full_score(&self) -> f64 {
        let best = || self.matches.first().map_or(0.0, |best| best.score);
        self.full.unwrap_or_else(best)
    }
}

/// A term of a query that is not in the index, and the nearest that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Correction {
    pub asked: String,
    pub meant: String,
    /// The word as the best passages spell it, in lower case: terms are stems. `None` where none of
    /// them has it.
    pub spelt: Option<String>,
}

/// The hash of a chunk's heading and text. Its vector is stored under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ChunkKey(pub(crate) [u8; Self::BYTES]);

impl ChunkKey {
    pub(crate) const BYTES: usize = 16;
    /// The key of all chunks that are found by their words only: no vector is ever made for it.
    pub(crate) const WORDS_ONLY: Self = Self([0; Self::BYTES]);

    /// Hashes a chunk's heading and text.
    pub(crate) fn from_text(heading: &str, text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        if !heading.is_empty() {
            hasher.update(heading.as_bytes());
            hasher.update(b"\n");
        }
        hasher.update(text.as_bytes());
        let mut key = [0; Self::BYTES];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..Self::BYTES]);
        Self(key)
    }
}

/// The hasher of maps by [`ChunkKey`].
pub(crate) type KeyHash = rustc_hash::FxBuildHasher;

/// The longest wait for an answer of an index: an engine on another machine may never give one.
const LONGEST_CALL: Duration = Duration::from_mins(2);

/// The number of items in a piece, which take no noticeable time.
const PIECE: usize = 4096;

/// Ends a call to an index before its result: by a token, and by a deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// `None` for a call that nobody cancels.
    cancel: Option<&'a CancellationToken>,
    deadline: Option<Instant>,
}

impl<'a> Limits<'a> {
    /// Ends a call once `cancel` is cancelled, and after two minutes at most.
    pub fn of_a_call(cancel: &'a CancellationToken) -> Self {
        Self {
            cancel: Some(cancel),
            ..Self::without_cancel()
        }
    }

    /// Ends a call that nobody cancels, after two minutes at most.
    pub fn without_cancel() -> Self {
        Self {
            cancel: None,
            deadline: None,
        }
        .renewed()
    }

    /// The same for another call, which begins now.
    pub(super) fn renewed(self) -> Self {
        self.lasting(LONGEST_CALL)
    }

    /// The same for another call, which begins now and may last this long.
    pub(super) fn lasting(self, time: Duration) -> Self {
        self.until(Instant::now().checked_add(time))
    }

    /// The same with another deadline.
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// [`KbError::Stopped`] once the call is cancelled, [`KbError::TimedOut`] from the deadline on.
    pub fn check(self) -> Result<()> {
        if self.cancel.is_some_and(CancellationToken::is_cancelled) {
            return Err(KbError::Stopped);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(KbError::TimedOut),
            _ => Ok(()),
        }
    }

    /// Calls `each` with the items a piece at a time, and checks the limits before each piece.
    pub fn in_pieces<T>(
        self,
        mut all: impl Iterator<Item = T>,
        mut each: impl FnMut(Vec<T>) -> Result<()>,
    ) -> Result<()> {
        loop {
            self.check()?;
            let piece: Vec<T> = all.by_ref().take(PIECE).collect();
            if piece.is_empty() {
                return Ok(());
            }
            each(piece)?;
        }
    }
}

/// The chunks that a search may find.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ChunkFilter {
    /// These; `None` for all.
    pub only: Option<HashSet<ChunkId>>,
    /// None of these.
    pub without: HashSet<ChunkId>,
}

impl ChunkFilter {
    /// Whether this chunk may be found.
    pub fn lets_through(&self, chunk: ChunkId) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.contains(&chunk)) && !self.without.contains(&chunk)
    }
}

/// The documents and passages that a search is limited to, and its caller.
#[derive(Debug, Clone, Copy)]
pub struct Within<'a> {
    /// These documents; `None` for all.
    pub(crate) documents: Option<&'a HashSet<String>>,
    /// What passages must say and must not. An engine does not look at it: `kb::search` makes `chunks` of it.
    pub(crate) phrase_filter: Option<&'a PhraseFilter>,
    /// These chunks; `None` for all.
    pub(crate) chunks: Option<&'a Arc<ChunkFilter>>,
    /// The search ends as [`KbError::Stopped`] soon after this is cancelled.
    pub(crate) cancel: &'a CancellationToken,
    waits: Option<&'a WaitSink>,
}

impl<'a> Within<'a> {
    /// Searches all documents.
    pub fn all(caller: impl Into<Caller<'a>>) -> Self {
        let Caller { cancel, waits } = caller.into();
        Self {
            documents: None,
            phrase_filter: None,
            chunks: None,
            cancel,
            waits,
        }
    }

    /// Searches only these documents.
    pub fn these(documents: &'a HashSet<String>, caller: impl Into<Caller<'a>>) -> Self {
        Self {
            documents: Some(documents),
            ..Self::all(caller)
        }
    }

    /// Searches only passages that say this.
    pub(crate) fn saying(self, phrase_filter: &'a PhraseFilter) -> Self {
        Self {
            phrase_filter: Some(phrase_filter).filter(|phrase_filter| !phrase_filter.is_empty()),
            ..self
        }
    }

    /// Searches only these chunks.
    pub(crate) fn with_chunks(self, chunks: Option<&'a Arc<ChunkFilter>>) -> Self {
        Self { chunks, ..self }
    }

    /// Whether this chunk may be found.
    pub(crate) fn lets_through(self, chunk: ChunkId) -> bool {
        self.chunks.is_none_or(|chunks| chunks.lets_through(chunk))
    }

    /// The caller that the search is for.
    pub(crate) fn caller(self) -> Caller<'a> {
        Caller {
            cancel: self.cancel,
            waits: self.waits,
        }
    }

    /// The limits of a call that begins now.
    pub(crate) fn limits(self) -> Limits<'a> {
        Limits::of_a_call(self.cancel)
    }

    /// Returns an error once the search is to end.
    pub(crate) fn go_on(self) -> Result<()> {
        self.limits().check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_through_many_rows_is_stopped_after_a_piece() {
        let cancel = CancellationToken::new();
        let all = (0..100 * PIECE).inspect(|at| {
            if *at == PIECE {
                cancel.cancel();
            }
        });
        let mut done = 0;
        let ended = Limits::of_a_call(&cancel).in_pieces(all, |piece| {
            done += piece.len();
            Ok(())
        });
        assert!(matches!(ended, Err(KbError::Stopped)));
        assert_eq!(done, 2 * PIECE);
        let mut seen = Vec::new();
        let all = 0..PIECE + 1;
        let ended = Limits::without_cancel().in_pieces(all.clone(), |piece| {
            seen.extend(piece);
            Ok(())
        });
        assert!(ended.is_ok());
        assert!(seen.into_iter().eq(all));
    }

    #[test]
    fn a_call_ends_at_its_deadline() {
        let limits = Limits::without_cancel();
        let over = limits.until(Some(Instant::now()));
        assert!(matches!(over.check(), Err(KbError::TimedOut)));
        assert!(limits.check().is_ok());
    }
}
