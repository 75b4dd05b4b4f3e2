//! Whether the probability of small talk means what it says, and what another threshold would do.

use serde::Serialize;

use super::calibration::{Cut, Interval, JudgedProbability, THRESHOLDS, cut, intervals};
use super::confusion::share;

/// Edges of the calibration table.
const EDGES: [f64; 9] = [0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0];

/// The two tables.
#[derive(Debug, Serialize)]
pub(super) struct SmallTalk {
    /// One row for each interval of probabilities that is not empty.
    pub calibration: Vec<Interval>,
    /// One row for each threshold.
    pub sweep: Vec<SmallTalkThreshold>,
}

/// What taking everything from `threshold` on for small talk would come to.
#[derive(Debug, Serialize)]
pub(super) struct SmallTalkThreshold {
    #[serde(rename = "threshold")]
    pub from: f64,
    pub precision: f64,
    pub recall: f64,
    /// Share of the other messages that would be taken for small talk.
    pub false_positives: f64,
}

impl SmallTalk {
    /// Measures the probability of each message and whether it is small talk.
    pub fn measure(judged: &[JudgedProbability]) -> Self {
        let at = |from: f64| {
            let Cut {
                taken,
                hits,
                right,
                n,
            } = cut(judged, from);
            SmallTalkThreshold {
                from,
                precision: share(hits, taken),
                recall: share(hits, right),
                false_positives: share(taken - hits, n - right),
            }
        };
        Self {
            calibration: intervals(judged, &EDGES),
            sweep: THRESHOLDS.map(at).into(),
        }
    }

    pub fn as_text(&self) -> String {
        let mut text = "  probability       n       mean  small talk\n".to_owned();
        for Interval {
            from,
            to,
            n,
            mean,
            share,
        } in &self.calibration
        {
            text.push_str(&format!(
                "  {from:.2}-{to:.2}  {n:>8}  {mean:>9.3}  {share:>10.3}\n"
            ));
        }
        text.push_str("\n  threshold  precision     recall  false positives\n");
        for at in &self.sweep {
            let SmallTalkThreshold {
                from,
                precision,
                recall,
                false_positives,
            } = at;
            text.push_str(&format!(
                "  {from:>9.1}  {precision:>9.3}  {recall:>9.3}  {false_positives:>15.4}\n"
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_in_one_interval_and_the_sweep_counts() {
        let judged = [
            (0.0, false),
            (0.02, false),
            (0.72, true),
            (0.74, false),
            (1.0, true),
        ];
        let tables = SmallTalk::measure(&judged);
        let counted: usize = tables.calibration.iter().map(|interval| interval.n).sum();
        assert_eq!(counted, judged.len());
        let at = |wanted: f64| {
            tables
                .sweep
                .iter()
                .find(|at| (at.from - wanted).abs() < 1e-9)
        };
        let (low, high) = (at(0.7).unwrap(), at(0.9).unwrap());
        assert!((low.precision - 2.0 / 3.0).abs() < 1e-9);
        assert!((low.recall - 1.0).abs() < 1e-9);
        assert!((low.false_positives - 1.0 / 3.0).abs() < 1e-9);
        assert!((high.recall - 0.5).abs() < 1e-9 && high.false_positives == 0.0);
        let interval = &tables.calibration[1];
        assert!((interval.mean - 0.73).abs() < 1e-9 && (interval.share - 0.5).abs() < 1e-9);
        let none = SmallTalk::measure(&[]);
        assert!(none.calibration.is_empty() && none.sweep[0].precision == 0.0);
    }
}
