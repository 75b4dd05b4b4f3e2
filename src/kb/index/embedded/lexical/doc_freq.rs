//! How common a term is.

use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher, Term};

/// How many chunks that are alive hold the term.
pub(in crate::kb) fn alive_doc_freq(searcher: &Searcher, term: &Term) -> tantivy::Result<u64> {
    let mut doc_freq = 0;
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(term.field())?;
        let Some(alive) = segment.alive_bitset() else {
            doc_freq += u64::from(index.doc_freq(term)?);
            continue;
        };
        if let Some(postings) = index.read_postings(term, IndexRecordOption::Basic)? {
            doc_freq += u64::from(postings.doc_freq_given_deletes(alive));
        }
    }
    Ok(doc_freq)
}
