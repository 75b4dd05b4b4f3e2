//! The fitted weights. They are data, made by `assets/judge/fit.py`; its NOTICE says of what and how well they do.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::signals::signal_names;
use crate::domain::{Language, Languages};

static FITTED: LazyLock<BTreeMap<String, Model>> = LazyLock::new(|| {
    let file = include_str!("../../../../assets/judge/weights.toml");
    let read: BTreeMap<String, WeightsFile> = toml::from_str(file).unwrap_or_default();
    read.into_iter()
        .map(|(language, file)| (language, file.in_order()))
        .collect()
});

/// A logistic model of the signals, and what its chance means.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    bias: f64,
    /// Weights in the order of the signals.
    weights: Vec<f64>,
    calibration: Calibration,
}

/// What the chance of a block means for the passage that holds it and for an answer that quotes it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
pub(super) struct Calibration {
    /// How likely a passage answers.
    pub(super) grade: GradeModel,
    /// How likely an answer is right.
    pub(super) answer: AnswerModel,
    /// The lowest confidence with which an answer is given rather than "not found".
    pub(super) answer_from: f64,
}

/// A logistic model of a passage: by its best block, and by how far it is behind the best of all passages.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GradeModel {
    bias: f64,
    /// The weight of the log-odds of the best block.
    odds: f64,
    terms_to_best: f64,
    nearness_to_best: f64,
}

/// A logistic model of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerModel {
    bias: f64,
    /// The weight of the log-odds of the best block.
    odds: f64,
    /// The weight of how near the nearest block is in meaning.
    nearness: f64,
}

impl AnswerModel {
    pub(super) fn chance(self, best: f64, nearness: f64) -> f64 {
        logistic(self.bias + self.odds * log_odds(best) + self.nearness * nearness)
    }
}

/// A language's part of the file.
#[derive(Deserialize)]
struct WeightsFile {
    bias: f64,
    weights: BTreeMap<String, f64>,
    #[serde(flatten)]
    calibration: Calibration,
}

impl WeightsFile {
    fn in_order(self) -> Model {
        let weight = |name: &String| self.weights.get(name).copied().unwrap_or(0.0);
        Model {
            bias: self.bias,
            weights: signal_names().iter().map(weight).collect(),
            calibration: self.calibration,
        }
    }
}

impl Model {
    /// The model for questions in a language whose tokens are compared by the embedding for these languages.
    pub(super) fn for_question(language: Language, embedding: Languages) -> Self {
        let name = match (embedding, language) {
            (Languages::English, _) => "en",
            (Languages::All, Language::ZH) => "zh",
            (Languages::All, _) => "multilingual",
        };
        let found = FITTED.get(name).or_else(|| FITTED.get("en"));
        found.cloned().unwrap_or_default()
    }

    /// The chance that a block with these signals answers, 0–1.
    pub(super) fn chance(&self, row: &[f64]) -> f64 {
        let sum: f64 = self
            .weights
            .iter()
            .zip(row)
            .map(|(weight, value)| weight * value)
            .sum();
        logistic(self.bias + sum)
    }

    /// How likely a passage answers whose best block has this chance and whose blocks have these signals.
    pub(super) fn grade(&self, best: f64, rows: &[Vec<f64>]) -> f64 {
        let greatest = |name: &str| {
            let at = signal_names().iter().position(|known| known == name);
            let values = rows.iter().filter_map(|row| row.get(at?).copied());
            values.reduce(f64::max).unwrap_or_default()
        };
        let model = self.calibration.grade;
        logistic(
            model.bias
                + model.odds * log_odds(best)
                + model.terms_to_best * greatest("passage_terms_to_best")
                + model.nearness_to_best * greatest("nearness_to_best"),
        )
    }

    pub(super) fn calibration(&self) -> Calibration {
        self.calibration
    }
}

fn logistic(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
}

/// The inverse of [`logistic`], finite also at 0 and 1.
pub(crate) fn log_odds(chance: f64) -> f64 {
    let chance = chance.clamp(1e-6, 1.0 - 1e-6);
    (chance / (1.0 - chance)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_every_weight_is_of_a_signal_and_more_is_never_worse() {
        let file = include_str!("../../../../assets/judge/weights.toml");
        let read: BTreeMap<String, WeightsFile> = toml::from_str(file).unwrap();
        for name in ["en", "zh", "multilingual"] {
            assert!(read.contains_key(name), "{name}");
        }
        for part in read.into_values() {
            for name in part.weights.keys() {
                assert!(signal_names().contains(name), "{name}");
            }
            let model = part.in_order();
            let graded = |best, name: &str, value| {
                let names = signal_names().into_iter();
                let row = names.map(|known| f64::from(u8::from(known == name)) * value);
                model.grade(best, &[row.collect()])
            };
            assert!(graded(0.2, "", 0.0) < graded(0.8, "", 0.0));
            for name in ["passage_terms_to_best", "nearness_to_best"] {
                assert!(graded(0.8, name, -0.2) < graded(0.8, name, 0.0), "{name}");
            }
            assert!(model.grade(0.0, &[]).is_finite());
            let Calibration {
                answer,
                answer_from,
                ..
            } = model.calibration();
            assert!(answer.chance(0.2, 0.5) < answer.chance(0.8, 0.5));
            assert!(answer.chance(0.5, 0.2) < answer.chance(0.5, 0.8));
            assert!(answer.chance(0.0, 1.0).is_finite() && answer.chance(1.0, 1.0).is_finite());
            assert!((0.0..1.0).contains(&answer_from));
        }
    }
}
