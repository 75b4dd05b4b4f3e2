//! Numbers and keys by which the server finds terms, misspelt words and references.
//!
//! A misspelt word finds terms by what is left of both when letters are missing, so that the server looks
//! for equal numbers: a word and a term that are at most `n` edits apart have a text in common that either
//! becomes when at most `n` of its letters are taken away (symmetric deletion: Garbe 2012). Numbers of such
//! texts are kept; that two texts may have one number costs a candidate that is looked at in vain.

use std::collections::BTreeSet;

use super::schema::TERM_IDS;
use crate::kb::links::{Link, LinkTarget, LinkTargets};
use crate::text::spaced;

/// The number of a term, from 1. Two terms may have the same; counts go by the spelling.
pub(super) fn term_id(term: &str) -> i32 {
    let hash = blake3::hash(term.as_bytes());
    let start = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    (1 + u64::from_le_bytes(start) % u64::from(TERM_IDS)) as i32
}

/// Terms of so many letters can be near to a word that is looked up.
const SHORTEST_TERM: usize = 3;
const LONGEST_TERM: usize = 20;
/// Terms of this many characters and more can be two edits from a word that allows two.
const LONG_TERM: usize = 6;

/// The numbers that are kept of a term; none of one that no word is corrected to.
pub(super) fn slips_of_term(term: &str) -> Vec<i32> {
    let length = term.chars().count();
    let is_word =
        (SHORTEST_TERM..=LONGEST_TERM).contains(&length) && term.chars().all(char::is_alphabetic);
    if !is_word {
        return Vec::new();
    }
    numbers(term, if length < LONG_TERM { 1 } else { 2 })
}

/// The numbers that a term near to this word has one of.
pub(super) fn slips_of_word(word: &str, edits: u8) -> Vec<i32> {
    if word.chars().count() > LONGEST_TERM + 2 {
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

/// The keys by which a document with these references is found.
pub(super) fn keys_of_links(links: &[Link]) -> Vec<String> {
    let mut keys: Vec<String> = links
        .iter()
        .map(|link| match &link.target {
            LinkTarget::Id(id) => key('i', id),
            LinkTarget::Path(path) => key('p', &path.to_lowercase()),
            LinkTarget::Name(name) => key('n', &spaced(name)),
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The keys to search for; a document that links to one of the targets has at least one of them.
pub(super) fn keys_of_targets(targets: &LinkTargets) -> Vec<String> {
    let ids = targets.id.iter().map(|id| key('i', id));
    let paths = targets
        .paths
        .iter()
        .map(|path| key('p', &path.to_lowercase()));
    let names = targets.names.iter().map(|name| key('n', name));
    ids.chain(paths).chain(names).collect()
}

/// A key of this kind, shortened to the length that the server can index.
fn key(kind: char, of: &str) -> String {
    const LONGEST: usize = 200;
    let key = format!("{kind}{of}");
    if key.len() <= LONGEST {
        return key.replace('\0', "\u{fffd}");
    }
    blake3::hash(key.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kb::index::search_terms;

    fn meet(word: &str, term: &str) -> bool {
        let Some(edits) = search_terms::edits(word) else {
            return false;
        };
        let own = slips_of_word(word, edits);
        slips_of_term(term)
            .iter()
            .any(|number| own.contains(number))
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
        assert!(slips_of_term("proj-7").is_empty() && slips_of_term("快速").is_empty());
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
            if let Some(edits) = search_terms::edits(&word) {
                use levenshtein_automata::Distance;
                let distance = search_terms::automaton(&word, edits).eval(&term);
                if matches!(distance, Distance::Exact(_)) {
                    prop_assert!(meet(&word, &term), "{} {}", word, term);
                }
            }
        }
    }

    #[test]
    fn numbers_of_terms_stay_what_they_are() {
        assert_eq!(term_id("kiln"), term_id("kiln"));
        assert!((1..=TERM_IDS as i32).contains(&term_id("快速")));
    }
}
