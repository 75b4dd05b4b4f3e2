//! Whether probabilities mean what they say, and what a threshold on them would come to, whatever is
//! judged. What is not defined is no figure: a 0 would be one that was not measured.

use serde::Serialize;

use crate::cli::output::table;

/// Thresholds that a sweep tries.
const THRESHOLDS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// A probability, and whether it is so.
pub(super) type JudgedProbability = (f64, bool);

/// The two tables; the names are fixed.
#[derive(Debug, Serialize)]
pub(super) struct Calibration {
    /// One row for each interval of probabilities that is not empty.
    pub calibration: Vec<Interval>,
    /// One row for each threshold.
    pub sweep: Vec<Threshold>,
}

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
#[derive(Debug, Serialize)]
pub(super) struct Threshold {
    #[serde(rename = "threshold")]
    pub from: f64,
    pub precision: Option<f64>,
    pub recall: Option<f64>,
    pub f1: Option<f64>,
    /// Share of all that is taken.
    pub kept: Option<f64>,
    /// Share that is taken of what it is not so of.
    pub false_positives: Option<f64>,
}

impl Calibration {
    /// Measures between these edges, of which the last is 1.
    pub fn measure(judged: &[JudgedProbability], edges: &[f64]) -> Self {
        let filled = edges.windows(2).filter_map(|edges| {
            let (from, to) = (edges[0], edges[1]);
            let is_inside = |p: f64| p >= from && (p < to || to >= 1.0);
            let inside = judged.iter().filter(|(p, _)| is_inside(*p));
            let n = inside.clone().count();
            (n > 0).then(|| Interval {
                from,
                to,
                n,
                mean: inside.clone().map(|(p, _)| p).sum::<f64>() / n as f64,
                share: share(inside.filter(|(_, it)| *it).count(), n),
            })
        });
        Self {
            calibration: filled.collect(),
            sweep: THRESHOLDS.map(|at| Threshold::measure(judged, at)).into(),
        }
    }

    /// Both as text; `what` is what is so.
    pub fn as_text(&self, what: &str) -> String {
        let intervals = self.calibration.iter().map(|of| {
            vec![
                format!("{:.2}-{:.2}", of.from, of.to),
                of.n.to_string(),
                figure(Some(of.mean)),
                figure(Some(of.share)),
            ]
        });
        let intervals: Vec<Vec<String>> = intervals.collect();
        let thresholds = self.sweep.iter().map(|of| {
            let figures = [of.precision, of.recall, of.f1, of.kept, of.false_positives];
            let first = format!("{:.1}", of.from);
            [first].into_iter().chain(figures.map(figure)).collect()
        });
        let thresholds: Vec<Vec<String>> = thresholds.collect();
        format!(
            "{}\n{}",
            table(&format!("probability|n|mean|{what}"), &intervals),
            table(
                "threshold|precision|recall|F1|kept|false positives",
                &thresholds
            )
        )
    }
}

impl Threshold {
    pub fn measure(judged: &[JudgedProbability], from: f64) -> Self {
        let taken = judged.iter().filter(|(p, _)| *p >= from);
        let hits = taken.clone().filter(|(_, it)| *it).count();
        let taken = taken.count();
        let right = judged.iter().filter(|(_, it)| *it).count();
        Self {
            from,
            precision: part(hits, taken),
            recall: part(hits, right),
            f1: part(2 * hits, taken + right),
            kept: part(taken, judged.len()),
            false_positives: part(taken - hits, judged.len() - right),
        }
    }
}

/// A figure, or a dash where there is none.
pub(super) fn figure(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.3}"))
}

/// `some` of `whole`, nothing of nothing.
pub(super) fn part(some: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| some as f64 / whole as f64)
}

/// [`part`], 0 of nothing.
pub(super) fn share(some: usize, whole: usize) -> f64 {
    part(some, whole).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_one_interval_and_edges_belong_to_the_upper_one() {
        let judged = [(0.0, false), (0.5, true), (0.5, false), (1.0, true)];
        let found = Calibration::measure(&judged, &[0.0, 0.25, 0.5, 1.0]);
        let rows = found.calibration.iter();
        let rows: Vec<_> = rows.map(|of| (of.from, of.n, of.share)).collect();
        assert_eq!(rows, [(0.0, 1, 0.0), (0.5, 3, 2.0 / 3.0)]);
        let half = &found.sweep[4];
        let figures = [half.precision, half.recall, half.f1, half.kept];
        let expected = [2.0 / 3.0, 1.0, 4.0 / 5.0, 3.0 / 4.0];
        assert_eq!(figures, expected.map(Some));
        assert_eq!(half.false_positives, Some(1.0 / 2.0));
        assert!(
            found
                .as_text("relevant")
                .contains("0.50-1.00  3  0.667     0.667\n")
        );
    }

    #[test]
    fn what_is_not_defined_is_no_figure() {
        let figures = Threshold::measure(&[(0.2, false), (0.4, false)], 0.5);
        assert_eq!((figures.precision, figures.recall), (None, None));
        assert_eq!(figures.false_positives, Some(0.0));
        let none = Calibration::measure(&[], &[0.0, 1.0]);
        assert!(none.calibration.is_empty() && none.sweep[0].kept.is_none());
    }
}
