//! What speaks for a unit, and what for a passage: each signal a function with a name.
//!
//! Most are between 0 and 1. A signal that is [`Scope::Relative`] counts a second time, as its distance
//! to the best of the same question and to the mean: what is much beside poor ones may be little
//! beside a good one.

mod of_passages;
mod of_units;

use super::asked::Asked;
use super::seen::Seen;
use of_units::OfUnit;

/// A signal of a passage.
pub(super) type OfPassage = fn(&Asked, &Seen) -> f64;

/// Whether a signal counts by itself alone or against the others of its question too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Alone,
    Relative,
}

use Scope::{Alone, Relative};

/// The signals of units, by name; relative ones against the units of the same passage.
pub(super) const OF_UNITS: &[(&str, Scope, OfUnit)] = &[
    ("coverage", Relative, of_units::coverage),
    ("coverage_titled", Relative, of_units::coverage_titled),
    ("coverage_before", Relative, of_units::coverage_before),
    ("coverage_leaning", Relative, of_units::coverage_leaning),
    ("as_written", Relative, of_units::as_written),
    ("cosine", Relative, of_units::cosine),
    ("cosine_before", Alone, of_units::cosine_before),
    ("cosine_after", Alone, of_units::cosine_after),
    ("grams", Relative, of_units::grams),
    ("run", Relative, of_units::run),
    ("heaviest", Alone, of_units::heaviest),
    ("early", Alone, of_units::early),
];

/// The signals of passages, by name; relative ones against the passages of the same question.
pub(super) const OF_PASSAGES: &[(&str, Scope, OfPassage)] = &[
    ("held", Relative, of_passages::held),
    ("best_titled", Relative, of_passages::best_titled),
    ("best_cosine", Relative, of_passages::best_cosine),
    ("second_cosine", Alone, of_passages::second_cosine),
    ("title_coverage", Relative, of_passages::title_coverage),
    ("core_cosine", Alone, of_passages::core_cosine),
    ("heaviest", Alone, of_passages::heaviest_held),
    ("near", Relative, of_passages::near),
    ("words", Alone, of_passages::words),
];

/// The names of the signals of units and of passages, in the order of their rows: relative ones stand behind the
/// others.
pub fn signal_names() -> [Vec<String>; 2] {
    [names(OF_UNITS), names(OF_PASSAGES)]
}

fn names<T>(signals: &[(&str, Scope, T)]) -> Vec<String> {
    let plain = signals.iter().map(|(name, ..)| (*name).to_owned());
    let relative = signals.iter().filter(|(_, scope, _)| *scope == Relative);
    let relative =
        relative.flat_map(|(name, ..)| [format!("{name}_to_best"), format!("{name}_to_mean")]);
    plain.chain(relative).collect()
}

/// Each row with its relative signals behind it: less the best of all rows, and less their mean.
pub(super) fn with_relative<T>(
    mut rows: Vec<Vec<f64>>,
    signals: &[(&str, Scope, T)],
) -> Vec<Vec<f64>> {
    let count = rows.len().max(1) as f64;
    for at in (0..signals.len()).filter(|at| signals[*at].1 == Relative) {
        let column: Vec<f64> = rows.iter().map(|row| row[at]).collect();
        let best = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = column.iter().sum::<f64>() / count;
        for (row, value) in rows.iter_mut().zip(column) {
            row.extend([value - best, value - mean]);
        }
    }
    rows
}

#[cfg(test)]
mod tests;
