//! Terms by what is left of them when letters are missing, so that the server finds those that are
//! near to a misspelt word by looking for equal numbers.
//!
//! A word and a term that are at most `n` edits apart have a text in common that either becomes when at most `n` of its
//! letters are taken away (symmetric deletion: Garbe 2012). Numbers of such texts are kept; that two
//! texts may have one number costs a candidate that is looked at in vain.

use std::collections::BTreeSet;

/// Terms of so many letters can be near to a word that is looked up.
const SHORTEST: usize = 3;
const LONGEST: usize = 20;
/// Terms of this many characters and more can be two edits from a word that allows two.
const LONG: usize = 6;

/// The numbers that are kept of a term; none of one that no word is corrected to.
pub(super) fn of_term(term: &str) -> Vec<i32> {
    let length = term.chars().count();
    let is_word = (SHORTEST..=LONGEST).contains(&length) && term.chars().all(char::is_alphabetic);
    if !is_word {
        return Vec::new();
    }
    numbers(term, if length < LONG { 1 } else { 2 })
}

/// The numbers that a term near to this word has one of.
pub(super) fn of_word(word: &str, edits: u8) -> Vec<i32> {
    if word.chars().count() > LONGEST + 2 {
        return Vec::new();
    }
    numbers(word, edits)
}

fn numbers(word: &str, edits: u8) -> Vec<i32> {
    let mut texts = BTreeSet::from([word.to_owned()]);
    let mut last = texts.clone();
    for _ in 0..edits {
        let shorter = last.iter().flat_map(|text| {
            text.char_indices()
                .map(|(at, letter)| format!("{}{}", &text[..at], &text[at + letter.len_utf8()..]))
        });
        last = shorter.collect();
        texts.extend(last.iter().cloned());
    }
    let numbers: BTreeSet<i32> = texts.iter().map(|text| number(text)).collect();
    numbers.into_iter().collect()
}

fn number(text: &str) -> i32 {
    let hash = blake3::hash(text.as_bytes());
    i32::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kb::index::near_words;

    fn meet(word: &str, term: &str) -> bool {
        let Some(edits) = near_words::edits(word) else {
            return false;
        };
        let own = of_word(word, edits);
        of_term(term).iter().any(|number| own.contains(number))
    }

    #[test]
    fn a_word_meets_what_it_may_be_a_slip_of() {
        for (word, term) in [
            ("graed", "grade"),
            ("retreiv", "retriev"),
            ("glaez", "glaze"),
            ("evaluaton", "evaluation"),
            ("evalutaoin", "evaluation"),
        ] {
            assert!(meet(word, term), "{word} {term}");
        }
        assert!(!meet("kiln", "plan"));
        assert!(of_term("proj-7").is_empty() && of_term("快速").is_empty());
    }

    proptest! {
        #[test]
        fn every_term_within_the_edits_is_met(
            term in "[a-e]{3,12}", at in 0_usize..12, other in 0_usize..12, letter in "[a-e]", kind in 0..4,
        ) {
            let mut word: Vec<char> = term.chars().collect();
            let letter = letter.chars().next().unwrap();
            let at = at % word.len();
            match kind {
                0 => word[at] = letter,
                1 => { word.remove(at); }
                2 => word.insert(at, letter),
                _ => word.swap(at, (at + 1) % term.len()),
            }
            let mut word: String = word.into_iter().collect();
            if word.len() >= 8 {
                let at = other % word.len();
                word.remove(at);
            }
            if let Some(edits) = near_words::edits(&word) {
                use levenshtein_automata::Distance;
                let distance = near_words::automaton(&word, edits).eval(&term);
                if matches!(distance, Distance::Exact(_)) {
                    prop_assert!(meet(&word, &term), "{} {}", word, term);
                }
            }
        }
    }
}
