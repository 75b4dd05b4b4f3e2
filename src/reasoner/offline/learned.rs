//! Weights learned from judged sentences, beside the rules: is this small talk, is it complex.
//!
//! Four logistic regressions of 10 to 29 KB each, trained by `assets/routing/train.py`, which
//! says from what, and how well they do. What they are fed is the same here as there, and
//! `vectors.jsonl` holds the script's own results for a test to compare. Neither case nor
//! punctuation is a feature: people leave out both, and the data of one class may have neither.
//!
//! A file of weights: `KBR1`, the bias and the worth of one step as `f32`, then as `u16` the number
//! of counts, of known runs and of n-grams; the weights of the counts as `f32`, the fingerprints of
//! the known runs, and for each n-gram its fingerprint and its weight as `i8` steps. Numbers are
//! little-endian, but fingerprints have three bytes and lie in big-endian order, sorted.

use super::learned_features::{
    complexity_counts, fingerprint_of_word, fingerprints_of_form, fingerprints_of_letters,
    fingerprints_of_words, foreign_counts, length_counts, tokens,
};

/// How likely an English message is small talk, 0 to 1.
pub(super) fn small_talk(text: &str) -> f64 {
    probability_of_small_talk(SMALL_TALK, text, 1, fingerprints_of_letters)
}

/// The same of a Chinese message.
pub(super) fn small_talk_zh(text: &str) -> f64 {
    probability_of_small_talk(SMALL_TALK_ZH, text, 2, fingerprints_of_words)
}

/// The share of a message's words that no English small talk of the training data holds, 0 to 1; the
/// letters of another language prove nothing.
pub(super) fn foreign_share(text: &str) -> f64 {
    let words = tokens(text);
    let Some(weights) = Weights::read(SMALL_TALK).filter(|_| !words.is_empty()) else {
        return 1.0;
    };
    let foreign = words
        .iter()
        .filter(|word| !weights.knows(fingerprint_of_word(word)));
    foreign.count() as f64 / words.len() as f64
}

/// How likely an English question is complex, 0 to 1.
pub(super) fn complexity(question: &str) -> f64 {
    let Some(weights) = Weights::read(COMPLEXITY) else {
        return 0.0;
    };
    let words = tokens(question);
    weights.probability(&fingerprints_of_form(&words), &complexity_counts(&words))
}

/// The same of a Chinese question.
pub(super) fn complexity_zh(question: &str) -> f64 {
    let Some(weights) = Weights::read(COMPLEXITY_ZH) else {
        return 0.0;
    };
    let words = tokens(question);
    weights.probability(&fingerprints_of_words(&words), &length_counts(&words))
}

const SMALL_TALK: &[u8] = include_bytes!("../../../assets/routing/small-talk-en.bin");
const SMALL_TALK_ZH: &[u8] = include_bytes!("../../../assets/routing/small-talk-zh.bin");
const COMPLEXITY: &[u8] = include_bytes!("../../../assets/routing/complexity-en.bin");
const COMPLEXITY_ZH: &[u8] = include_bytes!("../../../assets/routing/complexity-zh.bin");

const MAGIC: &[u8] = b"KBR1";
const PRINT: usize = 3;
const ENTRY: usize = PRINT + 1;

fn probability_of_small_talk(
    file: &'static [u8],
    text: &str,
    longest_known: usize,
    prints: impl Fn(&[String]) -> Vec<u32>,
) -> f64 {
    let Some(weights) = Weights::read(file) else {
        return 0.0;
    };
    let words = tokens(text);
    let counts = foreign_counts(&words, longest_known, |print| weights.knows(print));
    weights.probability(&prints(&words), &counts)
}

/// A file of weights as it lies in the program; nothing is copied.
struct Weights {
    bias: f64,
    step: f64,
    counts: &'static [u8],
    known: &'static [u8],
    table: &'static [u8],
}

