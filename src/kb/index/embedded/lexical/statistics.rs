//! BM25 over what is alive.
//!
//! Rows that were removed stay in their segment until it is merged, and the index's own counts
//! include them; an index that has seen many changes would score differently from a fresh one.

use std::collections::HashMap;
use std::sync::OnceLock;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::Postings;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet, Searcher, Term};

use super::near_terms::{SearchTerm, alive_doc_freq};
use crate::kb::error::KbError;
use crate::kb::index::bm25::{self, Bm25};

/// The statistics that BM25 needs for one query.
pub(super) struct Statistics<'a> {
    searcher: &'a Searcher,
    field: Field,
    bm25: Bm25,
    doc_freq: HashMap<Term, u64>,
}

impl<'a> Statistics<'a> {
    /// Counts for these terms of a field; `counted` keeps how many tokens that has.
    pub fn new(
        searcher: &'a Searcher,
        field: Field,
        counted: &OnceLock<u64>,
        search_terms: &[SearchTerm],
    ) -> Result<Self, KbError> {
        let tokens = if let Some(tokens) = counted.get() {
            *tokens
        } else {
            let tokens = tokens(searcher, field)?;
            *counted.get_or_init(|| tokens)
        };
        let mut doc_freq = HashMap::with_capacity(search_terms.len());
        for word in search_terms {
            for (term, _) in word.terms() {
                let held = match word.shared_doc_freq() {
                    Some(held) => held,
                    None => alive_doc_freq(searcher, term)?,
                };
                let most: &mut u64 = doc_freq.entry(term.clone()).or_default();
                *most = held.max(*most);
            }
        }
        Ok(Self {
            searcher,
            field,
            bm25: Bm25 {
                chunks: searcher.num_docs(),
                tokens,
            },
            doc_freq,
        })
    }

    /// The score of a full match. Corrected terms weigh less than they count here.
    pub fn full_match(&self, search_terms: &[SearchTerm]) -> f64 {
        self.bm25
            .full_match(search_terms.iter().filter_map(|term| term.doc_freq))
    }

    /// The score of each of these rows, which are in order, summed up term by term in double
    /// precision; of the terms that stand for one word the best counts.
    pub fn exact_scores(
        &self,
        search_terms: &[SearchTerm],
        rows: &[DocAddress],
    ) -> Result<Vec<f64>, KbError> {
        let average = self.bm25.average();
        let mut scores = Vec::with_capacity(rows.len());
        let mut best = Vec::new();
        for of_segment in rows.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let segment = self.searcher.segment_reader(of_segment[0].segment_ord);
            let lengths = segment.get_fieldnorms_reader(self.field)?;
            let index = segment.inverted_index(self.field)?;
            let first = scores.len();
            scores.resize(first + of_segment.len(), 0.0);
            for word in search_terms {
                best.clear();
                best.resize(of_segment.len(), 0.0);
                for (term, weight) in word.terms() {
                    let idf = weight * self.bm25.idf(self.known_doc_freq(term));
                    let postings = index
                        .read_postings(term, IndexRecordOption::WithFreqs)
                        .map_err(tantivy::TantivyError::from)?;
                    let Some(mut postings) = postings else {
                        continue;
                    };
                    for (row, score) in of_segment.iter().zip(&mut best) {
                        if postings.doc() < row.doc_id {
                            postings.seek(row.doc_id);
                        }
                        if postings.doc() == row.doc_id {
                            let frequency = f64::from(postings.term_freq());
                            let length = f64::from(lengths.fieldnorm(row.doc_id));
                            let gain = bm25::gain(frequency, length, average);
                            *score = f64::max(*score, idf * gain);
                        }
                    }
                }
                for (score, best) in scores[first..].iter_mut().zip(&best) {
                    *score += best;
                }
            }
        }
        Ok(scores)
    }

    fn known_doc_freq(&self, term: &Term) -> u64 {
        self.doc_freq.get(term).copied().unwrap_or(0)
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.bm25.tokens)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.bm25.chunks)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.doc_freq.get(term) {
            Some(doc_freq) => Ok(*doc_freq),
            None => alive_doc_freq(self.searcher, term),
        }
    }
}

/// Counts the tokens of a field, by the rounded lengths that the scores use.
fn tokens(searcher: &Searcher, field: Field) -> tantivy::Result<u64> {
    let mut tokens = 0;
    for segment in searcher.segment_readers() {
        let lengths = segment.get_fieldnorms_reader(field)?;
        let mut rows_of_length = [0_u64; 256];
        for doc in 0..segment.max_doc() {
            if !segment.is_deleted(doc) {
                rows_of_length[usize::from(lengths.fieldnorm_id(doc))] += 1;
            }
        }
        for (id, rows) in (0..=u8::MAX).zip(rows_of_length) {
            tokens += rows * u64::from(FieldNormReader::id_to_fieldnorm(id));
        }
    }
    Ok(tokens)
}
