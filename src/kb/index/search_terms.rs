//! What is searched for the words of a query, what that scores, and what misspelt words were taken for: the
//! same in every engine, so that their scores can be compared.
//!
//! A word that the index does not have, in any spelling or stem, gives its place to terms within one edit
//! (two from [`LONG`] characters on; a swap of neighbours is one), at less weight than an exact match would
//! have. The index holds stems, and a slip in an ending keeps the stemmer from removing it: where nothing
//! is near, a stem that the word begins with is tried. Ids, numbers and characters of scripts without spaces
//! are exact or not there. An embedding makes noise of a word that does not exist, so that it is given what
//! was meant.

use std::cmp::Reverse;
use std::iter;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder};

use super::port::{Correction, FetchOptions, Limits, Match, Reader, Result};
use super::tokens::{self, QueryTerm, Role};

/// Shorter words have too many neighbours.
const SHORTEST: usize = 4;
/// Words of this many characters and more may have two edits.
const LONG: usize = 8;
/// How many terms may stand for one word.
const MOST: usize = 3;
/// The weight of a match by its distance; at 0 only the ending differs.
const WEIGHTS: [f64; 3] = [0.7, 0.7, 0.5];
/// The most words of a query that are corrected. Nine thousand unknown words are a text of another kind, and
/// would take seconds.
pub(super) const MOST_LOOKED_UP: usize = 32;
/// How much of an ending may hide a stem, and how much of the word must be left.
const ENDING: usize = 5;
const STEM: usize = 5;
/// The number of best passages in which the spelling of a corrected term is looked for.
const SPELLING: usize = 5;
/// How many letters of a word that is spelt right are looked for.
const BEGINNING: usize = 4;
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A passage of average length that holds every term of the query this often counts as a full
/// match.
const FULL_MATCH_FREQUENCY: f64 = 2.0;

/// The terms that are searched for one word of a query; of their scores the best counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchTerm {
    /// The word as the query has it.
    pub asked: String,
    /// Best first.
    pub terms: Vec<WeightedTerm>,
    /// How many chunks hold the best of the terms, or the most frequent of several spellings and stems,
    /// which count as one term; `None` when it need not be in a full match.
    pub doc_freq: Option<u64>,
    /// Whether the terms stand for a word that the index does not have.
    pub is_corrected: bool,
}

/// A term of the index that is searched for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WeightedTerm {
    pub text: String,
    /// The weight of a match.
    pub weight: f64,
    /// How many chunks count as holding it.
    pub doc_freq: u64,
}

/// Chooses what is searched for each word of a query. `doc_freq` counts the chunks that hold a term; `near`
/// lists terms that an automaton may accept, with the number of chunks that hold each.
pub(super) fn search_terms(
    asked: Vec<QueryTerm>,
    doc_freq: impl Fn(&str) -> Result<u64>,
    near: impl Fn(&DFA) -> Result<Vec<(String, u64)>>,
) -> Result<Vec<SearchTerm>> {
    let mut looked_up = 0;
    let mut chosen = Vec::with_capacity(asked.len());
    for word in asked {
        let (mut texts, mut most) = (Vec::new(), 0);
        for text in iter::once(&word.text).chain(&word.others) {
            let held = doc_freq(text)?;
            if held > 0 || texts.is_empty() {
                texts.push(text.clone());
            }
            most = most.max(held);
        }
        let as_asked = |text| WeightedTerm {
            text,
            weight: 1.0,
            doc_freq: most,
        };
        let mut terms: Vec<WeightedTerm> = texts.into_iter().map(as_asked).collect();
        // `high-speed` may well be written apart; its words are asked for themselves.
        let is_required = most > 0 || word.role != Role::Joined;
        let mut required = is_required.then_some(most);
        let mut is_corrected = false;
        if most == 0 && word.role == Role::Word && looked_up < MOST_LOOKED_UP {
            looked_up += 1;
            let replacements = replacements(&word.text, &doc_freq, &near)?;
            if let Some(best) = replacements.first() {
                required = Some(best.doc_freq);
                is_corrected = true;
                terms = replacements;
            }
        }
        chosen.push(SearchTerm {
            asked: word.text,
            terms,
            doc_freq: required,
            is_corrected,
        });
    }
    Ok(chosen)
}

