//! The chunks by their words: BM25 over an on-disk index.
//!
//! The index also stores what the chunks say, so that what is shown is what was indexed even when
//! the file has changed since; where they are is the journal's to know. A row is named by its
//! document's number and its place in the document, which a search reads without touching what is
//! stored. A commit is atomic, and its payload names the journal that belongs to it.
//!
//! The same documents give the same scores, whatever the index went through: statistics count
//! only what is alive, and the scores that a search returns are summed up term by term, not in
//! the order in which the rows happen to lie.

mod checked;
mod clear;
mod directory;
mod near_terms;
mod statistics;
mod writer;

use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, TermSetQuery};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TantivyDocument, TextFieldIndexing,
    TextOptions, Value,
};
use tantivy::{
    DocAddress, DocSet, Index, IndexReader, IndexSettings, ReloadPolicy, Searcher, TERMINATED, Term,
};

use super::journal::Journal;
use crate::domain::Place;
use crate::files::create_private_dir;
use crate::kb::error::KbError;
use crate::kb::index::matches::Correction;
use crate::kb::index::tokens;
use directory::Files;
use near_terms::SearchTerm;
use statistics::Statistics;

pub(crate) use clear::discard;
pub(crate) use writer::LexicalWriter;

const TOKENIZER: &str = "kb";
/// So many more rows than asked for are fetched, so that equal scores are cut in an order of our own.
const MARGIN: usize = 16;
/// Scores that differ by less than this share may be equal but for rounding.
const ROUNDING: f32 = 1e-5;
/// The most rows that are fetched; more with one score are cut in tantivy's order.
const MOST: usize = 4096;

/// The index on disk and a reader of it.
pub(crate) struct LexicalIndex {
    dir: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
}

/// What is stored with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Payload {
    /// Which commit it is; 0 before the first.
    pub generation: u64,
    /// The journal of the documents of this commit.
    pub journal: Journal,
}

/// A chunk as the lexical index knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Row {
    /// Its document's number.
    pub document: u32,
    /// Its place in the document.
    pub chunk: u32,
}

impl Row {
    fn pack(self) -> u64 {
        u64::from(self.document) << 32 | u64::from(self.chunk)
    }

    fn unpack(packed: u64) -> Self {
        Self {
            document: (packed >> 32) as u32,
            chunk: packed as u32,
        }
    }
}

/// The text of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Wording {
    pub heading: String,
    pub text: String,
    pub place: Option<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    /// The document's number, for removing and finding its rows.
    document: Field,
    /// Document and chunk.
    row: Field,
    /// Heading and text: two values, indexed as one and stored, each marked with its language.
    words: Field,
    /// The keys of its names.
    names: Field,
    place: Field,
}

impl LexicalIndex {
    /// Opens the index in `dir`; `None` when there is none yet.
    pub fn open(dir: &Path) -> Result<Option<Self>, KbError> {
        let meta = dir.join("meta.json");
        if !meta.try_exists().map_err(KbError::io(&meta))? {
            return Ok(None);
        }
        let open = || -> Result<Self, KbError> {
            let index = Index::open(Files::open(dir)?)?;
            if index.schema() != schema().0 {
                return Err(KbError::Damaged(
                    "its fields are of another version".to_owned(),
                ));
            }
            let opened = Self::over(dir, index)?;
            opened.has_its_files()?;
            Ok(opened)
        };
        // At files that are cut off within their last bytes tantivy panics.
        let opened = panic::catch_unwind(panic::AssertUnwindSafe(open))
            .unwrap_or_else(|_| Err(KbError::Damaged("its files are cut off".to_owned())));
        opened.map(Some).map_err(|error| error.with_dir(dir))
    }

    /// Makes an empty index in place of the one that `dir` holds. Only under the lock.
    pub fn create(dir: &Path) -> Result<Self, KbError> {
        clear::clear(dir)?;
        create_private_dir(dir).map_err(KbError::io(dir))?;
        let create = || -> Result<Self, KbError> {
            let settings = IndexSettings::default();
            Self::over(dir, Index::create(Files::open(dir)?, schema().0, settings)?)
        };
        create().map_err(|error| error.with_dir(dir))
    }

    fn over(dir: &Path, index: Index) -> Result<Self, KbError> {
        let fields = schema().1;
        index.tokenizers().register(TOKENIZER, tokens::analyzer());
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        Ok(Self {
            dir: dir.to_owned(),
            index,
            reader,
            fields,
        })
    }

    /// Reads what is stored with the last commit.
    pub fn payload(&self) -> Result<Payload, KbError> {
        let payload = self.index.load_metas()?.payload;
        Ok(payload
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default())
    }

    /// A view of the last commit.
    pub fn searcher(&self) -> Result<LexicalView, KbError> {
        self.reader.reload()?;
        Ok(LexicalView {
            searcher: self.reader.searcher(),
            fields: self.fields,
            tokens: Arc::default(),
        })
    }

    /// Starts changing the index; `large` for a change of many documents. One at a time.
    pub fn writer(&self, large: bool) -> Result<LexicalWriter, KbError> {
        LexicalWriter::new(&self.index, self.fields, large)
    }
}

/// One commit, unmoved by later ones.
#[derive(Clone)]
pub(crate) struct LexicalView {
    searcher: Searcher,
    fields: Fields,
    /// How many tokens all chunks together have; counted when first needed.
    tokens: Arc<OnceLock<u64>>,
}

