use std::fmt;

use serde::{Deserialize, Serialize};

/// A finite number in 0.0–1.0.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Score(f64);

impl Score {
    /// Nothing speaks for it.
    pub const ZERO: Self = Self(0.0);
    /// What a reply that cannot be read gives every item (R18).
    pub const UNKNOWN: Self = Self(0.5);
    /// What a rule gives the items it approves (R16).
    pub const FULL: Self = Self(1.0);

    /// Clamped into 0–1; NaN becomes 0.
    pub fn clamped(value: f64) -> Self {
        if value.is_nan() {
            Self::ZERO
        } else {
            Self(value.clamp(0.0, 1.0))
        }
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl From<f64> for Score {
    fn from(value: f64) -> Self {
        Self::clamped(value)
    }
}

impl From<Score> for f64 {
    fn from(score: Score) -> Self {
        score.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.0)
    }
}

/// The mean, or `None` when there is nothing to average.
pub fn average(scores: impl IntoIterator<Item = Score>) -> Option<f64> {
    let (sum, count) = scores
        .into_iter()
        .fold((0.0, 0_u32), |(sum, count), score| {
            (sum + score.value(), count + 1)
        });
    (count > 0).then(|| sum / f64::from(count))
}