/// The terms that may stand for a word that the index does not have.
fn replacements(
    word: &str,
    doc_freq: impl Fn(&str) -> Result<u64>,
    near: impl Fn(&DFA) -> Result<Vec<(String, u64)>>,
) -> Result<Vec<WeightedTerm>> {
    let Some(edits) = edits(word) else {
        return Ok(Vec::new());
    };
    let automaton = automaton(word, edits);
    let nearest = nearest(word, &automaton, near(&automaton)?);
    if !nearest.is_empty() {
        return Ok(nearest);
    }
    for text in beginnings(word) {
        let doc_freq = doc_freq(&text)?;
        if doc_freq > 0 {
            return Ok(vec![WeightedTerm {
                text,
                weight: WEIGHTS[0],
                doc_freq,
            }]);
        }
    }
    Ok(Vec::new())
}

/// How many edits may lie between the word and a term; `None` where it is exact or not there.
pub(super) fn edits(word: &str) -> Option<u8> {
    let length = word.chars().count();
    let is_word = length >= SHORTEST && word.chars().all(char::is_alphabetic);
    is_word.then_some(if length < LONG { 1 } else { 2 })
}

/// Makes an automaton that measures the distance from the word, up to that many edits.
pub(super) fn automaton(word: &str, edits: u8) -> DFA {
    LevenshteinAutomatonBuilder::new(edits, true).build_dfa(word)
}

/// Selects the terms that may stand for the word. Closest first; then those with the word's first letter,
/// which people seldom get wrong; then the most frequent.
fn nearest(word: &str, automaton: &DFA, terms: Vec<(String, u64)>) -> Vec<WeightedTerm> {
    let terms = terms.into_iter().filter_map(|(text, doc_freq)| {
        let Distance::Exact(distance) = automaton.eval(&text) else {
            return None;
        };
        let counts = doc_freq > 0 && text.chars().all(char::is_alphabetic);
        let is_other = text.chars().next() != word.chars().next();
        counts.then_some((distance, is_other, Reverse(doc_freq), text))
    });
    let mut ranked: Vec<_> = terms.collect();
    ranked.sort();
    let best = ranked.into_iter().take(MOST);
    best.map(|(distance, _, Reverse(doc_freq), text)| WeightedTerm {
        text,
        weight: WEIGHTS[usize::from(distance).min(WEIGHTS.len() - 1)],
        doc_freq,
    })
    .collect()
}

/// The beginnings of a word without at most an ending, longest first.
pub(super) fn beginnings(word: &str) -> impl Iterator<Item = String> {
    let length = word.chars().count();
    let shortest = STEM.max(length.saturating_sub(ENDING));
    (shortest..length)
        .rev()
        .map(|kept| word.chars().take(kept).collect())
}

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

    /// The score of a full match. Terms that no chunk holds count as the rarest of all, so that an index
    /// that lacks the query's main words cannot come near it; corrected terms weigh less than they count
    /// here.
    pub fn full_match(self, terms: &[SearchTerm]) -> f64 {
        let gain = FULL_MATCH_FREQUENCY * (K1 + 1.0) / (FULL_MATCH_FREQUENCY + K1);
        let doc_freqs = terms.iter().filter_map(|word| word.doc_freq);
        doc_freqs.map(|doc_freq| self.idf(doc_freq) * gain).sum()
    }
}

/// The part of BM25 that does not depend on other chunks: of a term that occurs `frequency` times in
/// a chunk of `length` tokens, where chunks have `average` tokens.
pub(super) fn gain(frequency: f64, length: f64, average: f64) -> f64 {
    let norm = K1 * (1.0 - B + B * length / average.max(f64::MIN_POSITIVE));
    (1.0 + K1) * frequency / (frequency + norm)
}

