//! The signals of units.

use super::super::asked::Asked;
use super::super::seen::{Seen, SeenUnit};

/// A signal of a unit, by its place in its passage.
pub(in super::super) type OfUnit = fn(&Asked, &Seen, usize) -> f64;

fn unit(seen: &Seen, at: usize) -> &SeenUnit {
    &seen.units[at]
}

/// The share of the question's words that the unit holds, by weight.
pub(super) fn coverage(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.words.share(&[&unit(seen, at).held])
}

/// The same with the words of its heading and of the passage's title.
pub(super) fn coverage_titled(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.words.share(&[&unit(seen, at).titled])
}

/// The same with the words of the unit before.
pub(super) fn coverage_before(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    let before = at.checked_sub(1).and_then(|at| seen.units.get(at));
    coverage_with(asked, unit(seen, at), before)
}

/// The same with the words of the unit before where the unit begins with a word that stands for
/// something said there.
pub(super) fn coverage_leaning(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    if unit(seen, at).leans {
        coverage_before(asked, seen, at)
    } else {
        coverage(asked, seen, at)
    }
}

/// The share of the question's words as they are written, small ones too, that the unit holds, by
/// weight.
pub(super) fn as_written(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.written.share(&[&unit(seen, at).written])
}

/// The cosine of question and unit.
pub(super) fn cosine(_: &Asked, seen: &Seen, at: usize) -> f64 {
    unit(seen, at).cosine
}

/// The cosine of the question and the unit before; of the first unit, its own.
pub(super) fn cosine_before(_: &Asked, seen: &Seen, at: usize) -> f64 {
    unit(seen, at.saturating_sub(1)).cosine
}

/// The cosine of the question and the unit after; of the last unit, its own.
pub(super) fn cosine_after(_: &Asked, seen: &Seen, at: usize) -> f64 {
    seen.units.get(at + 1).unwrap_or(unit(seen, at)).cosine
}

/// The share of the question's letters, in threes, or Chinese characters that the unit holds.
pub(super) fn grams(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    let held = &unit(seen, at).grams;
    let shared = asked.grams.intersection(held).count();
    shared as f64 / asked.grams.len().max(1) as f64
}

/// The longest run of the question's words that the unit holds as a run, as a share of them.
pub(super) fn run(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.order.longest_run(&unit(seen, at).terms)
}

/// How heavy the heaviest of the question's words is that the unit holds.
pub(super) fn heaviest(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.words.heaviest(&unit(seen, at).held)
}

/// How far down its passage the unit stands.
pub(super) fn early(_: &Asked, seen: &Seen, at: usize) -> f64 {
    at as f64 / seen.units.len().max(1) as f64
}

fn coverage_with(asked: &Asked, unit: &SeenUnit, other: Option<&SeenUnit>) -> f64 {
    match other {
        Some(other) => asked.words.share(&[&unit.held, &other.held]),
        None => asked.words.share(&[&unit.held]),
    }
}
