//! The one door to what is indexed.
//!
//! Updating and searching know these verbs and nothing of files, so that a remote engine can
//! stand behind them. What such an engine must guarantee is said at each verb; the rest of the
//! program relies on no more than that. `embedded` is the engine in the data folder.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as AtomicOrdering};

use super::chunk_key::ChunkKey;
use super::documents::Documents;
use crate::agent::ports::{Caller, WaitSink};
use crate::domain::{LineRange, Place};
use crate::kb::budget::Reservation;
use crate::kb::chunk::Chunk;
use crate::kb::error::KbError;
use crate::kb::source::Stamp;

/// An index: what can be asked of it, and what can be done to it.
pub(in crate::kb) trait Store: Send + Sync {
    /// The last commit known here. Everything that one snapshot says belongs together; a commit
    /// made meanwhile shows in the next snapshot only.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// Moves on to the last commit and the last vectors of this model, of whatever process. What an
    /// endpoint's model is called may become known late.
    fn refresh(&self, model_id: &str) -> Result<(), KbError>;

    /// Starts changing documents; `afresh` begins with none. One writer at a time among all
    /// processes: while there is another, this is [`KbError::Locked`], at once.
    fn begin(&self, afresh: bool) -> Result<Box<dyn Batch + '_>, KbError>;

    /// Starts adding vectors, beside a writer of documents. One at a time among all processes:
    /// while there is another, this is [`KbError::Locked`], at once.
    fn begin_vectors(&self) -> Result<Box<dyn VectorBatch + '_>, KbError>;
}

/// One commit of an index, unmoved by later ones.
pub(in crate::kb) trait Snapshot: Send + Sync {
    /// Which commit this is: another number for another one.
    fn commit(&self) -> u64;

    /// All documents, ordered by name.
    fn documents(&self) -> Documents;

    /// How many chunks they have together.
    fn chunks(&self) -> usize;

    /// The chunks that hold the query's words with their BM25, best first; equal ones in the
    /// order of [`Match::best_first`], whatever came into the index before or after.
    fn lexical(&self, query: &str, k: usize, within: Within<'_>)
    -> Result<LexicalMatches, KbError>;

    /// The chunks nearest to the vector with their cosine, best first; only those that have one.
    fn semantic(&self, vector: &[f32], k: usize, within: Within<'_>)
    -> Result<Vec<Match>, KbError>;

    /// The cosine of each of these chunks; `None` while it has no vector.
    fn similarities(&self, vector: &[f32], chunks: &[ChunkId])
    -> Result<Vec<Option<f64>>, KbError>;

    /// The vectors of chunks that say this; `None` where there is none.
    fn vectors(&self, keys: &[ChunkKey]) -> Result<Vec<Option<Vec<f32>>>, KbError>;

    /// What these chunks say, as it was indexed, whatever the files say now; in their order.
    fn passages(&self, chunks: &[ChunkId]) -> Result<Vec<Passage>, KbError>;

    /// The chunk at that place of a document.
    fn chunk(&self, source: &str, at: usize) -> Option<ChunkId>;

    /// The chunks that have no vector yet, each text once; the documents that lack few before
    /// those that lack many.
    fn pending(&self) -> Result<Arc<[(ChunkId, ChunkKey)]>, KbError>;

    /// How many these are; quick however many chunks there are.
    fn pending_count(&self) -> usize;
}

/// Changes to the documents, visible together or not at all. Dropped without a commit, nothing
/// has happened; a kill at any moment leaves the last commit.
pub(in crate::kb) trait Batch {
    /// The documents as this batch found them, ordered by name.
    fn documents(&self) -> Documents;

    /// Whether it found none because everything is to be made anew.
    fn is_afresh(&self) -> bool;

    /// Says how many documents are about to be put, as far as that is known. A hint.
    fn expect(&mut self, documents: usize);

    /// Adds a document, in place of one of that name.
    fn put(&mut self, document: Incoming) -> Result<(), KbError>;

    /// Takes note that a document says what it said, in a file that looks like this now.
    fn keep(&mut self, source: &str, stamp: Stamp, mtime_is_reliable: bool);

    /// Forgets a document.
    fn remove(&mut self, source: &str) -> Result<(), KbError>;

    /// Makes everything since the last commit visible. May be called again and again.
    fn commit(&mut self) -> Result<(), KbError>;

    /// The last commit, after which the store may take time to put itself in order.
    fn finish(self: Box<Self>) -> Result<(), KbError>;
}

/// Vectors to come. Each is kept for itself: there is nothing to commit.
pub(in crate::kb) trait VectorBatch {
    /// Keeps vectors under the keys of their chunks, for good and at once. Those of chunks that
    /// have vanished are no error.
    fn put(&mut self, vectors: &[(ChunkKey, Vec<f32>)]) -> Result<(), KbError>;

    /// Says that every chunk has its vector: those of models that are no longer used may go.
    fn complete(&mut self);

    /// Forgets all vectors.
    fn clear(&mut self) -> Result<(), KbError>;
}

/// A chunk of one snapshot, and of no other. Those of one document are in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::kb) struct ChunkId(u64);

impl ChunkId {
    /// At that place of the document with that number.
    pub(super) fn new(document: u32, at: u32) -> Self {
        Self(u64::from(document) << 32 | u64::from(at))
    }

    pub(super) fn document(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(super) fn at(self) -> u32 {
        self.0 as u32
    }
}

/// A document to be indexed.
pub(in crate::kb) struct Incoming {
    /// Its file, as evidence names it.
    pub source: String,
    /// Its first heading, or the file's name.
    pub title: String,
    /// BLAKE3 of what was read from it.
    pub hash: [u8; 32],
    /// The file before it was read.
    pub stamp: Stamp,
    /// Whether a later change of the file is sure to show in the stamp.
    pub mtime_is_reliable: bool,
    /// The references it makes, as JSON.
    pub links: Vec<u8>,
    /// Its chunks, in order, with their keys.
    pub chunks: Vec<(ChunkKey, Chunk)>,
    /// Kept for as long as the store holds copies of the chunks in memory that wait for something.
    pub reservation: Reservation,
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

/// A chunk and how well it matched, by the measure of the search that found it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::kb) struct Match {
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
    pub(in crate::kb) fn best_first(a: &Self, b: &Self) -> Ordering {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (&a.source, a.chunk).cmp(&(&b.source, b.chunk)))
    }
}

/// What a lexical search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::kb) struct LexicalMatches {
    /// Best first, with their BM25.
    pub matches: Vec<Match>,
    /// The BM25 of a passage that holds all terms of the query well: what makes the scores of
    /// different queries comparable.
    pub full: f64,
    /// Terms of the query that the index does not have, and what they were taken for.
    pub corrections: Vec<Correction>,
}

/// A term of a query that is not in the index, and the nearest that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kb) struct Correction {
    pub asked: String,
    pub meant: String,
}

