//! Searching one commit of the words.
//!
//! The same documents give the same scores, whatever the index went through. Rows that were removed stay
//! in their segment until it is merged, so that statistics count only what is alive; and the scores that a
//! search returns are summed up term by term, not in the order in which the rows happen to lie.
//!
//! Schulz and Mihov, Fast string correction with Levenshtein automata (2002): the automaton of a misspelt
//! word walks the term dictionary and visits only what can still match.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use levenshtein_automata::{DFA, Distance, SINK_STATE};
use tantivy::collector::{Collector, DocSetCollector, FilterCollector, TopDocs};
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, Occur,
    Query, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption, TantivyDocument, Value};
use tantivy::{DocAddress, DocSet, Score, Searcher, SegmentReader, TERMINATED, TantivyError, Term};
use tantivy_fst::Automaton;

use super::Fields;
use crate::domain::LineRange;
use crate::kb::index::port::{ChunkFilter, ChunkId, Passage, Result};
use crate::kb::index::search_terms::{Bm25, SearchTerm, gain, search_terms};
use crate::kb::index::tokens;

/// So many more rows than asked for are fetched, so that equal scores are cut in an order of our own.
const MARGIN: usize = 16;
/// Scores that differ by less than this share may be equal but for rounding.
const ROUNDING: f32 = 1e-5;
/// The most rows that are fetched; more with one score are cut in tantivy's order.
const MOST: usize = 4096;

/// One commit, unmoved by later ones.
pub(crate) struct LexicalView {
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    /// How many tokens all chunks together have; counted when first needed.
    pub(super) tokens: OnceLock<u64>,
}

/// The result of a search.
#[derive(Debug, Default)]
pub(crate) struct ScoredChunks {
    /// The chunks with their scores: at least as many as asked for, where there are as many.
    pub chunks: Vec<(ChunkId, f64)>,
    /// The score of a full match.
    pub full: f64,
    /// What was searched for.
    pub terms: Vec<SearchTerm>,
}

impl LexicalView {
    /// The number of chunks.
    pub fn len(&self) -> usize {
        self.searcher.num_docs() as usize
    }