/// What the words that the index does not have were taken for, as the best passages spell it. These are
/// fetched only where there is such a word.
pub(super) fn corrections(
    terms: &[SearchTerm],
    matches: &[Match],
    reader: &dyn Reader,
    limits: Limits<'_>,
) -> Result<Vec<Correction>> {
    let corrected = terms.iter().filter(|word| word.is_corrected);
    let corrected: Vec<&SearchTerm> = corrected.collect();
    if corrected.is_empty() {
        return Ok(Vec::new());
    }
    let best: Vec<_> = matches.iter().take(SPELLING).map(|m| m.chunk).collect();
    let best = reader.fetch(&best, FetchOptions::PASSAGES, limits)?;
    let best = best.iter().flatten().flat_map(|chunk| &chunk.passage);
    let texts: Vec<&str> = best
        .flat_map(|passage| [passage.heading.as_str(), passage.text.as_str()])
        .collect();
    let corrections = corrected.into_iter().filter_map(|word| {
        let meant = word.terms.first()?.text.clone();
        Some(Correction {
            asked: word.asked.clone(),
            spelt: as_written(&meant, &texts),
            meant,
        })
    });
    Ok(corrections.collect())
}

/// A term as one of these texts spells it, in lower case: the index knows stems only.
fn as_written(term: &str, texts: &[&str]) -> Option<String> {
    let start: String = term.chars().take(BEGINNING).collect();
    let is_it = |word: &str| tokens::terms(word).iter().any(|own| own.text == term);
    let words = texts.iter().flat_map(|text| text.split(is_border));
    words
        .map(str::to_lowercase)
        .find(|word| word.starts_with(&start) && is_it(word))
}

fn is_border(c: char) -> bool {
    !c.is_alphabetic()
}

/// The query with what was meant in place of what is not in the index. What `is_known` stays: no passage
/// has the word, but it means something. `None` where nothing changes.
pub(crate) fn rewritten(
    query: &str,
    corrections: &[Correction],
    is_known: impl Fn(&str) -> bool,
) -> Option<String> {
    let spelt: Vec<(&str, &str)> = corrections
        .iter()
        .filter_map(|one| Some((one.asked.as_str(), one.spelt.as_deref()?)))
        .collect();
    if spelt.is_empty() {
        return None;
    }
    let word = |piece: &str| {
        let word = piece.trim_end_matches(is_border);
        let own = tokens::terms(word);
        let corrected = spelt.iter().find(|(asked, _)| {
            own.iter().any(|term| term.text == *asked) && !is_known(&word.to_lowercase())
        });
        match corrected {
            Some((_, meant)) => format!("{meant}{}", &piece[word.len()..]),
            None => piece.to_owned(),
        }
    };
    let changed: String = query.split_inclusive(is_border).map(word).collect();
    (changed != query).then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_rewritten_as_the_texts_spell_it() {
        let correction = |asked: &str, meant: &str| {
            let [asked, meant] = [asked, meant].map(|word| tokens::terms(word).remove(0).text);
            let texts = ["Gradual work.", "Of Grading: how it is done", "none"];
            let spelt = as_written(&meant, &texts);
            Correction {
                asked,
                meant,
                spelt,
            }
        };
        let corrections = [
            correction("graeding", "grading"),
            correction("retreival", "retrieval"),
        ];
        let rewritten = |query| rewritten(query, &corrections, |_| false);
        assert_eq!(rewritten("graeding").as_deref(), Some("grading"));
        assert_eq!(
            rewritten("How does Graeding, work?").as_deref(),
            Some("How does grading, work?")
        );
        // The other one is not spelt here.
        assert_eq!(rewritten("retreival"), None);
        assert_eq!(
            super::rewritten("retreival", &corrections[1..], |_| false),
            None
        );
        // A word that is one is no slip.
        assert_eq!(
            super::rewritten("Graeding", &corrections, |word| word == "graeding"),
            None
        );
    }

    #[test]
    fn a_slip_in_a_long_ending_leaves_the_stem() {
        // What the stemmer makes of "automaticaly".
        let found: Vec<String> = beginnings("automaticali").collect();
        assert_eq!(found.first().map(String::as_str), Some("automatical"));
        assert_eq!(found.last().map(String::as_str), Some("automat"));
        assert_eq!(beginnings("gates").count(), 0, "a short word has no ending");
    }
}
