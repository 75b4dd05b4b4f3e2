//! Is this small talk, is it complex: four logistic regressions of 10 to 31 KB, trained by
//! `assets/routing/train.py`, which says from what, and how well they do.
//!
//! What they are fed is the same here as there, and `vectors.jsonl` holds the script's own results for
//! a test to compare. Neither case nor punctuation is a feature: people leave out both, and the data of one
//! class may have neither.

use super::features::{
    complexity_counts, fingerprints_of_form, fingerprints_of_letters, fingerprints_of_words,
    foreign_counts, length_counts, tokens,
};
use super::weights::Weights;
use crate::domain::Language;

/// The factor of a vector of length 1, beside n-grams that count 1 each.
const VECTOR: f64 = 6.0;

const SMALL_TALK: &[u8] = include_bytes!("../../../../assets/routing/small-talk-en.bin");
const SMALL_TALK_ZH: &[u8] = include_bytes!("../../../../assets/routing/small-talk-zh.bin");
const COMPLEXITY: &[u8] = include_bytes!("../../../../assets/routing/complexity-en.bin");
const COMPLEXITY_ZH: &[u8] = include_bytes!("../../../../assets/routing/complexity-zh.bin");

/// How likely an English or Chinese message is small talk, 0 to 1, by its words and by its vector, where there is one.
pub fn small_talk(text: &str, language: Language, vector: &[f32]) -> f64 {
    let words = tokens(text);
    let (file, longest, prints) = if language == Language::Zh {
        (SMALL_TALK_ZH, 2, fingerprints_of_words(&words))
    } else {
        (SMALL_TALK, 1, fingerprints_of_letters(&words))
    };
    Weights::read(file).map_or(0.0, |weights| {
        let mut counts = foreign_counts(&words, longest, |print| weights.knows(print));
        counts.extend(vector.iter().map(|value| VECTOR * f64::from(*value)));
        weights.probability(&prints, &counts)
    })
}

/// How likely an English or Chinese question is complex, 0 to 1.
pub fn complexity(text: &str, language: Language) -> f64 {
    let words = tokens(text);
    let (file, prints, counts) = if language == Language::Zh {
        let prints = fingerprints_of_words(&words);
        (COMPLEXITY_ZH, prints, length_counts(&words).to_vec())
    } else {
        let prints = fingerprints_of_form(&words);
        (COMPLEXITY, prints, complexity_counts(&words).to_vec())
    };
    Weights::read(file).map_or(0.0, |weights| weights.probability(&prints, &counts))
}

#[cfg(test)]
pub const FILES: [&[u8]; 4] = [SMALL_TALK, SMALL_TALK_ZH, COMPLEXITY, COMPLEXITY_ZH];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The script that trains wrote down what it computes; the program must compute the same.
    #[test]
    fn the_program_and_the_training_agree() {
        let mut compared: BTreeMap<String, usize> = BTreeMap::new();
        for line in include_str!("../../../../assets/routing/vectors.jsonl").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = row["text"].as_str().unwrap();
            let model = row["model"].as_str().unwrap();
            let vector = row["vector"].as_array().into_iter().flatten();
            let vector: Vec<f32> = vector.map(|value| value.as_f64().unwrap() as f32).collect();
            let computed = match model {
                "small-talk-en" => small_talk(text, Language::En, &vector),
                "small-talk-zh" => small_talk(text, Language::Zh, &[]),
                "complexity-zh" => complexity(text, Language::Zh),
                _ => complexity(text, Language::En),
            };
            let expected = row["probability"].as_f64().unwrap();
            assert!(
                (computed - expected).abs() < 5e-6,
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
        let expected = complexity(question, Language::En).to_bits();
        for other in [
            question.to_lowercase(),
            question.to_uppercase(),
            question.trim_end_matches('?').to_owned(),
            question.replace(' ', "  "),
        ] {
            assert_eq!(
                complexity(&other, Language::En).to_bits(),
                expected,
                "{other}"
            );
        }
        assert_eq!(
            small_talk("What’s up?", Language::En, &[]).to_bits(),
            small_talk("whats up", Language::En, &[]).to_bits()
        );
    }
}
