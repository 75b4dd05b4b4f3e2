//! Figures of several measurements: how decided labels stand to right ones, whether probabilities
//! mean what they say, and what a threshold on them comes to.
//!
//! What is not defined is no figure: a 0 would be one that was not measured.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use serde::Serialize;
use serde_json::{Value, json};

/// Thresholds that a sweep tries.
const THRESHOLDS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// A probability, and whether it came true.
pub(super) type JudgedProbability = (f64, bool);

/// Probabilities from `from` to below `to`; the last interval includes 1.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    from: f64,
    to: f64,
    pub n: usize,
    /// Mean probability.
    pub mean: f64,
    /// Share that came true.
    pub share: f64,
}

/// The intervals between these edges that are not empty; the last edge is 1.
pub(super) fn calibrate(judged: &[JudgedProbability], edges: &[f64]) -> Vec<Interval> {
    let interval = |edges: &[f64]| {
        let (from, to) = (edges[0], edges[1]);
        let is_inside = |p: f64| p >= from && (p < to || to >= 1.0);
        let inside = judged.iter().filter(|(p, _)| is_inside(*p));
        let n = inside.clone().count();
        (n > 0).then(|| Interval {
            from,
            to,
            n,
            mean: inside.clone().map(|(p, _)| p).sum::<f64>() / n as f64,
            share: inside.filter(|(_, is_true)| *is_true).count() as f64 / n as f64,
        })
    };
    edges.windows(2).filter_map(interval).collect()
}

/// What comes of each of several thresholds.
pub(super) fn sweep(judged: &[JudgedProbability]) -> Vec<Value> {
    THRESHOLDS.map(|from| take_from(judged, from)).into()
}

/// What comes of taking every probability from a threshold on: `kept` is the share of all that is taken,
/// `false_positives` that of those that did not come true.
pub(super) fn take_from(judged: &[JudgedProbability], from: f64) -> Value {
    let taken = judged.iter().filter(|(p, _)| *p >= from);
    let hits = taken.clone().filter(|(_, is_true)| *is_true).count();
    let taken = taken.count();
    let right = judged.iter().filter(|(_, is_true)| *is_true).count();
    json!({
        "threshold": from,
        "precision": part(hits, taken),
        "recall": part(hits, right),
        "f1": part(2 * hits, taken + right),
        "kept": part(taken, judged.len()),
        "false_positives": part(taken - hits, judged.len() - right),
    })
}

/// The share `some` of `whole`; `None` of nothing.
pub(super) fn part(some: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| some as f64 / whole as f64)
}

/// How decided labels stand to right ones, from pairs of acceptable labels and the decided one; `None`
/// without any acceptable label. Precision and recall are 0 where nothing was counted.
///
/// Where several labels are acceptable, the decided one counts as the right one, and the first of them
/// when none was decided: so every question is in exactly one row.
pub(crate) fn confuse(decided: impl IntoIterator<Item = (Vec<String>, String)>) -> Option<Value> {
    let mut confusion: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for (acceptable, got) in decided {
        let is_right = acceptable.contains(&got);
        let first = acceptable.into_iter().next();
        if let Some(expected) = first.map(|first| if is_right { got.clone() } else { first }) {
            *confusion
                .entry(expected)
                .or_default()
                .entry(got)
                .or_default() += 1;
        }
    }
    let count = |expected: &String, got: &String| {
        let row = confusion.get(expected);
        row.and_then(|row| row.get(got)).copied().unwrap_or(0)
    };
    let labels = confusion.iter();
    let labels: BTreeSet<&String> = labels
        .flat_map(|(label, row)| iter::once(label).chain(row.keys()))
        .collect();
    let class = |label: &&String| {
        let hits = count(label, label);
        let n: usize = labels.iter().map(|got| count(label, got)).sum();
        let got = labels.iter().map(|expected| count(expected, label)).sum();
        let (precision, recall) = (part(hits, got), part(hits, n));
        let figures = json!({
            "n": n,
            "precision": precision.unwrap_or_default(),
            "recall": recall.unwrap_or_default(),
        });
        ((*label).clone(), figures)
    };
    let n = confusion.values().flat_map(BTreeMap::values).sum();
    let hits = labels.iter().map(|label| count(label, label)).sum();
    part(hits, n).map(|accuracy| {
        json!({
            "n": n,
            "accuracy": accuracy,
            "classes": labels.iter().map(class).collect::<BTreeMap<_, _>>(),
            "confusion": confusion,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_one_interval_and_edges_belong_to_the_upper_one() {
        let judged = [(0.0, false), (0.5, true), (0.5, false), (1.0, true)];
        let found = calibrate(&judged, &[0.0, 0.25, 0.5, 1.0]);
        let rows = found.iter().map(|of| (of.from, of.n, of.share));
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows, [(0.0, 1, 0.0), (0.5, 3, 2.0 / 3.0)]);
        let half = &sweep(&judged)[4];
        for (name, expected) in [
            ("precision", 2.0 / 3.0),
            ("recall", 1.0),
            ("f1", 4.0 / 5.0),
            ("kept", 3.0 / 4.0),
            ("false_positives", 1.0 / 2.0),
        ] {
            assert_eq!(half[name], expected, "{name}");
        }
    }

    #[test]
    fn what_is_not_defined_is_no_figure() {
        let figures = take_from(&[(0.2, false), (0.4, false)], 0.5);
        assert!(figures["precision"].is_null() && figures["recall"].is_null());
        assert_eq!(figures["false_positives"], 0.0);
        assert!(calibrate(&[], &[0.0, 1.0]).is_empty() && sweep(&[])[0]["kept"].is_null());
    }

    #[test]
    fn an_acceptable_label_counts_as_the_expected_one() {
        let decided = [
            ("a b", "b"),
            ("a b", "c"),
            ("c", "c"),
            ("c", "a"),
            ("", "a"),
        ];
        let pairs = decided.map(|(acceptable, got)| {
            let acceptable = acceptable.split_whitespace().map(str::to_owned);
            (acceptable.collect::<Vec<_>>(), got.to_owned())
        });
        let figures = confuse(pairs).unwrap();
        let expected = json!({
            "n": 4,
            "accuracy": 0.5,
            "classes": {
                "a": {"n": 1, "precision": 0.0, "recall": 0.0},
                "b": {"n": 1, "precision": 1.0, "recall": 1.0},
                "c": {"n": 2, "precision": 0.5, "recall": 0.5},
            },
            "confusion": {"a": {"c": 1}, "b": {"b": 1}, "c": {"a": 1, "c": 1}},
        });
        assert_eq!(figures, expected);
        assert!(confuse([(Vec::new(), "a".to_owned())]).is_none());
    }
}
