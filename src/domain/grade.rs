use serde::{Deserialize, Serialize};

use super::{Score, average};

/// Items graded below this leave the context (R19). `assets/judge/fit.py` moves the grades of the built-in judge to it.
pub const KEEP_FROM: f64 = 0.3;
/// An average from here on is enough to answer (R20).
pub const SUFFICIENT_FROM: f64 = 0.7;

/// What grades are held against.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GradeThresholds {
    /// Items graded below this leave the context (R19).
    pub keep_from: f64,
    /// An average from here on is enough to answer (R20).
    pub sufficient_from: f64,
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
    pub fn average_of_kept(&self, grades: impl IntoIterator<Item = Score>) -> Option<f64> {
        average(grades.into_iter().filter(|grade| self.keeps(*grade)))
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

words!(GraderAction: Generate "GENERATE", Refine "REFINE", ReRetrieve "RE_RETRIEVE");

/// The grades of `wanted` items, or why these numbers are none (R18). What lies outside 0–1 is
/// clamped; what was not looked at stays without one.
pub fn scores_of(numbers: &[Option<f64>], wanted: usize) -> Result<Vec<Option<Score>>, String> {
    if numbers.len() != wanted {
        return Err(format!("{} numbers for {wanted} items", numbers.len()));
    }
    if !numbers.iter().flatten().all(|number| number.is_finite()) {
        return Err("not every number is finite".to_owned());
    }
    let clamped = |number: &Option<f64>| number.map(Score::clamped);
    Ok(numbers.iter().map(clamped).collect())
}