/// So many rows take no noticeable time.
const PIECE: usize = 4096;

/// What a search keeps within.
#[derive(Debug, Clone, Copy)]
pub struct Within<'a> {
    /// These documents; `None` for all.
    pub(in crate::kb) documents: Option<&'a HashSet<String>>,
    /// It ends as [`KbError::Stopped`] soon after this is raised.
    pub(in crate::kb) stop: &'a AtomicBool,
    waits: Option<&'a WaitSink>,
}

impl<'a> Within<'a> {
    /// All documents.
    pub fn all(caller: impl Into<Caller<'a>>) -> Self {
        let Caller { stop, waits } = caller.into();
        Self {
            documents: None,
            stop,
            waits,
        }
    }

    /// Only these documents.
    pub fn these(documents: &'a HashSet<String>, caller: impl Into<Caller<'a>>) -> Self {
        Self {
            documents: Some(documents),
            ..Self::all(caller)
        }
    }

    /// For whom it is.
    pub(in crate::kb) fn caller(self) -> Caller<'a> {
        Caller {
            stop: self.stop,
            waits: self.waits,
        }
    }

    /// Does something with these a piece at a time, and looks before each whether it is to end.
    pub(in crate::kb) fn in_pieces<T>(
        self,
        mut all: impl Iterator<Item = T>,
        mut each: impl FnMut(Vec<T>) -> Result<(), KbError>,
    ) -> Result<(), KbError> {
        loop {
            self.go_on()?;
            let piece: Vec<T> = all.by_ref().take(PIECE).collect();
            if piece.is_empty() {
                return Ok(());
            }
            each(piece)?;
        }
    }

    /// An error once it is to end.
    pub(in crate::kb) fn go_on(self) -> Result<(), KbError> {
        if self.stop.load(AtomicOrdering::Relaxed) {
            return Err(KbError::Stopped);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_through_many_rows_is_stopped_after_a_piece() {
        let stop = AtomicBool::new(false);
        let all = (0..100 * PIECE).inspect(|at| {
            if *at == PIECE {
                stop.store(true, AtomicOrdering::Relaxed);
            }
        });
        let mut done = 0;
        let ended = Within::all(&stop).in_pieces(all, |piece| {
            done += piece.len();
            Ok(())
        });
        assert!(matches!(ended, Err(KbError::Stopped)));
        assert_eq!(done, 2 * PIECE);
        let free = AtomicBool::new(false);
        let mut seen = Vec::new();
        let all = 0..PIECE + 1;
        let ended = Within::all(&free).in_pieces(all.clone(), |piece| {
            seen.extend(piece);
            Ok(())
        });
        assert!(ended.is_ok());
        assert!(seen.into_iter().eq(all));
    }
}
