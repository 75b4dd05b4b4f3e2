//! The signals of units.

use std::collections::HashSet;

use super::super::asked::Asked;
use super::super::seen::{Seen, SeenUnit};
use super::super::wanted::Wanted;

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

/// The same with the words of the unit after.
pub(super) fn coverage_after(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    coverage_with(asked, unit(seen, at), seen.units.get(at + 1))
}

/// The same with the words of the unit before where the unit begins with a word that stands for
/// something said there.
pub(super) fn coverage_leaning(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    if unit(seen, at).told.leans {
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

/// How many of the question's neighbouring words are near each other in the unit.
pub(super) fn pairs(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.order.near_pairs(unit(seen, at).terms.iter())
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

/// How heavy the heaviest of the question's words is that neither the unit nor its headings hold.
pub(super) fn missing(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.words.heaviest_missing(&unit(seen, at).titled)
}

/// Whether a number is wanted and told.
pub(super) fn number(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    tells(asked, unit(seen, at), Wanted::Number)
}

/// Whether a time is wanted and told.
pub(super) fn time(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    tells(asked, unit(seen, at), Wanted::Time)
}

/// Whether a name is wanted and one told that the question does not say itself.
pub(super) fn name(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    tells(asked, unit(seen, at), Wanted::Name)
}

/// Whether a reason is wanted and told.
pub(super) fn reason(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    tells(asked, unit(seen, at), Wanted::Reason)
}

/// Whether something is wanted that the unit does not tell.
pub(super) fn lacks(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked
        .wanted
        .map_or(0.0, |wanted| 1.0 - tells(asked, unit(seen, at), wanted))
}

/// The share of the unit's words that the question holds.
pub(super) fn density(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    let held = &unit(seen, at).held;
    let shared = held
        .iter()
        .filter(|term| asked.words.contains(term))
        .count();
    shared as f64 / held.len().max(1) as f64
}

/// How far down its passage the unit stands.
pub(super) fn early(_: &Asked, seen: &Seen, at: usize) -> f64 {
    at as f64 / seen.units.len().max(1) as f64
}

/// Whether it is the first of its passage.
pub(super) fn first(_: &Asked, _: &Seen, at: usize) -> f64 {
    f64::from(at == 0)
}

fn coverage_with(asked: &Asked, unit: &SeenUnit, other: Option<&SeenUnit>) -> f64 {
    match other {
        Some(other) => asked.words.share(&[&unit.held, &other.held]),
        None => asked.words.share(&[&unit.held]),
    }
}

pub(super) fn tells(asked: &Asked, unit: &SeenUnit, wanted: Wanted) -> f64 {
    let is_new = |word: &String| !asked.words.contains(word);
    let tells = match wanted {
        Wanted::Reason => unit.told.reason,
        _ => sought(unit, wanted).is_some_and(|words| words.iter().any(is_new)),
    };
    f64::from(asked.wanted == Some(wanted) && tells)
}

/// The words of the unit that are of the wanted kind; nothing of what is not told by one word.
fn sought(unit: &SeenUnit, wanted: Wanted) -> Option<&HashSet<String>> {
    match wanted {
        Wanted::Number => Some(&unit.told.numbers),
        Wanted::Time => Some(&unit.told.times),
        Wanted::Name => Some(&unit.told.names),
        Wanted::Reason => None,
    }
}
