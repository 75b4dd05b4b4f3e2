//! The interface of every index engine.
//!
//! Updating and searching know these verbs and nothing of files, so that an engine on other machines
//! can stand behind them: every verb that asks the engine may fail, ends at its [`Limits`] and gives
//! no more than a page. What an engine must guarantee is said at each verb; the rest of the program
//! relies on no more than that. `embedded` is the engine in the data folder.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::chunk_key::ChunkKey;
use super::document::{Document, LocalStamp, NameMatches, NameQuery, NewDocument, PathContents};
use super::limits::{Limits, Within};
use super::matches::{ChunkId, FetchOptions, FetchedChunk, LexicalMatches, Match, Passage};
use crate::kb::error::KbError;
use crate::kb::links::{Link, LinkTargets};

/// An index: what can be asked of it, and what can be done to it.
pub(crate) trait Store: Send + Sync {
    /// Reads what is known of the last commit. Asks the engine nothing.
    fn reader(&self) -> Arc<dyn Reader>;

    /// Moves on to the last commit and the last vectors of this model, of whatever process. What an
    /// endpoint's model is called may become known late.
    fn refresh(&self, model_id: &str, limits: Limits<'_>) -> Result<(), KbError>;

    /// Starts changing documents; `afresh` begins with none. One writer at a time among all
    /// processes: while there is another, this is [`KbError::Locked`], at once.
    fn begin(&self, afresh: bool, limits: Limits<'_>) -> Result<Box<dyn Batch + '_>, KbError>;

    /// Starts adding vectors, beside a writer of documents. One at a time among all processes:
    /// while there is another, this is [`KbError::Locked`], at once.
    fn begin_vectors(&self, limits: Limits<'_>) -> Result<Box<dyn VectorBatch + '_>, KbError>;

    /// How many numbers the vectors of the model have; `None` while there are none, and where others
    /// keep vectors there too, perhaps by servers of their own.
    fn dimensions(&self, limits: Limits<'_>) -> Result<Option<usize>, KbError> {
        limits.check().map(|()| None)
    }

    /// The id of the model whose vectors are searched by all who share the index; `None` while there are
    /// none, and of an index that nobody shares.
    fn model_in_use(&self, limits: Limits<'_>) -> Result<Option<String>, KbError> {
        limits.check().map(|()| None)
    }

    /// The leadership of that name for so long, renewed or not; `None` while another holds it.
    fn lease(
        &self,
        name: &str,
        time: Duration,
        limits: Limits<'_>,
    ) -> Result<Option<Box<dyn Lease>>, KbError>;
}

/// Leadership for a time. It is given back when this is dropped.
pub trait Lease: Send {
    /// Begins the time anew. `false` when it was over and may be another's: then it is lost.
    fn renew(&self) -> Result<bool, KbError>;
}

/// Maintenance of the index as a whole.
pub(crate) trait Administration {
    /// Looks for damage; makes and repairs nothing.
    fn damage(&self, model_id: &str, limits: Limits<'_>) -> Result<Damage, KbError>;
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
    fn counts(&self, limits: Limits<'_>) -> Result<Counts, KbError>;

    /// The first `limit` documents after that name, in the order of their names.
    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Arc<Document>>, KbError>;

    /// The contents at each of these paths.
    fn look_up(&self, paths: &[&str], limits: Limits<'_>) -> Result<Vec<PathContents>, KbError>;

    /// The documents that a name means.
    fn find(&self, query: &NameQuery<'_>, limits: Limits<'_>) -> Result<NameMatches, KbError>;

    /// The references that these documents make, in the order of their names.
    fn links_of(
        &self,
        sources: &[&str],
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError>;

    /// The references that lead there, by the documents that make them, in the order of their names.
    fn links_to(
        &self,
        targets: &LinkTargets,
        limits: Limits<'_>,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError>;

    /// The first so many passages of each of these documents, in this order.
    fn openings(
        &self,
        sources: &[&str],
        passages: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Passage>, KbError>;

    /// The chunks that hold the query's words with their BM25, best first; equal ones in the
    /// order of [`Match::best_first`], whatever came into the index before or after. With a `name`, a
    /// key of `tokens::name_key`, those come along that have a name of that key.
    fn lexical(
        &self,
        query: &str,
        name: Option<&str>,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches, KbError>;

    /// The chunks nearest to the vector with their cosine, best first; only those that have one.
    fn semantic(&self, vector: &[f32], k: usize, within: Within<'_>)
    -> Result<Vec<Match>, KbError>;

    /// Fetches parts of these chunks as they were indexed, whatever the files say now; `None` for those
    /// that are gone.
    fn fetch(
        &self,
        chunks: &[ChunkId],
        wanted: FetchOptions<'_>,
        limits: Limits<'_>,
    ) -> Result<Vec<Option<FetchedChunk>>, KbError>;

    /// The vectors under these keys; `None` where there is none.
    fn vectors(
        &self,
        keys: &[ChunkKey],
        limits: Limits<'_>,
    ) -> Result<Vec<Option<Vec<f32>>>, KbError>;

    /// Chunks that have no vector yet, each text once and without those that are found by their words
    /// only: the first `limit`, or those after a page before. If it can, the engine names prose before
    /// everything else, and of each the documents first that were written last.
    fn pending(
        &self,
        after: Option<PendingCursor>,
        limit: usize,
        limits: Limits<'_>,
    ) -> Result<PendingPage, KbError>;

    /// The number of texts that have no vector yet; quick however many chunks there are.
    fn pending_count(&self, limits: Limits<'_>) -> Result<usize, KbError>;
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

    /// Announces how many documents will be put, as a hint for the engine.
    fn expect(&mut self, documents: usize);

    /// Adds a document, in place of one of that name.
    fn put_document(&mut self, document: NewDocument, limits: Limits<'_>) -> Result<(), KbError>;

    /// Notes a document's new stamp; its text is the same as before.
    fn keep(&mut self, source: &str, stamp: LocalStamp, limits: Limits<'_>) -> Result<(), KbError>;

    /// Forgets a document.
    fn remove(&mut self, source: &str, limits: Limits<'_>) -> Result<(), KbError>;

    /// Makes everything since the last commit visible. May be called again and again. Once it has
    /// begun, no limit ends it half done.
    fn commit(&mut self, limits: Limits<'_>) -> Result<(), KbError>;

    /// The last commit, after which the store may take time to put itself in order.
    fn finish(self: Box<Self>, limits: Limits<'_>) -> Result<(), KbError>;
}

/// Adds vectors. Each is kept at once: there is nothing to commit.
pub(crate) trait VectorBatch {
    /// Keeps vectors under the keys of their chunks, for good and at once. Those of chunks that
    /// have vanished are no error.
    fn put_vectors(
        &mut self,
        vectors: &[(ChunkKey, Vec<f32>)],
        limits: Limits<'_>,
    ) -> Result<(), KbError>;

    /// Says that every chunk has its vector: those of models that are no longer used may go.
    fn complete(&mut self, limits: Limits<'_>) -> Result<(), KbError>;

    /// Forgets all vectors.
    fn clear(&mut self, limits: Limits<'_>) -> Result<(), KbError>;
}

/// The number of documents in one answer of the index.
const PAGE: usize = 4096;

/// Calls `each` with every document, in the order of their names, a page at a time.
pub(crate) fn for_each_document(
    reader: &dyn Reader,
    stop: &AtomicBool,
    mut each: impl FnMut(&Arc<Document>),
) -> Result<(), KbError> {
    let mut last: Option<Arc<Document>> = None;
    loop {
        let after = last.as_ref().map(|document| document.source.as_str());
        let page = reader.page(after, PAGE, Limits::of_a_call(stop))?;
        page.iter().for_each(&mut each);
        if page.len() < PAGE {
            return Ok(());
        }
        last = page.into_iter().next_back();
    }
}
