//! What is still missing, and words of good evidence to look for it with.
//!
//! "Which queue does Kestrel use and how often does it try again?" The first part's evidence says that
//! the queue is Ibis, and only with that name is the second part found. Such words are rare among the
//! evidence and stand near the question's own.

use std::collections::{HashMap, HashSet};

use crate::domain::{Evidence, Question};

use super::super::language::{sentences, terms};

/// More words would only be more noise in one search.
const MOST_TERMS: usize = 4;
/// So much of the good evidence is read.
const MOST_PASSAGES: usize = 3;
/// A part is covered when good evidence holds this share of its terms: of four words one is often said in
/// another way.
const COVERED_FROM: f64 = 0.75;

/// The questions that no good text covers; all of them where all are covered and that was not enough.
pub(super) fn missing<'a>(asked: &[&'a Question], good: &[&str]) -> Vec<&'a Question> {
    let missing: Vec<&Question> = asked
        .iter()
        .copied()
        .filter(|question| !is_covered(question, good))
        .collect();
    if missing.is_empty() {
        asked.to_vec()
    } else {
        missing
    }
}

fn is_covered(question: &Question, good: &[&str]) -> bool {
    let wanted: HashSet<&String> = question.terms.iter().collect();
    if wanted.is_empty() {
        return !good.is_empty();
    }
    good.iter().any(|text| {
        let held: HashSet<String> = terms(text, question.language).into_iter().collect();
        let found = wanted.iter().filter(|term| held.contains(**term)).count();
        found as f64 >= COVERED_FROM * wanted.len() as f64
    })
}

/// A word of good evidence.
struct Candidate {
    word: String,
    weight: f64,
    /// Where it was first seen.
    at: usize,
}

/// Words to search with for what is missing, the most telling first: the rarer among all the evidence and
/// the more of the question's terms in their sentence, the better; names before other words.
pub(super) fn refinement_terms(
    asked: &[&Question],
    good: &[&str],
    context: &[Evidence],
) -> Vec<String> {
    let Some(language) = asked.first().map(|question| question.language) else {
        return Vec::new();
    };
    let known: HashSet<&String> = asked.iter().flat_map(|question| &question.terms).collect();
    let frequency = frequency(context, |text| terms(text, language));
    let mut found: HashMap<String, Candidate> = HashMap::new();
    for text in good.iter().take(MOST_PASSAGES) {
        for range in sentences(text) {
            let sentence = &text[range];
            let held: HashSet<String> = terms(sentence, language).into_iter().collect();
            let shared = held.iter().filter(|term| known.contains(term)).count();
            if shared == 0 {
                continue;
            }
            let near = shared as f64 / known.len() as f64;
            for (place, word) in words(sentence).enumerate() {
                let own = terms(word, language);
                let Some(term) = own
                    .first()
                    .filter(|_| own.iter().all(|term| !known.contains(term)))
                else {
                    continue;
                };
                let rare =
                    (context.len() as f64 / frequency.get(term).copied().unwrap_or(1.0)).ln_1p();
                let weight = near * rare * if is_name(word, place) { 2.0 } else { 1.0 };
                let at = found.len();
                let candidate = found.entry(term.clone()).or_insert(Candidate {
                    word: word.to_owned(),
                    weight,
                    at,
                });
                candidate.weight = candidate.weight.max(weight);
            }
        }
    }
    let mut found: Vec<Candidate> = found.into_values().collect();
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.at.cmp(&b.at)));
    found.truncate(MOST_TERMS);
    found.into_iter().map(|candidate| candidate.word).collect()
}

/// In how many of the items each term stands.
fn frequency(context: &[Evidence], terms: impl Fn(&str) -> Vec<String>) -> HashMap<String, f64> {
    let mut frequency: HashMap<String, f64> = HashMap::new();
    for item in context {
        for term in terms(&item.text).into_iter().collect::<HashSet<_>>() {
            *frequency.entry(term).or_default() += 1.0;
        }
    }
    frequency
}

/// Words of scripts with spaces, and in other scripts what is written in letters of those.
fn words(sentence: &str) -> impl Iterator<Item = &str> {
    let of_word = |c: char| c.is_alphanumeric() && !crate::text::is_cjk(c) || "-_.".contains(c);
    sentence
        .split(move |c: char| !of_word(c))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.chars().count() > 2)
}

/// Whether a word is written as a name: with a capital not only at the beginning of its sentence, or with
/// what no plain word holds.
fn is_name(word: &str, place: usize) -> bool {
    let capital = word
        .chars()
        .skip(usize::from(place == 0))
        .any(char::is_uppercase);
    capital || word.contains(|c: char| c.is_numeric() || c == '_')
}
