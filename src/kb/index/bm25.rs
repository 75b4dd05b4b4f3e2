//! BM25 as every engine computes it, so that scores of different engines can be compared.

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A passage of average length that holds every term of the query this often counts as a full
/// match.
const FULL_MATCH_FREQUENCY: f64 = 2.0;

/// The size of an index at the moment of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bm25 {
    /// The number of chunks.
    pub chunks: u64,
    /// The number of tokens of all chunks.
    pub tokens: u64,
}

impl Bm25 {
    /// The average number of tokens of a chunk.
    pub fn average(self) -> f64 {
        self.tokens as f64 / (self.chunks as f64).max(1.0)
    }

    /// The inverse document frequency of a term that `doc_freq` chunks hold.
    pub fn idf(self, doc_freq: u64) -> f64 {
        let doc_freq = doc_freq as f64;
        let without = (self.chunks as f64 - doc_freq).max(0.0);
        ((without + 0.5) / (doc_freq + 0.5)).ln_1p()
    }

    /// The score of a full match of terms with these document frequencies. Terms that no chunk holds
    /// count as the rarest of all, so that an index that lacks the query's main words cannot come near it.
    pub fn full_match(self, doc_freqs: impl Iterator<Item = u64>) -> f64 {
        let gain = FULL_MATCH_FREQUENCY * (K1 + 1.0) / (FULL_MATCH_FREQUENCY + K1);
        doc_freqs.map(|doc_freq| self.idf(doc_freq) * gain).sum()
    }
}

/// The part of BM25 that does not depend on other chunks: of a term that occurs `frequency` times in
/// a chunk of `length` tokens, where chunks have `average` tokens.
pub(super) fn gain(frequency: f64, length: f64, average: f64) -> f64 {
    let norm = K1 * (1.0 - B + B * length / average.max(f64::MIN_POSITIVE));
    (1.0 + K1) * frequency / (frequency + norm)
}