    /// The best chunks for the words of `query`, at least `k`, and all that score like the last of
    /// them; in no order. `within` are numbers of documents, `wanted` are chunks.
    pub fn search(
        &self,
        query: &str,
        k: usize,
        within: Option<&[u32]>,
        wanted: Option<&Arc<ChunkFilter>>,
    ) -> Result<ScoredChunks> {
        let doc_freq = |text: &str| Ok(self.doc_freq(&self.term(text))?);
        let terms = search_terms(tokens::terms(query), doc_freq, |dfa| self.near(dfa))?;
        if k == 0 || terms.is_empty() || self.len() == 0 {
            return Ok(ScoredChunks::default());
        }
        let statistics = self.statistics(&terms)?;
        let query = self.query(&terms, within);
        let mut limit = k + MARGIN;
        let found = loop {
            let best = TopDocs::with_limit(limit).order_by_score();
            let found = self.best(&query, best, &statistics, wanted)?;
            let cut_score = found.get(k - 1).map_or(0.0, |(score, _)| *score);
            let goes_on = found.len() == limit
                && found
                    .last()
                    .is_some_and(|(score, _)| *score >= cut_score * (1.0 - ROUNDING));
            if !goes_on || limit >= MOST {
                break found;
            }
            limit = (4 * limit).min(MOST);
        };
        let mut addresses: Vec<DocAddress> = found.into_iter().map(|(_, at)| at).collect();
        addresses.sort_unstable();
        let mut chunks = Vec::with_capacity(addresses.len());
        for rows in addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let segment = self.searcher.segment_reader(rows[0].segment_ord);
            let column = segment.fast_fields().u64("row")?;
            let scores = statistics.exact_scores(segment, &terms, rows)?;
            for (address, score) in rows.iter().zip(scores) {
                let chunk = column.first(address.doc_id).map(ChunkId::unpack);
                chunks.extend(chunk.map(|chunk| (chunk, score)));
            }
        }
        Ok(ScoredChunks {
            chunks,
            full: statistics.bm25.full_match(&terms),
            terms,
        })
    }

    /// Collects the rows of a query, only those of wanted chunks where some are.
    fn best(
        &self,
        query: &dyn Query,
        best: impl Collector<Fruit = Vec<(Score, DocAddress)>>,
        statistics: &Statistics<'_>,
        wanted: Option<&Arc<ChunkFilter>>,
    ) -> tantivy::Result<Vec<(Score, DocAddress)>> {
        let searcher = &self.searcher;
        let Some(wanted) = wanted.map(Arc::clone) else {
            return searcher.search_with_statistics_provider(query, &best, statistics);
        };
        let is_wanted = move |row: u64| wanted.lets_through(ChunkId::unpack(row));
        let best = FilterCollector::new("row".to_owned(), is_wanted, best);
        searcher.search_with_statistics_provider(query, &best, statistics)
    }

    /// The chunks that hold all of these terms, in no order. `within` are numbers of documents.
    pub fn chunks_with(&self, terms: &[&str], within: Option<&[u32]>) -> Result<Vec<ChunkId>> {
        let each = terms.iter().map(|term| -> (Occur, Box<dyn Query>) {
            let exact = TermQuery::new(self.term(term), IndexRecordOption::Basic);
            (Occur::Must, Box::new(exact))
        });
        let all = self.limit_to_documents(Box::new(BooleanQuery::new(each.collect())), within);
        let mut addresses: Vec<DocAddress> = self
            .searcher
            .search(&all, &DocSetCollector)?
            .into_iter()
            .collect();
        addresses.sort_unstable();
        let mut chunks = Vec::with_capacity(addresses.len());
        for rows in addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let segment = self.searcher.segment_reader(rows[0].segment_ord);
            let column = segment.fast_fields().u64("row")?;
            let found = rows.iter().filter_map(|row| column.first(row.doc_id));
            chunks.extend(found.map(ChunkId::unpack));
        }
        Ok(chunks)
    }

    /// The chunks that have a name of that key.
    pub fn chunks_with_name(&self, key: &str) -> Result<Vec<ChunkId>> {
        let term = Term::from_field_text(self.fields.names, key);
        let mut chunks = Vec::new();
        for segment in self.searcher.segment_readers() {
            let Some(mut postings) = postings(segment, &term, IndexRecordOption::Basic)? else {
                continue;
            };
            let column = segment.fast_fields().u64("row")?;
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if !segment.is_deleted(doc) {
                    chunks.extend(column.first(doc).map(ChunkId::unpack));
                }
                postings.advance();
            }
        }
        Ok(chunks)
    }

    /// Reads what a chunk says; `None` where it is not there.
    pub fn passage(
        &self,
        chunk: ChunkId,
        source: &str,
        lines: LineRange,
    ) -> Result<Option<Passage>> {
        let Some(address) = self.find(chunk)? else {
            return Ok(None);
        };
        let stored: TantivyDocument = self.searcher.doc(address)?;
        let mut words = stored.get_all(self.fields.words);
        let mut next = || {
            let value = words.next().and_then(|value| value.as_str());
            value.map_or("", tokens::unmark).to_owned()
        };
        Ok(Some(Passage {
            source: source.to_owned(),
            lines,
            heading: next(),
            text: next(),
            place: stored
                .get_first(self.fields.place)
                .and_then(|value| serde_json::from_str(value.as_str()?).ok()),
        }))
    }

    /// A document's rows lie together and in order, because they are added in one go and removed
    /// in one go.
    fn find(&self, chunk: ChunkId) -> Result<Option<DocAddress>> {
        let term = Term::from_field_u64(self.fields.document, u64::from(chunk.document()));
        for (ord, segment) in (0_u32..).zip(self.searcher.segment_readers()) {
            let Some(postings) = postings(segment, &term, IndexRecordOption::Basic)? else {
                continue;
            };
            let doc = postings.doc().saturating_add(chunk.ordinal());
            let column = segment.fast_fields().u64("row")?;
            if doc < segment.max_doc()
                && !segment.is_deleted(doc)
                && column.first(doc) == Some(chunk.pack())
            {
                return Ok(Some(DocAddress::new(ord, doc)));
            }
        }
        Ok(None)
    }

    fn term(&self, text: &str) -> Term {
        Term::from_field_text(self.fields.words, text)
    }

    fn query(&self, terms: &[SearchTerm], within: Option<&[u32]>) -> Box<dyn Query> {
        let any = terms.iter().map(|word| self.word_query(word)).collect();
        self.limit_to_documents(Box::new(BooleanQuery::union(any)), within)
    }

    /// Limits a query to documents of these numbers.
    fn limit_to_documents(&self, query: Box<dyn Query>, within: Option<&[u32]>) -> Box<dyn Query> {
        let Some(documents) = within else {
            return query;
        };
        let numbers = documents
            .iter()
            .map(|number| Term::from_field_u64(self.fields.document, u64::from(*number)));
        let only = ConstScoreQuery::new(Box::new(TermSetQuery::new(numbers)), 0.0);
        Box::new(BooleanQuery::new(vec![
            (Occur::Must, query),
            (Occur::Must, Box::new(only)),
        ]))
    }

    /// A query that is scored as the best of the word's terms.
    fn word_query(&self, word: &SearchTerm) -> Box<dyn Query> {
        let terms = word.terms.iter().map(|term| -> Box<dyn Query> {
            let exact = TermQuery::new(self.term(&term.text), IndexRecordOption::WithFreqs);
            if term.weight < 1.0 {
                Box::new(BoostQuery::new(Box::new(exact), term.weight as f32))
            } else {
                Box::new(exact)
            }
        });
        let mut any: Vec<Box<dyn Query>> = terms.collect();
        if any.len() == 1 {
            any.swap_remove(0)
        } else {
            Box::new(DisjunctionMaxQuery::new(any))
        }
    }

    /// The terms that an automaton accepts, and how many chunks hold each.
    fn near(&self, automaton: &DFA) -> Result<Vec<(String, u64)>> {
        let mut found: BTreeSet<String> = BTreeSet::new();
        for segment in self.searcher.segment_readers() {
            let index = segment.inverted_index(self.fields.words)?;
            let terms = index.terms().search(Edits(automaton)).into_stream();
            let mut terms = terms.map_err(TantivyError::from)?;
            while terms.advance() {
                found.extend(str::from_utf8(terms.key()).ok().map(str::to_owned));
            }
        }
        // Terms of removed chunks stay in the dictionary for a while.
        let held = found.into_iter().map(|text| {
            let doc_freq = self.doc_freq(&self.term(&text))?;
            Ok((text, doc_freq))
        });
        held.collect()
    }

    /// Counts the chunks that hold the term, without removed ones.
    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let mut doc_freq = 0;
        for segment in self.searcher.segment_readers() {
            let Some(alive) = segment.alive_bitset() else {
                let index = segment.inverted_index(term.field())?;
                doc_freq += u64::from(index.doc_freq(term)?);
                continue;
            };
            if let Some(postings) = postings(segment, term, IndexRecordOption::Basic)? {
                doc_freq += u64::from(postings.doc_freq_given_deletes(alive));
            }
        }
        Ok(doc_freq)
    }

    /// The number of tokens of all chunks, by the rounded lengths that the scores use.
    fn tokens(&self) -> tantivy::Result<u64> {
        if let Some(tokens) = self.tokens.get() {
            return Ok(*tokens);
        }
        let mut tokens = 0;
        for segment in self.searcher.segment_readers() {
            let lengths = segment.get_fieldnorms_reader(self.fields.words)?;
            let rows = segment.doc_ids_alive();
            tokens += rows
                .map(|row| u64::from(lengths.fieldnorm(row)))
                .sum::<u64>();
        }
        Ok(*self.tokens.get_or_init(|| tokens))
    }

    fn statistics(&self, search_terms: &[SearchTerm]) -> tantivy::Result<Statistics<'_>> {
        let mut doc_freq = HashMap::with_capacity(search_terms.len());
        for term in search_terms.iter().flat_map(|word| &word.terms) {
            let most: &mut u64 = doc_freq.entry(self.term(&term.text)).or_default();
            *most = term.doc_freq.max(*most);
        }
        Ok(Statistics {
            view: self,
            bm25: Bm25 {
                chunks: self.searcher.num_docs(),
                tokens: self.tokens()?,
            },
            doc_freq,
        })
    }
}

