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

/// How likely a message is small talk, 0 to 1, by its words and by its vector, where there is one. `None` in a language
/// that no weights were trained for.
pub fn small_talk(text: &str, language: Language, vector: &[f32]) -> Option<f64> {
    let words = tokens(text);
    let (file, longest, prints) = match language {
        Language::EN => (SMALL_TALK, 1, fingerprints_of_letters(&words)),
        Language::ZH => (SMALL_TALK_ZH, 2, fingerprints_of_words(&words)),
        _ => return None,
    };
    let weights = Weights::read(file)?;
    let mut counts = foreign_counts(&words, longest, |print| weights.knows(print));
    counts.extend(vector.iter().map(|value| VECTOR * f64::from(*value)));
    Some(weights.probability(&prints, &counts))
}

/// How likely a question is complex, 0 to 1. `None` in a language that no weights were trained for.
pub fn complexity(text: &str, language: Language) -> Option<f64> {
    let words = tokens(text);
    let (file, prints, counts) = match language {
        Language::EN => {
            let prints = fingerprints_of_form(&words);
            (COMPLEXITY, prints, complexity_counts(&words).to_vec())
        }
        Language::ZH => {
            let prints = fingerprints_of_words(&words);
            (COMPLEXITY_ZH, prints, length_counts(&words).to_vec())
        }
        _ => return None,
    };
    Some(Weights::read(file)?.probability(&prints, &counts))
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
                "small-talk-en" => small_talk(text, Language::EN, &vector),
                "small-talk-zh" => small_talk(text, Language::ZH, &[]),
                "complexity-zh" => complexity(text, Language::ZH),
                _ => complexity(text, Language::EN),
            };
            let computed = computed.unwrap();
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
        let expected = complexity(question, Language::EN);
        for other in [
            question.to_lowercase(),
            question.to_uppercase(),
            question.trim_end_matches('?').to_owned(),
            question.replace(' ', "  "),
        ] {
            assert_eq!(complexity(&other, Language::EN), expected, "{other}");
        }
        assert_eq!(
            small_talk("What’s up?", Language::EN, &[]),
            small_talk("whats up", Language::EN, &[])
        );
    }
}
