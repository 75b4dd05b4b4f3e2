//! Words of a query that the index does not have: what it has instead.
//!
//! Only a word without a single document is looked up, so a query whose words all exist costs and
//! finds what it always did. The index's own terms within one edit (two from [`LONG`] characters
//! on; a swap of neighbours is one) take its place, at less weight than an exact match would have.
//! The index holds stems, and a slip in an ending keeps the stemmer from removing it: where nothing
//! is near, a stem that the word begins with is tried. Ids, numbers and characters of scripts
//! without spaces are exact or not there. An embedding makes noise of a word that does not exist, so
//! that it is given what was meant.
//!
//! Schulz and Mihov, Fast string correction with Levenshtein automata (2002): the automaton walks
//! the term dictionary and visits only what can still match.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy::query::{BooleanQuery, BoostQuery, DisjunctionMaxQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, TantivyError, Term};
use tantivy_fst::Automaton;

use super::alive_doc_freq;
use crate::kb::error::KbError;
use crate::kb::index::matches::Correction;
use crate::kb::index::tokens::{QueryTerm, Role};

/// Shorter words have too many neighbours.
const SHORTEST: usize = 4;
/// From this length on two edits are allowed.
const LONG: usize = 8;
/// How many terms may stand for one word.
const MOST: usize = 3;
/// What a match counts, by its distance; at 0 only the ending differs.
const WEIGHTS: [f64; 3] = [0.7, 0.7, 0.5];
/// So many words of a query are looked up. One of nine thousand unknown words is a text of another kind, and takes
/// seconds.
const MOST_LOOKED_UP: usize = 32;
/// How much of an ending may hide a stem, and how much of the word must be left.
const ENDING: usize = 4;
const STEM: usize = 5;

/// What is searched for one term of a query.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::kb) struct Sought {
    terms: Vec<(Term, f64)>,
    /// How many chunks hold the best of them; `None` when it need not be in a full match.
    pub doc_freq: Option<u64>,
    /// What was asked for, where the index does not have it.
    misspelt: Option<String>,
}

impl Sought {
    /// Terms of the index with what a match counts, best first.
    pub fn terms(&self) -> impl Iterator<Item = (&Term, f64)> {
        self.terms.iter().map(|(term, weight)| (term, *weight))
    }

    /// What was taken for what, if the index does not have what was asked for.
    pub fn correction(&self) -> Option<Correction> {
        let (best, _) = self.terms.first()?;
        Some(Correction {
            asked: self.misspelt.clone()?,
            meant: best.value().as_str()?.to_owned(),
            spelt: None,
        })
    }

    /// Scored as the best of its terms.
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

/// What to search for each of a query's terms.
pub(in crate::kb) fn sought(
    searcher: &Searcher,
    field: Field,
    terms: Vec<QueryTerm>,
) -> Result<Vec<Sought>, KbError> {
    let mut looked_up = 0;
    terms
        .into_iter()
        .map(|asked| {
            let term = Term::from_field_text(field, &asked.text);
            let doc_freq = alive_doc_freq(searcher, &term)?;
            if doc_freq == 0 && asked.role == Role::Word && looked_up < MOST_LOOKED_UP {
                looked_up += 1;
                let instead = instead(searcher, field, &asked.text)?;
                if !instead.is_empty() {
                    let doc_freq = instead.first().map(|near| near.doc_freq);
                    let terms = instead
                        .into_iter()
                        .map(|near| (Term::from_field_text(field, &near.text), near.weight))
                        .collect();
                    return Ok(Sought {
                        terms,
                        doc_freq,
                        misspelt: Some(asked.text),
                    });
                }
            }
            // `high-speed` may well be written apart; its words are asked for themselves.
            let is_required = doc_freq > 0 || asked.role != Role::Joined;
            Ok(Sought {
                terms: vec![(term, 1.0)],
                doc_freq: is_required.then_some(doc_freq),
                misspelt: None,
            })
        })
        .collect()
}

/// A term of the index near to a word.
struct Near {
    text: String,
    weight: f64,
    doc_freq: u64,
}

fn instead(searcher: &Searcher, field: Field, word: &str) -> Result<Vec<Near>, KbError> {
    let length = word.chars().count();
    if length < SHORTEST || !word.chars().all(char::is_alphabetic) {
        return Ok(Vec::new());
    }
    let edits = if length < LONG { 1 } else { 2 };
    let near = near(searcher, field, word, edits)?;
    if near.is_empty() {
        return begun(searcher, field, word, length);
    }
    Ok(near)
}

/// Closest first; then those with the word's first letter, which people seldom get wrong; then the
/// most frequent.
fn near(searcher: &Searcher, field: Field, word: &str, edits: u8) -> Result<Vec<Near>, KbError> {
    let automaton = Edits(LevenshteinAutomatonBuilder::new(edits, true).build_dfa(word));
    let mut found: BTreeSet<String> = BTreeSet::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(field)?;
        let terms = index.terms().search(&automaton).into_stream();
        let mut terms = terms.map_err(TantivyError::from)?;
        while terms.advance() {
            let Ok(text) = str::from_utf8(terms.key()) else {
                continue;
            };
            if text.chars().all(char::is_alphabetic) {
                found.insert(text.to_owned());
            }
        }
    }
    let mut ranked: Vec<(u8, bool, Reverse<u64>, String)> = Vec::with_capacity(found.len());
    for text in found {
        // Terms of removed chunks stay in the dictionary for a while.
        let doc_freq = alive_doc_freq(searcher, &Term::from_field_text(field, &text))?;
        if doc_freq > 0 {
            let distance = match automaton.0.eval(&text) {
                Distance::Exact(distance) | Distance::AtLeast(distance) => distance,
            };
            let is_other = text.chars().next() != word.chars().next();
            ranked.push((distance, is_other, Reverse(doc_freq), text));
        }
    }
    ranked.sort();
    Ok(ranked
        .into_iter()
        .take(MOST)
        .map(|(distance, _, Reverse(doc_freq), text)| Near {
            text,
            weight: WEIGHTS[usize::from(distance).min(WEIGHTS.len() - 1)],
            doc_freq,
        })
        .collect())
}

/// The longest stem that the word begins with, if little more than an ending follows.
fn begun(
    searcher: &Searcher,
    field: Field,
    word: &str,
    length: usize,
) -> Result<Vec<Near>, KbError> {
    let shortest = STEM.max(length.saturating_sub(ENDING));
    for kept in (shortest..length).rev() {
        let text: String = word.chars().take(kept).collect();
        let doc_freq = alive_doc_freq(searcher, &Term::from_field_text(field, &text))?;
        if doc_freq > 0 {
            return Ok(vec![Near {
                text,
                weight: WEIGHTS[0],
                doc_freq,
            }]);
        }
    }
    Ok(Vec::new())
}

/// The term dictionary's idea of an automaton.
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