fn postings(
    segment: &SegmentReader,
    term: &Term,
    option: IndexRecordOption,
) -> tantivy::Result<Option<SegmentPostings>> {
    let index = segment.inverted_index(term.field())?;
    Ok(index.read_postings(term, option)?)
}

/// The statistics that BM25 needs for one query, of what is alive.
struct Statistics<'a> {
    view: &'a LexicalView,
    bm25: Bm25,
    doc_freq: HashMap<Term, u64>,
}

impl Statistics<'_> {
    /// The score of each of these rows of a segment, which are in order, summed up term by term in double
    /// precision; of the terms that stand for one word the best counts.
    fn exact_scores(
        &self,
        segment: &SegmentReader,
        search_terms: &[SearchTerm],
        rows: &[DocAddress],
    ) -> tantivy::Result<Vec<f64>> {
        let average = self.bm25.average();
        let lengths = segment.get_fieldnorms_reader(self.view.fields.words)?;
        let mut scores = vec![0.0; rows.len()];
        for word in search_terms {
            let mut best = vec![0.0; rows.len()];
            for term in &word.terms {
                let own = self.view.term(&term.text);
                let Some(mut postings) = postings(segment, &own, IndexRecordOption::WithFreqs)?
                else {
                    continue;
                };
                let idf = term.weight * self.bm25.idf(self.doc_freq(&own)?);
                for (row, score) in rows.iter().zip(&mut best) {
                    if postings.doc() < row.doc_id {
                        postings.seek(row.doc_id);
                    }
                    if postings.doc() == row.doc_id {
                        let frequency = f64::from(postings.term_freq());
                        let length = f64::from(lengths.fieldnorm(row.doc_id));
                        *score = f64::max(*score, idf * gain(frequency, length, average));
                    }
                }
            }
            for (score, best) in scores.iter_mut().zip(best) {
                *score += best;
            }
        }
        Ok(scores)
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
            None => self.view.doc_freq(term),
        }
    }
}

/// The automaton in the form that the term dictionary takes.
struct Edits<'a>(&'a DFA);

impl Automaton for Edits<'_> {
    type State = u32;

    fn start(&self) -> u32 {
        self.0.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        matches!(self.0.distance(*state), Distance::Exact(_))
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        self.0.transition(*state, byte)
    }
}