/// The result of a search.
#[derive(Debug, Default)]
pub(crate) struct RowMatches {
    /// The rows with their scores: at least as many as asked for, where there are as many.
    pub rows: Vec<(Row, f64)>,
    /// The score of a full match.
    pub full: f64,
    /// Terms of the query that the index does not have, and what they were taken for.
    pub corrections: Vec<Correction>,
}

impl LexicalView {
    /// The best chunks for the words of `query`, at least `k`, and all that score like the last of
    /// them; in no order. `within` are numbers of documents.
    pub fn search(
        &self,
        query: &str,
        k: usize,
        within: Option<&[u32]>,
    ) -> Result<RowMatches, KbError> {
        let terms =
            near_terms::search_terms(&self.searcher, self.fields.words, tokens::terms(query))?;
        if k == 0 || terms.is_empty() || self.searcher.num_docs() == 0 {
            return Ok(RowMatches::default());
        }
        let statistics = Statistics::new(&self.searcher, self.fields.words, &self.tokens, &terms)?;
        let query = self.query(&terms, within);
        let mut limit = k + MARGIN;
        let found = loop {
            let best = TopDocs::with_limit(limit).order_by_score();
            let found =
                self.searcher
                    .search_with_statistics_provider(&query, &best, &statistics)?;
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
        let scores = statistics.exact_scores(&terms, &addresses)?;
        let mut rows = Vec::with_capacity(addresses.len());
        for of_segment in addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let segment = self.searcher.segment_reader(of_segment[0].segment_ord);
            let column = segment.fast_fields().u64("row")?;
            rows.extend(
                of_segment
                    .iter()
                    .map(|address| column.first(address.doc_id)),
            );
        }
        Ok(RowMatches {
            rows: rows
                .into_iter()
                .zip(scores)
                .filter_map(|(row, score)| Some((Row::unpack(row?), score)))
                .collect(),
            full: statistics.full_match(&terms),
            corrections: terms.iter().filter_map(SearchTerm::correction).collect(),
        })
    }

    /// The chunks that have a name of that key, in the order of their rows.
    pub fn rows_with_name(&self, key: &str) -> Result<Vec<Row>, KbError> {
        let term = Term::from_field_text(self.fields.names, key);
        let mut rows = Vec::new();
        for segment in self.searcher.segment_readers() {
            let index = segment.inverted_index(self.fields.names)?;
            let postings = index
                .read_postings(&term, IndexRecordOption::Basic)
                .map_err(tantivy::TantivyError::from)?;
            let Some(mut postings) = postings else {
                continue;
            };
            let column = segment.fast_fields().u64("row")?;
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if !segment.is_deleted(doc) {
                    rows.extend(column.first(doc).map(Row::unpack));
                }
                postings.advance();
            }
        }
        rows.sort_unstable();
        Ok(rows)
    }

    /// Reads the text of a chunk.
    pub fn wording(&self, row: Row) -> Result<Option<Wording>, KbError> {
        let Some(address) = self.find(row)? else {
            return Ok(None);
        };
        let stored: TantivyDocument = self.searcher.doc(address)?;
        let mut words = stored.get_all(self.fields.words);
        let mut next = || {
            words
                .next()
                .and_then(|value| value.as_str())
                .map_or("", tokens::unmark)
                .to_owned()
        };
        Ok(Some(Wording {
            heading: next(),
            text: next(),
            place: stored
                .get_first(self.fields.place)
                .and_then(|value| serde_json::from_str(value.as_str()?).ok()),
        }))
    }

    fn query(&self, terms: &[SearchTerm], within: Option<&[u32]>) -> Box<dyn Query> {
        let any = terms.iter().map(SearchTerm::query).collect();
        let query: Box<dyn Query> = Box::new(BooleanQuery::union(any));
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

    /// A document's rows lie together and in order, because they are added in one go and removed
    /// in one go; should that ever be otherwise, they are looked through.
    fn find(&self, row: Row) -> Result<Option<DocAddress>, KbError> {
        let term = Term::from_field_u64(self.fields.document, u64::from(row.document));
        for (ord, segment) in (0_u32..).zip(self.searcher.segment_readers()) {
            let index = segment.inverted_index(self.fields.document)?;
            let postings = index
                .read_postings(&term, IndexRecordOption::Basic)
                .map_err(tantivy::TantivyError::from)?;
            let Some(mut postings) = postings else {
                continue;
            };
            let column = segment.fast_fields().u64("row")?;
            let is_it = |doc| column.first(doc) == Some(row.pack());
            let guess = postings.doc().saturating_add(row.chunk);
            if guess < segment.max_doc() && is_it(guess) && !segment.is_deleted(guess) {
                return Ok(Some(DocAddress::new(ord, guess)));
            }
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if is_it(doc) && !segment.is_deleted(doc) {
                    return Ok(Some(DocAddress::new(ord, doc)));
                }
                postings.advance();
            }
        }
        Ok(None)
    }
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextOptions::default()
        .set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(TOKENIZER)
                .set_index_option(IndexRecordOption::WithFreqs),
        )
        .set_stored();
    let name = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false),
    );
    let fields = Fields {
        document: builder.add_u64_field("document", INDEXED),
        row: builder.add_u64_field("row", FAST),
        words: builder.add_text_field("words", words),
        names: builder.add_text_field("names", name),
        place: builder.add_text_field("place", STORED),
    };
    (builder.build(), fields)
}
