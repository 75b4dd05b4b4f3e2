//! The fitted weights. They are data, made by `assets/judge/fit.py`; its NOTICE says of what and how well they do.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::signals::signal_names;
use crate::domain::Language;

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
    /// In the order of the signals.
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
    /// From this confidence on an answer is given rather than "not found".
    pub(super) answer_from: f64,
}

/// A logistic model of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GradeModel {
    bias: f64,
    /// The weight of the log-odds of the best block.
    odds: f64,
    terms_to_best: f64,
    nearness_to_best: f64,
}

/// What a passage is graded by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PassageMeasure {
    /// The chance of its best block, 0–1.
    pub(super) best: f64,
    /// How far it is behind the passage that shares most with the question in words, at most 0.
    pub(super) terms_to_best: f64,
    /// How far its nearest block is behind the nearest of all in meaning, at most 0.
    pub(super) nearness_to_best: f64,
}

impl GradeModel {
    pub(super) fn chance(self, passage: PassageMeasure) -> f64 {
        logistic(
            self.bias
                + self.odds * log_odds(passage.best)
                + self.terms_to_best * passage.terms_to_best
                + self.nearness_to_best * passage.nearness_to_best,
        )
    }
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
    /// The model for questions in a language; that for English where a language has none.
    pub(super) fn for_language(language: Language) -> Self {
        let name = if language == Language::Zh { "zh" } else { "en" };
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

    pub(super) fn calibration(&self) -> Calibration {
        self.calibration
    }
}

fn logistic(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
}

/// The inverse of [`logistic`], finite also at 0 and 1.
pub(in super::super) fn log_odds(chance: f64) -> f64 {
    let chance = chance.clamp(1e-6, 1.0 - 1e-6);
    (chance / (1.0 - chance)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_every_weight_is_of_a_signal_and_every_scaling_rises() {
        let file = include_str!("../../../../assets/judge/weights.toml");
        let read: BTreeMap<String, WeightsFile> = toml::from_str(file).unwrap();
        assert!(read.contains_key("en") && read.contains_key("zh"));
        for part in read.values() {
            for name in part.weights.keys() {
                assert!(signal_names().contains(name), "{name}");
            }
            let Calibration {
                grade,
                answer,
                answer_from,
            } = part.calibration;
            let passage = |best, behind| PassageMeasure {
                best,
                terms_to_best: behind,
                nearness_to_best: behind,
            };
            assert!(grade.chance(passage(0.2, 0.0)) < grade.chance(passage(0.8, 0.0)));
            assert!(grade.chance(passage(0.8, -0.2)) < grade.chance(passage(0.8, 0.0)));
            assert!(grade.chance(passage(0.0, 0.0)).is_finite());
            assert!(answer.chance(0.2, 0.5) < answer.chance(0.8, 0.5));
            assert!(answer.chance(0.5, 0.2) < answer.chance(0.5, 0.8));
            assert!(answer.chance(0.0, 1.0).is_finite() && answer.chance(1.0, 1.0).is_finite());
            assert!((0.0..1.0).contains(&answer_from));
        }
    }
}
