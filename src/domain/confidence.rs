use std::fmt;

use serde::{Deserialize, Serialize};

/// The lowest confidence that is called sure.
const SURE_FROM: f64 = 0.9;
/// The lowest confidence that is called likely.
const LIKELY_FROM: f64 = 0.7;

/// The fitted chance that an answer is right, 0–1. How well it holds for documents that the fit did not see is told in
/// `assets/judge/NOTICE`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Confidence(f64);

/// A confidence in three words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfidenceLevel {
    /// The fitted chance is at least 0.9.
    Sure,
    /// The fitted chance is at least 0.7.
    Likely,
    /// The fitted chance is lower: the reader has to look at the sources.
    Unsure,
}

impl Confidence {
    /// A chance; what lies outside 0–1 is clamped, and NaN is 0.
    pub fn clamped(chance: f64) -> Self {
        Self(if chance.is_nan() {
            0.0
        } else {
            chance.clamp(0.0, 1.0)
        })
    }

    /// The chance, 0–1.
    pub fn value(self) -> f64 {
        self.0
    }

    /// The chance to three digits, as it is written down: its level is that of the number that is read.
    #[must_use]
    pub fn rounded(self) -> Self {
        Self((self.0 * 1000.0).round() / 1000.0)
    }

    /// The chance in a word.
    pub fn level(self) -> ConfidenceLevel {
        match self.0 {
            chance if chance >= SURE_FROM => ConfidenceLevel::Sure,
            chance if chance >= LIKELY_FROM => ConfidenceLevel::Likely,
            _ => ConfidenceLevel::Unsure,
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.2}", self.level().advice(), self.0)
    }
}

impl ConfidenceLevel {
    /// What a reader of the answer is told.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
            Self::Unsure => "look yourself",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_confidence_is_a_chance_and_a_word() {
        for (chance, value, level) in [
            (1.5, 1.0, ConfidenceLevel::Sure),
            (0.9, 0.9, ConfidenceLevel::Sure),
            (0.899, 0.899, ConfidenceLevel::Likely),
            (0.7, 0.7, ConfidenceLevel::Likely),
            (0.699, 0.699, ConfidenceLevel::Unsure),
            (f64::NAN, 0.0, ConfidenceLevel::Unsure),
        ] {
            let confidence = Confidence::clamped(chance);
            assert!((confidence.value() - value).abs() < 1e-12);
            assert_eq!(confidence.level(), level, "{chance}");
        }
    }
}
