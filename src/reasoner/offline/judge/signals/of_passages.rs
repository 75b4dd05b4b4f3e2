//! The signals of passages.

use super::super::asked::Asked;
use super::super::seen::Seen;
use super::of_units::{OfUnit, coverage, coverage_titled, grams, heaviest, pairs, run, tells};

/// The share of the question's words that the passage and its headings hold, by weight.
pub(super) fn held(asked: &Asked, seen: &Seen) -> f64 {
    asked.words.share(&[&seen.held])
}

/// The coverage of the unit that holds most.
pub(super) fn best_coverage(asked: &Asked, seen: &Seen) -> f64 {
    best(asked, seen, coverage)
}

/// The same with the words of headings and title.
pub(super) fn best_titled(asked: &Asked, seen: &Seen) -> f64 {
    best(asked, seen, coverage_titled)
}

pub(super) fn best_pairs(asked: &Asked, seen: &Seen) -> f64 {
    best(asked, seen, pairs)
}

pub(super) fn best_grams(asked: &Asked, seen: &Seen) -> f64 {
    best(asked, seen, grams)
}

pub(super) fn best_run(asked: &Asked, seen: &Seen) -> f64 {
    best(asked, seen, run)
}

/// The higher cosine of the two units that share most words with the question; 0 of a passage without units.
pub(super) fn best_cosine(_: &Asked, seen: &Seen) -> f64 {
    cosines(seen)[0]
}

/// The lower of the two.
pub(super) fn second_cosine(_: &Asked, seen: &Seen) -> f64 {
    cosines(seen)[1]
}

/// The cosine of the question without the names of what all passages are about and the nearest unit.
pub(super) fn core_cosine(_: &Asked, seen: &Seen) -> f64 {
    seen.core_cosine
}

/// The share of the question's words that the title holds, by weight.
pub(super) fn title_coverage(asked: &Asked, seen: &Seen) -> f64 {
    asked.words.share(&[&seen.titled])
}

/// The share of the title's words that the question holds.
pub(super) fn title_named(asked: &Asked, seen: &Seen) -> f64 {
    let shared = seen
        .title
        .iter()
        .filter(|term| asked.words.contains(term))
        .count();
    shared as f64 / seen.title.len().max(1) as f64
}

/// The cosine of question and title; of a passage without title, that of its nearest unit.
pub(super) fn title_cosine(_: &Asked, seen: &Seen) -> f64 {
    seen.title_cosine
}

/// How heavy the heaviest of the question's words is that the passage does not hold.
pub(super) fn missing_most(asked: &Asked, seen: &Seen) -> f64 {
    asked.words.heaviest_missing(&seen.held)
}

/// How heavy the heaviest of the question's words is that one unit holds.
pub(super) fn heaviest_held(asked: &Asked, seen: &Seen) -> f64 {
    best(asked, seen, heaviest)
}

/// How many of the question's neighbouring words are near each other in some unit.
pub(super) fn near(asked: &Asked, seen: &Seen) -> f64 {
    let all = seen.units.iter().flat_map(|unit| &unit.terms);
    asked.order.near_pairs(all)
}

/// Whether any unit tells what is wanted; 0 where nothing particular is.
pub(super) fn wanted(asked: &Asked, seen: &Seen) -> f64 {
    asked.wanted.map_or(0.0, |wanted| {
        seen.units
            .iter()
            .map(|unit| tells(asked, unit, wanted))
            .fold(0.0, f64::max)
    })
}

/// Whether the unit tells what is wanted that is nearest in words and meaning: 1 or -1; 0 where
/// nothing particular is wanted.
pub(super) fn wanted_by_best(asked: &Asked, seen: &Seen) -> f64 {
    let near = |at: &usize| coverage(asked, seen, *at) + seen.units[*at].cosine;
    let best = (0..seen.units.len()).max_by(|a, b| near(a).total_cmp(&near(b)));
    match (asked.wanted, best) {
        (Some(wanted), Some(at)) => 2.0 * tells(asked, &seen.units[at], wanted) - 1.0,
        _ => 0.0,
    }
}

/// How far the unit that holds most is ahead of the next.
pub(super) fn lead(asked: &Asked, seen: &Seen) -> f64 {
    let mut all: Vec<f64> = (0..seen.units.len())
        .map(|at| coverage(asked, seen, at))
        .collect();
    all.sort_by(|a, b| b.total_cmp(a));
    all.first().unwrap_or(&0.0) - all.get(1).unwrap_or(&0.0)
}

/// How long the passage is: the logarithm of its different words.
pub(super) fn words(_: &Asked, seen: &Seen) -> f64 {
    (1.0 + seen.held.len() as f64).ln()
}

/// How long the question is, in tens of different words.
pub(super) fn asked_length(asked: &Asked, _: &Seen) -> f64 {
    asked.words.len().min(40) as f64 / 10.0
}

fn best(asked: &Asked, seen: &Seen, signal: OfUnit) -> f64 {
    (0..seen.units.len())
        .map(|at| signal(asked, seen, at))
        .fold(0.0, f64::max)
}

fn cosines(seen: &Seen) -> [f64; 2] {
    let mut best = [f64::NEG_INFINITY; 2];
    for cosine in seen.units.iter().map(|unit| unit.cosine) {
        if cosine > best[0] {
            best = [cosine, best[0]];
        } else if cosine > best[1] {
            best[1] = cosine;
        }
    }
    let or = |value: f64, other: f64| if value.is_finite() { value } else { other };
    let first = or(best[0], 0.0);
    [first, or(best[1], first)]
}
