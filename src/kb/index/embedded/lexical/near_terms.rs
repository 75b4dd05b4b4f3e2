//! Words of a query that the index does not have: what it has instead.
//!
//! Only a word without a single document, in any spelling or stem, is looked up, so a query whose
//! words all exist costs and finds what it always did. Which terms count is for `near_words` to say. An embedding makes noise of a
//! word that does not exist, so that it is given what was meant.
//!
//! Schulz and Mihov, Fast string correction with Levenshtein automata (2002): the automaton walks
//! the term dictionary and visits only what can still match.

use std::collections::BTreeSet;
use std::iter;

use levenshtein_automata::{DFA, Distance, SINK_STATE};
use tantivy::query::{BooleanQuery, BoostQuery, DisjunctionMaxQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, TantivyError, Term};
use tantivy_fst::Automaton;

use crate::kb::error::KbError;
use crate::kb::index::matches::Correction;
use crate::kb::index::near_words::{self, MOST_LOOKED_UP, NearTerm};
use crate::kb::index::tokens::{QueryTerm, Role};

/// The terms that are searched for one term of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SearchTerm {
    terms: Vec<(Term, f64)>,
    /// How many chunks hold the best of them, or the one that most hold of several spellings and
    /// stems, which count as one term; `None` when it need not be in a full match.
    pub doc_freq: Option<u64>,
    /// The term of the query, where the index does not have it.
    misspelt: Option<String>,
}

impl SearchTerm {
    /// Terms of the index with their weights, best first.
    pub fn terms(&self) -> impl Iterator<Item = (&Term, f64)> {
        self.terms.iter().map(|(term, weight)| (term, *weight))
    }

    /// The document frequency that all terms share; `None` where each has its own.
    pub fn shared_doc_freq(&self) -> Option<u64> {
        self.doc_freq.filter(|_| self.misspelt.is_none())
    }

    /// The correction, if the index does not have the term of the query.
    pub fn correction(&self) -> Option<Correction> {
        let (best, _) = self.terms.first()?;
        Some(Correction {
            asked: self.misspelt.clone()?,
            meant: best.value().as_str()?.to_owned(),
            spelt: None,
        })
    }

    /// Makes a query that is scored as the best of the terms.
    pub fn query(&self) -> Box<dyn Query> {
        let mut any: Vec<Box<dyn Query>> = self
            .terms()
            .map(|(term, weight)| {
                let exact = TermQuery::new(term.clone(), IndexRecordOption::WithFreqs);
                let exact = Box::new(exact);
                if weight < 1.0 {
                    Box::new(BoostQuery::new(exact, weight as f32)) as Box<dyn Query>
                } else {
                    exact
                }
            })
            .collect();
        match any.len() {
            0 => Box::new(BooleanQuery::new(Vec::new())),
            1 => any.swap_remove(0),
            _ => Box::new(DisjunctionMaxQuery::new(any)),
        }
    }
}

/// Finds what to search for each term of a query.
pub(crate) fn search_terms(
    searcher: &Searcher,
    field: Field,
    terms: Vec<QueryTerm>,
) -> Result<Vec<SearchTerm>, KbError> {
    let mut looked_up = 0;
    terms
        .into_iter()
        .map(|asked| {
            let mut terms = Vec::new();
            let mut doc_freq = 0;
            for text in iter::once(&asked.text).chain(&asked.others) {
                let term = Term::from_field_text(field, text);
                let held = alive_doc_freq(searcher, &term)?;
                if held > 0 || terms.is_empty() {
                    terms.push((term, 1.0));
                }
                doc_freq = doc_freq.max(held);
            }
            if doc_freq == 0 && asked.role == Role::Word && looked_up < MOST_LOOKED_UP {
                looked_up += 1;
                let replacements = replacements(searcher, field, &asked.text)?;
                if !replacements.is_empty() {
                    let doc_freq = replacements.first().map(|near| near.doc_freq);
                    let terms = replacements
                        .into_iter()
                        .map(|near| (Term::from_field_text(field, &near.text), near.weight))
                        .collect();
                    return Ok(SearchTerm {
                        terms,
                        doc_freq,
                        misspelt: Some(asked.text),
                    });
                }
            }
            // `high-speed` may well be written apart; its words are asked for themselves.
            let is_required = doc_freq > 0 || asked.role != Role::Joined;
            Ok(SearchTerm {
                terms,
                doc_freq: is_required.then_some(doc_freq),
                misspelt: None,
            })
        })
        .collect()
}

fn replacements(searcher: &Searcher, field: Field, word: &str) -> Result<Vec<NearTerm>, KbError> {
    let Some(edits) = near_words::edits(word) else {
        return Ok(Vec::new());
    };
    let near = terms_within_edits(searcher, field, word, edits)?;
    if near.is_empty() {
        return longest_stem(searcher, field, word);
    }
    Ok(near)
}

fn terms_within_edits(
    searcher: &Searcher,
    field: Field,
    word: &str,
    edits: u8,
) -> Result<Vec<NearTerm>, KbError> {
    let automaton = Edits(near_words::automaton(word, edits));
    let mut found: BTreeSet<String> = BTreeSet::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(field)?;
        let terms = index.terms().search(&automaton).into_stream();
        let mut terms = terms.map_err(TantivyError::from)?;
        while terms.advance() {
            found.extend(str::from_utf8(terms.key()).ok().map(str::to_owned));
        }
    }
    let mut held = Vec::with_capacity(found.len());
    for text in found {
        // Terms of removed chunks stay in the dictionary for a while.
        let doc_freq = alive_doc_freq(searcher, &Term::from_field_text(field, &text))?;
        held.push((text, doc_freq));
    }
    Ok(near_words::nearest(word, &automaton.0, held))
}

fn longest_stem(searcher: &Searcher, field: Field, word: &str) -> Result<Vec<NearTerm>, KbError> {
    for text in near_words::beginnings(word) {
        let doc_freq = alive_doc_freq(searcher, &Term::from_field_text(field, &text))?;
        if doc_freq > 0 {
            return Ok(vec![near_words::stem(text, doc_freq)]);
        }
    }
    Ok(Vec::new())
}

/// Counts the chunks that hold the term, without removed ones.
pub(super) fn alive_doc_freq(searcher: &Searcher, term: &Term) -> tantivy::Result<u64> {
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

/// The automaton in the form that the term dictionary takes.
struct Edits(DFA);

impl Automaton for &Edits {
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
