//! The chunks by their words: BM25 over an on-disk index.
//!
//! The index also stores the chunks themselves, so that what is shown is what was indexed even
//! when the file has changed since. A commit is atomic, and its payload names the manifest that
//! belongs to it.

use std::panic;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::collector::{DocSetCollector, TopDocs};
use tantivy::directory::MmapDirectory;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, ConstScoreQuery, Occur, Query, TermQuery, TermSetQuery,
};
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, STORED, STRING, Schema, TantivyDocument,
    TextFieldIndexing, TextOptions, Value,
};
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, Term};

use super::chunk::{Chunk, with_heading};
use super::error::KbError;
use super::store::{ChunkKey, LexicalMatches, Match, Passage, Within};
use super::tokens;
use crate::domain::LineRange;

const TOKENIZER: &str = "kb";
/// Tantivy asks for at least 15 MB a thread.
const WRITER_BYTES: usize = 40_000_000;
/// Tantivy's own.
const K1: f64 = 1.2;
/// A passage of average length that holds every term of the query this often counts as a full
/// match.
const FULL_MATCH_FREQUENCY: f64 = 2.0;

/// The index on disk and a reader of it.
pub(super) struct LexicalIndex {
    index: Index,
    reader: IndexReader,
    fields: Fields,
}

/// What a commit says about itself.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Payload {
    /// Which manifest belongs to it; 0 before the first commit.
    pub generation: u64,
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    source: Field,
    key: Field,
    heading: Field,
    text: Field,
    words: Field,
    start: Field,
    end: Field,
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
            let index = Index::open(directory(dir)?)?;
            if index.schema() != schema().0 {
                return Err(KbError::Damaged(
                    "its fields are of another version".to_owned(),
                ));
            }
            Self::over(index)
        };
        // At files that are cut off within their last bytes tantivy panics.
        let opened = panic::catch_unwind(panic::AssertUnwindSafe(open))
            .unwrap_or_else(|_| Err(KbError::Damaged("its files are cut off".to_owned())));
        opened.map(Some).map_err(|error| error.within(dir))
    }

    /// Makes an empty index in place of whatever `dir` holds. Only under the lock.
    pub fn create(dir: &Path) -> Result<Self, KbError> {
        remove(dir)?;
        std::fs::create_dir_all(dir).map_err(KbError::io(dir))?;
        let create = || -> Result<Self, KbError> {
            let settings = IndexSettings::default();
            Self::over(Index::create(directory(dir)?, schema().0, settings)?)
        };
        create().map_err(|error| error.within(dir))
    }

    fn over(index: Index) -> Result<Self, KbError> {
        let fields = schema().1;
        index.tokenizers().register(TOKENIZER, tokens::analyzer());
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        Ok(Self {
            index,
            reader,
            fields,
        })
    }

    /// What the last commit says about itself.
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
        })
    }

    /// Starts changing the index. One at a time.
    pub fn writer(&self) -> Result<LexicalWriter, KbError> {
        Ok(LexicalWriter {
            writer: self.index.writer_with_num_threads(1, WRITER_BYTES)?,
            fields: self.fields,
        })
    }
}

/// Changes that become visible together.
pub(super) struct LexicalWriter {
    writer: IndexWriter,
    fields: Fields,
}

impl LexicalWriter {
    /// Forgets everything.
    pub fn clear(&self) -> Result<(), KbError> {
        self.writer.delete_all_documents()?;
        Ok(())
    }

    /// Forgets a document.
    pub fn remove(&self, source: &str) {
        self.writer
            .delete_term(Term::from_field_text(self.fields.source, source));
    }

    /// Adds a document's chunk.
    pub fn add(&self, source: &str, key: ChunkKey, chunk: &Chunk) -> Result<(), KbError> {
        let fields = self.fields;
        let mut row = TantivyDocument::new();
        row.add_text(fields.source, source);
        row.add_text(fields.key, key.to_hex());
        row.add_text(fields.heading, &chunk.heading);
        row.add_text(fields.text, &chunk.text);
        row.add_text(fields.words, chunk.indexed_text());
        row.add_u64(fields.start, chunk.lines.start as u64);
        row.add_u64(fields.end, chunk.lines.end as u64);
        if let Some(place) = &chunk.place {
            row.add_text(
                fields.place,
                serde_json::to_string(place).unwrap_or_default(),
            );
        }
        self.writer.add_document(row)?;
        Ok(())
    }

    /// Makes all changes visible, or none.
    pub fn commit(mut self, payload: Payload) -> Result<(), KbError> {
        let mut prepared = self.writer.prepare_commit()?;
        let json = serde_json::to_string(&payload).unwrap_or_default();
        prepared.set_payload(&json);
        prepared.commit()?;
        self.writer.wait_merging_threads()?;
        Ok(())
    }
}

