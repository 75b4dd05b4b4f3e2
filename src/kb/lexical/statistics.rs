//! BM25 over what is alive.
//!
//! Rows that were removed stay in their segment until it is merged, and the index's own counts
//! include them; an index that has seen many changes would score differently from a fresh one.

use std::collections::HashMap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::Postings;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet, Searcher, Term};

use super::LexicalView;
use crate::kb::error::KbError;

/// Tantivy's own.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A passage of average length that holds every term of the query this often counts as a full
/// match.
const FULL_MATCH_FREQUENCY: f64 = 2.0;

/// What BM25 needs to know for one query.
pub(super) struct Statistics<'a> {
    searcher: &'a Searcher,
    chunks: u64,
    tokens: u64,
    holding: HashMap<Term, u64>,
}

impl<'a> Statistics<'a> {
    /// Counts for these terms.
    pub fn of(view: &'a LexicalView, terms: &[Term]) -> Result<Self, KbError> {
        let field = view.fields.words;
        let tokens = if let Some(tokens) = view.tokens.get() {
            *tokens
        } else {
            let tokens = tokens(&view.searcher, field)?;
            *view.tokens.get_or_init(|| tokens)
        };
        let mut holding = HashMap::with_capacity(terms.len());
        for term in terms {
            holding.insert(term.clone(), holding_chunks(&view.searcher, term)?);
        }
        Ok(Self {
            searcher: &view.searcher,
            chunks: view.searcher.num_docs(),
            tokens,
            holding,
        })
    }

    /// The score of a full match. Terms that no chunk holds count as the rarest of all, so that a
    /// base that knows nothing of the query's main words cannot come near it.
    pub fn full_match(&self, terms: &[Term]) -> f64 {
        let gain = FULL_MATCH_FREQUENCY * (K1 + 1.0) / (FULL_MATCH_FREQUENCY + K1);
        terms.iter().map(|term| self.rarity(term) * gain).sum()
    }

    /// The score of each of these rows, which are in order, summed up term by term in double
    /// precision.
    pub fn exact_scores(
        &self,
        view: &LexicalView,
        terms: &[Term],
        rows: &[DocAddress],
    ) -> Result<Vec<f64>, KbError> {
        let average = self.tokens as f64 / (self.chunks as f64).max(1.0);
        let mut scores = Vec::with_capacity(rows.len());
        for of_segment in rows.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let segment = view.searcher.segment_reader(of_segment[0].segment_ord);
            let lengths = segment.get_fieldnorms_reader(view.fields.words)?;
            let index = segment.inverted_index(view.fields.words)?;
            let first = scores.len();
            scores.resize(first + of_segment.len(), 0.0);
            for term in terms {
                let rarity = self.rarity(term);
                let postings = index
                    .read_postings(term, IndexRecordOption::WithFreqs)
                    .map_err(tantivy::TantivyError::from)?;
                let Some(mut postings) = postings else {
                    continue;
                };
                for (row, score) in of_segment.iter().zip(&mut scores[first..]) {
                    if postings.doc() < row.doc_id {
                        postings.seek(row.doc_id);
                    }
                    if postings.doc() == row.doc_id {
                        let frequency = f64::from(postings.term_freq());
                        let length = f64::from(lengths.fieldnorm(row.doc_id));
                        let norm = K1 * (1.0 - B + B * length / average);
                        *score += rarity * (1.0 + K1) * frequency / (frequency + norm);
                    }
                }
            }
        }
        Ok(scores)
    }

    fn rarity(&self, term: &Term) -> f64 {
        let holding = self.holding.get(term).copied().unwrap_or(0) as f64;
        let without = (self.chunks as f64 - holding).max(0.0);
        ((without + 0.5) / (holding + 0.5)).ln_1p()
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.tokens)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.chunks)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.holding.get(term) {
            Some(holding) => Ok(*holding),
            None => holding_chunks(self.searcher, term),
        }
    }
}

fn holding_chunks(searcher: &Searcher, term: &Term) -> tantivy::Result<u64> {
    let mut holding = 0;
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(term.field())?;
        let Some(alive) = segment.alive_bitset() else {
            holding += u64::from(index.doc_freq(term)?);
            continue;
        };
        if let Some(postings) = index.read_postings(term, IndexRecordOption::Basic)? {
            holding += u64::from(postings.doc_freq_given_deletes(alive));
        }
    }
    Ok(holding)
}

/// By the lengths that the scores go by, which are rounded.
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
