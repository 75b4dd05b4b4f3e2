//! The fitted weights: sums of signals, and what makes chances of them.
//!
//! They are data, made by `assets/judge/fit.py`; its NOTICE says of what and how well they do.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::domain::Language;

use super::signals::signal_names;

static FITTED: LazyLock<BTreeMap<String, Weights>> = LazyLock::new(|| {
    let file = include_str!("../../../../assets/judge/weights.toml");
    let read: BTreeMap<String, File> = toml::from_str(file).unwrap_or_default();
    read.into_iter()
        .map(|(language, file)| (language, file.in_order()))
        .collect()
});

/// The weights for the questions of one language.
#[derive(Debug, Clone, Default)]
pub(super) struct Weights {
    /// Which unit of a passage says it.
    pub(super) unit: Linear,
    /// Whether a passage answers.
    pub(super) grade: Linear,
    /// Whether any of the passages found answers.
    pub(super) answers: Linear,
    /// What the first two make of a unit among those of all passages.
    pub(super) said: Said,
    /// The chance that any of them answers from which on is quoted.
    pub(super) quote_from: f64,
}

/// A weight for each signal, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Linear {
    bias: f64,
    weights: Vec<f64>,
}

/// Weights of a unit's sum and of its passage's grade.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Said {
    pub(super) unit: f64,
    pub(super) grade: f64,
}

/// A language's part of the file.
#[derive(Deserialize)]
struct File {
    quote_from: f64,
    said: Said,
    unit: Sum,
    grade: Sum,
    answers: Sum,
}

#[derive(Deserialize)]
struct Sum {
    bias: f64,
    #[serde(flatten)]
    weights: BTreeMap<String, f64>,
}

impl Weights {
    /// The weights for a language; those for English where a language has none.
    pub(super) fn of(language: Language) -> Self {
        let named = if language == Language::Zh { "zh" } else { "en" };
        let found = FITTED.get(named).or_else(|| FITTED.get("en"));
        found.cloned().unwrap_or_default()
    }
}

impl Linear {
    /// The weighted sum of a row.
    pub(super) fn sum(&self, row: &[f64]) -> f64 {
        self.bias
            + self
                .weights
                .iter()
                .zip(row)
                .map(|(weight, value)| weight * value)
                .sum::<f64>()
    }

    /// The sum as a chance, 0–1.
    pub(super) fn chance(&self, row: &[f64]) -> f64 {
        chance(self.sum(row))
    }
}

impl File {
    fn in_order(self) -> Weights {
        let [units, passages] = signal_names();
        let linear = |sum: Sum, names: &[String]| Linear {
            bias: sum.bias,
            weights: names
                .iter()
                .map(|n| sum.weights.get(n).copied().unwrap_or(0.0))
                .collect(),
        };
        Weights {
            unit: linear(self.unit, &units),
            grade: linear(self.grade, &passages),
            answers: linear(self.answers, &passages),
            said: self.said,
            quote_from: self.quote_from,
        }
    }
}

/// The logistic map.
pub(super) fn chance(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
}

/// Its inverse, finite also at 0 and 1.
pub(super) fn log_odds(chance: f64) -> f64 {
    let chance = chance.clamp(1e-6, 1.0 - 1e-6);
    (chance / (1.0 - chance)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Reckoned {
        language: String,
        what: String,
        row: Vec<f64>,
        sum: f64,
    }

    #[test]
    fn sums_are_those_of_the_script_that_fitted_them() {
        let rows = include_str!("../../../../assets/judge/reckoned.jsonl");
        let mut seen = 0;
        for line in rows.lines() {
            let row: Reckoned = serde_json::from_str(line).unwrap();
            let weights = &FITTED[&row.language];
            let linear = match row.what.as_str() {
                "unit" => &weights.unit,
                "grade" => &weights.grade,
                "answers" => &weights.answers,
                _ => &Linear {
                    bias: 0.0,
                    weights: vec![weights.said.unit, weights.said.grade],
                },
            };
            assert_eq!(row.row.len(), linear.weights.len(), "{}", row.what);
            let sum = linear.sum(&row.row);
            assert!(
                (sum - row.sum).abs() < 1e-9,
                "{} {sum} {}",
                row.what,
                row.sum
            );
            seen += 1;
        }
        assert!(seen >= 16);
    }

    #[test]
    fn every_weight_is_of_a_signal() {
        let file = include_str!("../../../../assets/judge/weights.toml");
        let read: BTreeMap<String, File> = toml::from_str(file).unwrap();
        assert!(read.contains_key("en") && read.contains_key("zh"));
        let [units, passages] = signal_names();
        for part in read.values() {
            let sums = [
                (&part.unit, &units),
                (&part.grade, &passages),
                (&part.answers, &passages),
            ];
            for (sum, names) in sums {
                for name in sum.weights.keys() {
                    assert!(names.contains(name), "{name}");
                }
            }
        }
    }
}
