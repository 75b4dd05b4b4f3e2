//! The signals of passages.

use super::super::asked::Asked;
use super::super::seen::Seen;
use super::of_units::{OfUnit, coverage_titled, heaviest};

/// The share of the question's words that the passage and its headings hold, by weight.
pub(super) fn held(asked: &Asked, seen: &Seen) -> f64 {
    asked.words.share(&[&seen.held])
}

/// The same with the words of headings and title.
pub(super) fn best_titled(asked: &Asked, seen: &Seen) -> f64 {
    best(asked, seen, coverage_titled)
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
    asked.words.share(&[&seen.title])
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

/// How long the passage is: the logarithm of its different words.
pub(super) fn words(_: &Asked, seen: &Seen) -> f64 {
    (1.0 + seen.held.len() as f64).ln()
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
