//! Questions with a slip in a word, read as they were meant.
//!
//! The search forgives slips, but whoever weighs what it found by the words of the question would not
//! find them there. A word that neither the evidence nor the embedding knows is taken for the word
//! of the evidence that differs by a slip (Damerau 1964: four of five slips are one letter), else for the
//! only word of the embedding's vocabulary that does.

use std::collections::HashMap;

use crate::agent::ports::Embedder;
use crate::domain::Evidence;
use crate::text::distance;

use super::literals::Literals;
use super::words::is_stop;

/// Shorter words are too near to too many.
const SHORTEST: usize = 5;
/// Longer ones are no words, in letters; and what is longer is no question, in bytes.
const LONGEST: usize = 24;
const LONGEST_QUESTION: usize = 2_000;

/// The question with its slips mended by the words of the items; what is too long to be one stays.
pub(super) fn as_meant(question: &str, items: &[Evidence], embedder: &dyn Embedder) -> String {
    if question.len() > LONGEST_QUESTION {
        return question.to_owned();
    }
    let mut written: HashMap<String, usize> = HashMap::new();
    for item in items {
        for word in words(&item.text).chain(words(&item.source)) {
            *written.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    let literals = Literals::of(question).keywords();
    let named = |word: &str| literals.iter().any(|literal| literal.contains(word));
    let mut meant = String::with_capacity(question.len());
    for piece in question.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let other = instead_of(word, &written, embedder).filter(|_| !named(word));
        match other {
            Some(other) => {
                meant.push_str(&other);
                meant.push_str(&piece[word.len()..]);
            }
            None => meant.push_str(piece),
        }
    }
    meant
}

/// The word that was meant, where this one is a slip.
fn instead_of(
    word: &str,
    written: &HashMap<String, usize>,
    embedder: &dyn Embedder,
) -> Option<String> {
    let lower = word.to_lowercase();
    let is_name = word.chars().skip(1).any(char::is_uppercase);
    let no_slip = !is_plain(word)
        || word.len() > LONGEST
        || is_name
        || is_stop(&lower)
        || is_written(&lower, written)
        || embedder.knows(&lower);
    let near = written
        .iter()
        .filter(|(other, _)| !no_slip && is_slip(&lower, other));
    // The nearest; of those the one that is written most; of those the first of the alphabet.
    let rank = |(other, times): &(&String, &usize)| {
        let far = distance(&lower, other);
        (far, std::cmp::Reverse(**times), (*other).clone())
    };
    if no_slip {
        return None;
    }
    let of_evidence = near.min_by_key(rank).map(|(other, _)| other.clone());
    of_evidence.or_else(|| known_nearby(&lower, embedder))
}

/// The one word that the embedding knows and from which this one comes by two letters that changed
/// places, else by one that is missing, else by one too many.
fn known_nearby(word: &str, embedder: &dyn Embedder) -> Option<String> {
    let letters: Vec<char> = word.chars().collect();
    let with = |edit: &dyn Fn(&mut Vec<char>)| {
        let mut other = letters.clone();
        edit(&mut other);
        other.into_iter().collect::<String>()
    };
    let places = 1..letters.len();
    let swapped = places
        .clone()
        .skip(1)
        .map(|at| with(&|l| l.swap(at - 1, at)));
    let missing = (1..=letters.len())
        .flat_map(|at| ('a'..='z').map(move |letter| (at, letter)))
        .map(|(at, letter)| with(&|l| l.insert(at, letter)));
    let surplus = places.map(|at| {
        with(&|l| {
            l.remove(at);
        })
    });
    let only = |found: Vec<String>| {
        let mut known: Vec<String> = found.into_iter().filter(|w| embedder.knows(w)).collect();
        known.sort_unstable();
        known.dedup();
        match known.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        }
    };
    only(swapped.collect())
        .or_else(|| only(missing.collect()))
        .or_else(|| only(surplus.collect()))
}

/// Whether the evidence has the word, or it with another ending.
fn is_written(word: &str, written: &HashMap<String, usize>) -> bool {
    let stem = word.trim_end_matches(['s', 'd', 'e']);
    written.contains_key(word)
        || ["", "s", "e", "es", "ed", "d"]
            .iter()
            .any(|end| written.contains_key(&format!("{stem}{end}")))
}

/// Whether two words begin alike and differ in a letter, or in two of many.
fn is_slip(a: &str, b: &str) -> bool {
    let (letters, others) = (a.chars().count(), b.chars().count());
    let most = if letters.min(others) < 8 { 1 } else { 2 };
    letters.min(others) >= SHORTEST
        && a.chars().next() == b.chars().next()
        && letters.abs_diff(others) <= most
        && distance(a, b) <= most
}

/// The plain words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| is_plain(word))
}

/// Whether it is long enough and of letters of the alphabet only.
fn is_plain(word: &str) -> bool {
    word.len() >= SHORTEST && word.chars().all(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::ports::EmbedError;
    use crate::domain::{EvidenceId, LineRange, Measured, Score, ToolName};

    /// Knows ordinary words and no vectors.
    struct Dictionary;

    impl Embedder for Dictionary {
        fn model_id(&self) -> &'static str {
            "dictionary"
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Ok(vec![vec![1.0]; texts.len()])
        }

        fn knows(&self, word: &str) -> bool {
            ["adoption", "which", "reads", "access", "internet"].contains(&word)
        }
    }

    #[test]
    fn r23_a_slip_is_read_as_it_was_meant() {
        let item = Evidence {
            id: EvidenceId("e1".to_owned()),
            source: "options.md".to_owned(),
            lines: LineRange { start: 1, end: 1 },
            tool: ToolName::HybridSearch,
            score: Score::UNKNOWN,
            text: "The option reads a different file. Each threshold is fixed.".to_owned(),
            low: false,
            place: None,
            measured: Measured::default(),
        };
        for (question, meant) in [
            (
                "Which optoin reads a differnt file?",
                "Which option reads a different file?",
            ),
            ("treshhold", "threshold"),
            // What only the embedding knows.
            ("internet acess", "internet access"),
            ("itnernet", "internet"),
            ("interent", "internet"),
            ("interrnet", "internet"),
            // A word that means something is no slip, and neither are names and short words.
            ("adoption", "adoption"),
            ("OPTOIN", "OPTOIN"),
            ("fiel", "fiel"),
            ("option", "option"),
            ("what is optoin_list", "what is optoin_list"),
            ("zebra crossing", "zebra crossing"),
        ] {
            assert_eq!(
                as_meant(question, std::slice::from_ref(&item), &Dictionary),
                meant
            );
        }
    }
}