/// One commit, unmoved by later ones.
#[derive(Clone)]
pub(super) struct LexicalView {
    searcher: Searcher,
    fields: Fields,
}

impl LexicalView {
    /// The `k` best chunks for the words of `query`.
    pub fn search(
        &self,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<LexicalMatches, KbError> {
        let terms: Vec<Term> = tokens::terms(query)
            .iter()
            .map(|term| Term::from_field_text(self.fields.words, term))
            .collect();
        let full = self.full_match(&terms)?;
        if k == 0 || terms.is_empty() || self.searcher.num_docs() == 0 {
            return Ok(LexicalMatches::default());
        }
        let any: Vec<Box<dyn Query>> = terms
            .into_iter()
            .map(|term| {
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>
            })
            .collect();
        let mut query: Box<dyn Query> = Box::new(BooleanQuery::union(any));
        if let Some(sources) = within {
            let terms = sources
                .iter()
                .map(|source| Term::from_field_text(self.fields.source, source));
            let only = ConstScoreQuery::new(Box::new(TermSetQuery::new(terms)), 0.0);
            query = Box::new(BooleanQuery::new(vec![
                (Occur::Must, query),
                (Occur::Must, Box::new(only)),
            ]));
        }
        let found = self
            .searcher
            .search(&query, &TopDocs::with_limit(k).order_by_score())?;
        let mut matches = Vec::with_capacity(found.len());
        for (score, address) in found {
            matches.push(Match {
                passage: self.passage(&self.searcher.doc(address)?),
                score: f64::from(score),
            });
        }
        // Equal scores come in the order of segments, which differs from one indexing to the next.
        matches.sort_by(Match::best_first);
        Ok(LexicalMatches { matches, full })
    }

    /// The chunks with that key: more than one when documents repeat each other.
    pub fn passages(&self, key: &ChunkKey) -> Result<Vec<Passage>, KbError> {
        let term = Term::from_field_text(self.fields.key, &key.to_hex());
        let query = TermQuery::new(term, IndexRecordOption::Basic);
        let mut passages = Vec::new();
        for address in self.searcher.search(&query, &DocSetCollector)? {
            passages.push(self.passage(&self.searcher.doc(address)?));
        }
        passages.sort_by(|a, b| (&a.source, a.lines.start).cmp(&(&b.source, b.lines.start)));
        Ok(passages)
    }

    /// The score of a full match. Terms that no chunk holds count as the rarest of all, so that a
    /// base that knows nothing of the query's main words cannot come near it.
    fn full_match(&self, terms: &[Term]) -> Result<f64, KbError> {
        let chunks = self.searcher.num_docs() as f64;
        let gain = FULL_MATCH_FREQUENCY * (K1 + 1.0) / (FULL_MATCH_FREQUENCY + K1);
        let mut sum = 0.0;
        for term in terms {
            let holding = Bm25StatisticsProvider::doc_freq(&self.searcher, term)? as f64;
            let odds = ((chunks - holding).max(0.0) + 0.5) / (holding + 0.5);
            sum += odds.ln_1p() * gain;
        }
        Ok(sum)
    }

    fn passage(&self, row: &TantivyDocument) -> Passage {
        let text = |field| {
            row.get_first(field)
                .and_then(|value| value.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        let number = |field| {
            row.get_first(field)
                .and_then(|value| value.as_u64())
                .unwrap_or(1) as usize
        };
        Passage {
            source: text(self.fields.source),
            lines: LineRange {
                start: number(self.fields.start),
                end: number(self.fields.end),
            },
            place: serde_json::from_str(&text(self.fields.place)).ok(),
            heading: text(self.fields.heading),
            text: text(self.fields.text),
            key: ChunkKey::from_hex(&text(self.fields.key)),
        }
    }
}

impl Passage {
    /// What is embedded for this passage.
    pub(super) fn indexed_text(&self) -> String {
        with_heading(&self.heading, &self.text)
    }
}

fn directory(dir: &Path) -> Result<MmapDirectory, KbError> {
    Ok(MmapDirectory::open(dir).map_err(tantivy::TantivyError::from)?)
}

/// Removes a file or a folder; one that is not there is removed already.
pub(super) fn remove(path: &Path) -> Result<(), KbError> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(KbError::io(path)(error)),
        _ => Ok(()),
    }
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs),
    );
    let number = NumericOptions::default().set_stored();
    let fields = Fields {
        source: builder.add_text_field("source", STRING | STORED),
        key: builder.add_text_field("key", STRING | STORED),
        heading: builder.add_text_field("heading", STORED),
        text: builder.add_text_field("text", STORED),
        words: builder.add_text_field("words", words),
        start: builder.add_u64_field("start", number.clone()),
        end: builder.add_u64_field("end", number),
        place: builder.add_text_field("place", STORED),
    };
    (builder.build(), fields)
}
