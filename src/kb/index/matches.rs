//! What a search of the index finds.

use std::cmp::Ordering;

use crate::domain::{LineRange, Place};

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
