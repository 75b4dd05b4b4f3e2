//! Which terms of an index may stand for a word that it does not have.
//!
//! Terms within one edit (two from [`LONG`] characters on; a swap of neighbours is one) take its
//! place, at less weight than an exact match would have. The index holds stems, and a slip in an
//! ending keeps the stemmer from removing it: where nothing is near, a stem that the word begins
//! with is tried. Ids, numbers and characters of scripts without spaces are exact or not there. How an engine finds
//! the terms is its own; which of them count is the same for all.

use std::cmp::Reverse;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder};

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

/// A term of the index near to a word.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NearTerm {
    pub text: String,
    /// The weight of a match.
    pub weight: f64,
    pub doc_freq: u64,
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

/// Selects the terms that may stand for the word; `terms` come with how many chunks hold each. Closest
/// first; then those with the word's first letter, which people seldom get wrong; then the most frequent.
pub(super) fn nearest(
    word: &str,
    automaton: &DFA,
    terms: impl IntoIterator<Item = (String, u64)>,
) -> Vec<NearTerm> {
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
    best.map(|(distance, _, Reverse(doc_freq), text)| NearTerm {
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

/// A stem of the index that the word begins with.
pub(super) fn stem(text: String, doc_freq: u64) -> NearTerm {
    NearTerm {
        text,
        weight: WEIGHTS[0],
        doc_freq,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_long_ending_leaves_the_stem() {
        // What the stemmer makes of "automaticaly".
        let found: Vec<String> = beginnings("automaticali").collect();
        assert_eq!(found.first().map(String::as_str), Some("automatical"));
        assert_eq!(found.last().map(String::as_str), Some("automat"));
        assert_eq!(beginnings("gates").count(), 0, "a short word has no ending");
    }
}
