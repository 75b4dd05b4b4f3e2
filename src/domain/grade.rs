use serde::{Deserialize, Serialize};

use super::{AutoApproveRule, Score};

/// Items graded below this leave the context (R19).
pub const KEEP_FROM: f64 = 0.3;
/// An average from here on is enough to answer (R20).
pub const SUFFICIENT_FROM: f64 = 0.7;

/// What grades are held against. They are the same in every run; asking what other ones would have
/// led to is the only reason to name them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GradeThresholds {
    /// Items graded below this leave the context (R19).
    #[serde(default = "keep_from")]
    pub keep_from: f64,
    /// An average from here on is enough to answer (R20).
    #[serde(default = "sufficient_from")]
    pub sufficient_from: f64,
}

fn keep_from() -> f64 {
    KEEP_FROM
}

fn sufficient_from() -> f64 {
    SUFFICIENT_FROM
}

impl Default for GradeThresholds {
    fn default() -> Self {
        Self {
            keep_from: KEEP_FROM,
            sufficient_from: SUFFICIENT_FROM,
        }
    }
}

impl GradeThresholds {
    /// Whether an item of this grade stays in the context (R19).
    pub fn keeps(&self, grade: Score) -> bool {
        grade.value() >= self.keep_from
    }

    /// The mean of the grades that stay; `None` where none does.
    pub fn average_of_kept(&self, grades: &[Score]) -> Option<f64> {
        average(grades.iter().copied().filter(|grade| self.keeps(*grade)))
    }

    /// The action for the average of what stays (R20).
    pub fn action_for(&self, average_of_kept: Option<f64>) -> GraderAction {
        match average_of_kept {
            Some(average) if average >= self.sufficient_from => GraderAction::Generate,
            Some(average) if average >= self.keep_from => GraderAction::Refine,
            _ => GraderAction::ReRetrieve,
        }
    }
}

/// What a grading leads to (CRAG, Yan 2024).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GraderAction {
    /// The evidence suffices.
    Generate,
    /// It is partly right: look for what is missing.
    Refine,
    /// It is useless: look in another way.
    ReRetrieve,
}

impl GraderAction {
    /// The word of the wire format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generate => "GENERATE",
            Self::Refine => "REFINE",
            Self::ReRetrieve => "RE_RETRIEVE",
        }
    }
}

/// Where the scores of a grading came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GradedBy {
    /// The grading call measured them.
    Grader,
    /// A rule approved the items; its 1.0 is not a measurement.
    Rule(AutoApproveRule),
    /// The reply could not be read: 0.5 each, not a measurement.
    Fallback,
    /// There was nothing to grade.
    NoEvidence,
}

impl GradedBy {
    /// The word of the wire format: a rule's own name stands for the rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grader => "grader",
            Self::Rule(rule) => rule.as_str(),
            Self::Fallback => "fallback",
            Self::NoEvidence => "no_evidence",
        }
    }

    /// Whether somebody looked at the text before giving the number.
    pub fn is_measured(self) -> bool {
        self == Self::Grader
    }
}

impl Serialize for GradedBy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for GradedBy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match word.as_str() {
            "grader" => Ok(Self::Grader),
            "fallback" => Ok(Self::Fallback),
            "no_evidence" => Ok(Self::NoEvidence),
            rule => AutoApproveRule::parse(rule).map(Self::Rule).ok_or_else(|| {
                serde::de::Error::custom(format!("'{rule}' is neither a grader nor a rule"))
            }),
        }
    }
}

/// The grades of `wanted` items, or why these numbers are none (R18). What lies outside 0–1 is
/// clamped.
pub fn scores_of(numbers: &[f64], wanted: usize) -> Result<Vec<Score>, String> {
    if numbers.len() != wanted {
        return Err(format!("{} numbers for {wanted} items", numbers.len()));
    }
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err("not every number is finite".to_owned());
    }
    Ok(numbers.iter().copied().map(Score::clamped).collect())
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