impl Weights {
    fn read(file: &'static [u8]) -> Option<Self> {
        let rest = file.strip_prefix(MAGIC)?;
        let (head, rest) = rest.split_at_checked(14)?;
        let number = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let (counts, rest) = rest.split_at_checked(4 * number(8))?;
        let (known, table) = rest.split_at_checked(PRINT * number(10))?;
        (table.len() == ENTRY * number(12)).then_some(Self {
            bias: float(&head[..4]),
            step: float(&head[4..8]),
            counts,
            known,
            table,
        })
    }

    /// `prints` without repetition.
    fn probability(&self, prints: &[u32], counts: &[f64]) -> f64 {
        let steps: i32 = prints.iter().map(|print| self.weight(*print)).sum();
        let mut score = self.bias + self.step * f64::from(steps);
        for (weight, count) in self.counts.chunks_exact(4).zip(counts) {
            score += float(weight) * count;
        }
        1.0 / (1.0 + (-score.clamp(-60.0, 60.0)).exp())
    }

    fn weight(&self, print: u32) -> i32 {
        find::<ENTRY>(self.table, print).map_or(0, |entry| i32::from(entry[PRINT].cast_signed()))
    }

    fn knows(&self, print: u32) -> bool {
        find::<PRINT>(self.known, print).is_some()
    }
}

fn float(bytes: &[u8]) -> f64 {
    bytes
        .try_into()
        .map_or(0.0, |bytes| f64::from(f32::from_le_bytes(bytes)))
}

/// The record of `SIZE` bytes that begins with this fingerprint.
fn find<const SIZE: usize>(records: &'static [u8], print: u32) -> Option<&'static [u8; SIZE]> {
    let (records, _) = records.as_chunks::<SIZE>();
    let wanted = print.to_be_bytes();
    records
        .binary_search_by(|record| record[..PRINT].cmp(&wanted[1..]))
        .ok()
        .map(|at| &records[at])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_files_of_weights_can_be_read_and_are_small() {
        for file in [SMALL_TALK, SMALL_TALK_ZH, COMPLEXITY, COMPLEXITY_ZH] {
            let weights = Weights::read(file).unwrap();
            assert!(weights.table.len() > 1_000 && file.len() <= 32 * 1024);
            for records in [weights.table.chunks(ENTRY), weights.known.chunks(PRINT)] {
                let prints: Vec<&[u8]> = records.map(|record| &record[..PRINT]).collect();
                assert!(prints.is_sorted_by(|a, b| a < b));
            }
        }
        assert!(Weights::read(&SMALL_TALK[..SMALL_TALK.len() - 1]).is_none());
        assert!(Weights::read(b"KBR1").is_none());
        assert!(Weights::read(b"").is_none());
    }

    /// The script that trains wrote down what it computes; the program must compute the same.
    #[test]
    fn the_program_and_the_training_agree() {
        let mut compared: BTreeMap<String, usize> = BTreeMap::new();
        for line in include_str!("../../../assets/routing/vectors.jsonl").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = row["text"].as_str().unwrap();
            let model = row["model"].as_str().unwrap();
            let computed = match model {
                "small-talk-en" => small_talk(text),
                "small-talk-zh" => small_talk_zh(text),
                "complexity-zh" => complexity_zh(text),
                _ => complexity(text),
            };
            let expected = row["probability"].as_f64().unwrap();
            assert!(
                (computed - expected).abs() < 2e-6,
                "{model}: {text:?}: {computed}, not {expected}"
            );
            *compared.entry(model.to_owned()).or_default() += 1;
        }
        assert_eq!(compared.len(), 4);
        assert!(compared.values().all(|count| *count >= 15), "{compared:?}");
    }

    #[test]
    fn case_and_punctuation_change_nothing() {
        let question = "What is the name of the team that owns the service behind the portal?";
        let expected = complexity(question).to_bits();
        for other in [
            question.to_lowercase(),
            question.to_uppercase(),
            question.trim_end_matches('?').to_owned(),
            question.replace(' ', "  "),
        ] {
            assert_eq!(complexity(&other).to_bits(), expected, "{other}");
        }
        assert_eq!(
            small_talk("What’s up?").to_bits(),
            small_talk("whats up").to_bits()
        );
    }
}
