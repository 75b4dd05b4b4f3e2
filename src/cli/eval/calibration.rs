//! Judged probabilities by interval and by threshold: what calibration tables and sweeps count,
//! whatever is judged.

use serde::Serialize;

/// Thresholds that a sweep tries.
pub(super) const THRESHOLDS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// A probability, and whether it is so.
pub(super) type JudgedProbability = (f64, bool);

/// What has a probability from `from` to below `to` (1 included in the last).
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    pub from: f64,
    pub to: f64,
    pub n: usize,
    /// Mean of the probability.
    pub mean: f64,
    /// Share of which it is so.
    pub share: f64,
}

/// What taking everything from a threshold on comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// How many are taken.
    pub taken: usize,
    /// How many of the taken ones it is so of.
    pub hits: usize,
    /// How many it is so of, taken or not.
    pub right: usize,
    /// All there are.
    pub n: usize,
}

/// The intervals between these edges, of which the last is 1; empty intervals are left out.
pub(super) fn intervals(judged: &[JudgedProbability], edges: &[f64]) -> Vec<Interval> {
    let filled = edges.windows(2).filter_map(|edges| {
        let (from, to) = (edges[0], edges[1]);
        let is_inside = |p: f64| p >= from && (p < to || to >= 1.0);
        let inside: Vec<&JudgedProbability> =
            judged.iter().filter(|(p, _)| is_inside(*p)).collect();
        let n = inside.len();
        (n > 0).then(|| Interval {
            from,
            to,
            n,
            mean: inside.iter().map(|(p, _)| p).sum::<f64>() / n as f64,
            share: share(inside.iter().filter(|(_, it)| *it).count(), n),
        })
    });
    filled.collect()
}

/// What taking everything from `threshold` on comes to.
pub(super) fn cut(judged: &[JudgedProbability], threshold: f64) -> Cut {
    let taken = judged.iter().filter(|(p, _)| *p >= threshold);
    Cut {
        hits: taken.clone().filter(|(_, it)| *it).count(),
        taken: taken.count(),
        right: judged.iter().filter(|(_, it)| *it).count(),
        n: judged.len(),
    }
}

/// `part` of `whole`, 0 of nothing.
pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_one_interval_and_edges_belong_to_the_upper_one() {
        let judged = [(0.0, false), (0.5, true), (0.5, false), (1.0, true)];
        let found = intervals(&judged, &[0.0, 0.25, 0.5, 1.0]);
        let found: Vec<_> = found.iter().map(|at| (at.from, at.n, at.share)).collect();
        assert_eq!(found, [(0.0, 1, 0.0), (0.5, 3, 2.0 / 3.0)]);
        let counted = Cut {
            taken: 3,
            hits: 2,
            right: 2,
            n: 4,
        };
        assert_eq!(cut(&judged, 0.5), counted);
    }
}
