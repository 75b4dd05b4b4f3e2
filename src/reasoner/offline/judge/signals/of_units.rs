//! The signals of units.

use std::collections::{HashMap, HashSet};

use super::super::asked::Asked;
use super::super::seen::{Seen, SeenUnit};
use super::super::wanted::Wanted;

/// A signal of a unit, by its place in its passage.
pub(in super::super) type OfUnit = fn(&Asked, &Seen, usize) -> f64;

/// Words that stand at most so far apart are near each other.
const NEAR: usize = 3;
/// Runs are sought in so many of the question's words: more would be a text and no question.
const MOST_ASKED: usize = 200;

fn unit(seen: &Seen, at: usize) -> &SeenUnit {
    &seen.units[at]
}

/// The share of the question's words that the unit holds, by weight.
pub(super) fn coverage(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.share(|term| unit(seen, at).held.contains(term))
}

/// The same with the words of its heading and of the passage's title.
pub(super) fn coverage_titled(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.share(|term| is_told_or_titled(seen, at, term))
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
    let held = &unit(seen, at).written;
    let found = asked
        .written
        .iter()
        .filter(|(word, _)| held.contains(*word));
    let all: f64 = asked.written.values().sum();
    found.map(|(_, weight)| weight).sum::<f64>() / all.max(f64::MIN_POSITIVE)
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
    near_pairs(&asked.terms, &unit(seen, at).terms)
}

/// The share of the question's letters, in threes, or Chinese characters that the unit holds.
pub(super) fn grams(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    let held = &unit(seen, at).grams;
    let shared = asked
        .grams
        .iter()
        .filter(|gram| held.contains(*gram))
        .count();
    shared as f64 / asked.grams.len().max(1) as f64
}

/// The longest run of the question's words that the unit holds as a run, as a share of them.
pub(super) fn run(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    longest_run(&asked.terms, &unit(seen, at).terms) as f64 / asked.terms.len().max(1) as f64
}

/// How heavy the heaviest of the question's words is that the unit holds.
pub(super) fn heaviest(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.heaviest(|term| unit(seen, at).held.contains(term))
}

/// How heavy the heaviest of the question's words is that neither the unit nor its headings hold.
pub(super) fn missing(asked: &Asked, seen: &Seen, at: usize) -> f64 {
    asked.heaviest(|term| !is_told_or_titled(seen, at, term))
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
        .filter(|term| asked.weights.contains_key(*term))
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
    asked.share(|term| {
        unit.held.contains(term) || other.is_some_and(|other| other.held.contains(term))
    })
}

fn is_told_or_titled(seen: &Seen, at: usize, term: &str) -> bool {
    let unit = unit(seen, at);
    unit.held.contains(term)
        || unit.heading.contains(term)
        || seen.title.iter().any(|word| word == term)
}

pub(super) fn tells(asked: &Asked, unit: &SeenUnit, wanted: Wanted) -> f64 {
    let is_new = |word: &String| !asked.weights.contains_key(word);
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

/// The share of the neighbours in `asked` that stand near each other in `told`, in either order.
pub(super) fn near_pairs(asked: &[String], told: &[String]) -> f64 {
    let mut places: HashMap<&str, Vec<usize>> =
        asked.iter().map(|t| (t.as_str(), Vec::new())).collect();
    for (at, term) in told.iter().enumerate() {
        if let Some(places) = places.get_mut(term.as_str()) {
            places.push(at);
        }
    }
    let pairs = asked.windows(2).filter(|pair| {
        let (a, b) = (&places[pair[0].as_str()], &places[pair[1].as_str()]);
        a.iter().any(|x| {
            let from = b.partition_point(|y| y + NEAR < *x);
            b[from..]
                .iter()
                .take_while(|y| **y <= x + NEAR)
                .any(|y| y != x)
        })
    });
    pairs.count() as f64 / asked.len().saturating_sub(1).max(1) as f64
}

/// The longest run of terms that both hold, in terms.
fn longest_run(asked: &[String], told: &[String]) -> usize {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, term) in asked.iter().enumerate().take(MOST_ASKED) {
        places.entry(term.as_str()).or_default().push(at);
    }
    let mut longest = 0;
    // How long a run ends at each place of `asked` with the term before.
    let mut runs: HashMap<usize, usize> = HashMap::new();
    for term in told {
        let mut next = HashMap::new();
        for at in places.get(term.as_str()).into_iter().flatten() {
            let length = 1 + at
                .checked_sub(1)
                .and_then(|at| runs.get(&at))
                .copied()
                .unwrap_or(0);
            longest = longest.max(length);
            next.insert(*at, length);
        }
        runs = next;
    }
    longest
}
