//! BM25 of a chunk's own terms, as the server keeps and adds them up.
//!
//! A row holds of each term its number, how often it stands there, and its gain: the part of BM25 that
//! does not depend on other chunks, with the average length of the space's first commit in it. The
//! server finds candidates by gains; what a search returns is reckoned again from frequencies and
//! the statistics of the moment, in double precision, as the embedded engine does it.

use std::collections::{BTreeMap, HashMap};

use tantivy::fieldnorm::FieldNormReader;
use tantivy::tokenizer::{TextAnalyzer, TokenStream};

use super::schema::TERM_IDS;
use crate::kb::index::bm25::{Bm25, gain};
use crate::kb::index::tokens;

/// The number of a term, from 1. Two terms may have the same; counts go by the spelling.
pub(super) fn term_id(term: &str) -> i32 {
    let hash = blake3::hash(term.as_bytes());
    let start = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    (1 + u64::from_le_bytes(start) % u64::from(TERM_IDS)) as i32
}

/// The terms of a chunk.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ChunkTerms {
    /// How often each term occurs.
    pub frequencies: HashMap<String, u32>,
    /// How many there are in all, rounded as the embedded engine rounds it.
    pub length: u32,
}

/// Splits chunks into terms.
pub(super) struct TermReader(TextAnalyzer);

impl TermReader {
    pub fn new() -> Self {
        Self(tokens::analyzer())
    }

    /// Counts the terms of each chunk of a document; a chunk is a heading and a text.
    pub fn read(&mut self, chunks: &[(&str, &str)]) -> Vec<ChunkTerms> {
        let language = tokens::detect(chunks.iter().map(|(_, text)| *text));
        let marked = chunks
            .iter()
            .map(|(heading, text)| [heading, text].map(|part| tokens::mark(language, part)));
        marked.map(|parts| self.read_chunk(&parts)).collect()
    }

    fn read_chunk(&mut self, parts: &[String]) -> ChunkTerms {
        let mut terms = ChunkTerms::default();
        let mut count = 0;
        for part in parts {
            let mut stream = self.0.token_stream(part);
            while stream.advance() {
                count += 1;
                let term = &stream.token().text;
                if let Some(frequency) = terms.frequencies.get_mut(term) {
                    *frequency += 1;
                } else {
                    terms.frequencies.insert(term.clone(), 1);
                }
            }
        }
        terms.length = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(count));
        terms
    }
}

/// A chunk's row: numbers of terms in order, each once, with what goes with it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct TermRow {
    pub ids: Vec<i32>,
    pub frequencies: Vec<i16>,
    pub gains: Vec<f32>,
}

impl TermRow {
    /// Makes the row of a chunk in a space whose chunks have `average` terms.
    pub fn new(terms: &ChunkTerms, average: f64) -> Self {
        let mut by_id: BTreeMap<i32, u32> = BTreeMap::new();
        for (term, frequency) in &terms.frequencies {
            *by_id.entry(term_id(term)).or_default() += frequency;
        }
        let mut row = Self::default();
        for (id, frequency) in by_id {
            row.ids.push(id);
            let kept = i16::try_from(frequency).unwrap_or(i16::MAX);
            row.frequencies.push(kept);
            let gain = gain(f64::from(kept), f64::from(terms.length), average);
            row.gains.push(gain as f32);
        }
        row
    }
}

/// What is searched for one word of a query: terms with weights, of which the best counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchTerm {
    /// The word as the query has it.
    pub asked: String,
    /// Each term with its weight and how many chunks hold it.
    pub terms: Vec<(String, f64, u64)>,
    /// How many chunks hold the best of the terms, or the most frequent of several spellings and stems,
    /// which count as one term; `None` when it need not be in a full match.
    pub doc_freq: Option<u64>,
    /// Whether they stand for a word that the index does not have.
    pub is_corrected: bool,
}

/// The score of a full match.
pub(super) fn full_match(bm25: Bm25, terms: &[SearchTerm]) -> f64 {
    bm25.full_match(terms.iter().filter_map(|word| word.doc_freq))
}

/// The score of a chunk of `length` tokens that has terms with these numbers so often.
pub(super) fn score(
    bm25: Bm25,
    terms: &[SearchTerm],
    (ids, frequencies): (&[i32], &[i16]),
    length: u32,
) -> f64 {
    let average = bm25.average();
    let of_word = |word: &SearchTerm| {
        let shared = word.doc_freq.filter(|_| !word.is_corrected);
        let of_term = |(term, weight, doc_freq): &(String, f64, u64)| {
            let at = ids.binary_search(&term_id(term)).ok()?;
            let frequency = f64::from(*frequencies.get(at)?);
            let idf = bm25.idf(shared.unwrap_or(*doc_freq));
            Some(weight * idf * gain(frequency, f64::from(length), average))
        };
        word.terms.iter().filter_map(of_term).fold(0.0, f64::max)
    };
    terms.iter().map(of_word).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_each_term_once_in_the_order_of_its_number() {
        let chunk = ("Kiln", "The kiln fires; PROJ-7 waits for the kiln.");
        let terms = &TermReader::new().read(&[chunk])[0];
        assert_eq!(terms.frequencies["kiln"], 3);
        assert_eq!(terms.frequencies["proj-7"], 1);
        assert!(!terms.frequencies.contains_key("the"));
        let row = TermRow::new(terms, 5.0);
        assert!(row.ids.is_sorted_by(|a, b| a < b));
        assert_eq!(row.ids.len(), terms.frequencies.len());
        let at = row.ids.binary_search(&term_id("kiln")).unwrap();
        assert_eq!(row.frequencies[at], 3);
        // Of the best a term can gain.
        assert!(row.gains.iter().all(|gain| *gain > 0.0 && *gain < 2.2));
    }

    #[test]
    fn numbers_of_terms_stay_what_they_are() {
        assert_eq!(term_id("kiln"), term_id("kiln"));
        assert!((1..=TERM_IDS as i32).contains(&term_id("快速")));
    }
}
