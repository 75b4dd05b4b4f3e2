//! Whether grades tell relevant passages from others, whether they mean what they say, and what
//! they lead a run to do.
//!
//! Where a figure is not defined, because nothing is relevant or nothing reaches a threshold, there
//! is none: a 0 would be a figure that was not measured.

use serde::Serialize;

use super::calibration::{Cut, Interval, JudgedProbability, THRESHOLDS, cut, intervals};
use super::confusion::share;
use crate::domain::{GradeThresholds, GraderAction, KEEP_FROM, SUFFICIENT_FROM, Score};

/// Intervals of the calibration table, all of one width.
const INTERVALS: usize = 10;

/// The figures of judged passages; the names are fixed.
#[derive(Debug, Serialize)]
pub(super) struct GradingFigures {
    /// Passages that were graded.
    pub n: usize,
    /// How many of these are relevant.
    pub relevant: usize,
    /// How likely a relevant passage has a higher grade than an irrelevant one; a tie counts half.
    pub auc: Option<f64>,
    /// Share of those from 0.7 on that is relevant.
    pub precision_at_0_7: Option<f64>,
    /// Share of the relevant that is from 0.7 on.
    pub recall_at_0_7: Option<f64>,
    /// Share of the irrelevant that is dropped.
    pub irrelevant_below_0_3: Option<f64>,
    /// Mean square of what the grade lacks to 1 if relevant, and exceeds 0 if not (Brier 1950).
    pub brier: f64,
    /// Mean distance of grade and share of relevant ones in an interval of the calibration table,
    /// each passage counting alike (expected calibration error, Naeini 2015).
    pub calibration_error: f64,
    /// One row for each interval of grades that is not empty.
    pub calibration: Vec<Interval>,
    /// One row for each threshold.
    pub sweep: Vec<Threshold>,
}

/// Passages by the thresholds of the graph.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Bands {
    /// They leave the context (R19).
    pub below_0_3: usize,
    /// They stay and speak for REFINE (R20).
    pub from_0_3: usize,
    /// They speak for GENERATE.
    pub from_0_7: usize,
}

/// Questions by what their passages lead a run to do (R20).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) struct Actions {
    pub generate: usize,
    pub refine: usize,
    pub re_retrieve: usize,
}

/// What taking everything from `threshold` on for relevant would come to.
#[derive(Debug, Serialize)]
pub(super) struct Threshold {
    #[serde(rename = "threshold")]
    pub from: f64,
    /// Nothing when no passage is taken.
    pub precision: Option<f64>,
    /// Nothing when no passage is relevant.
    pub recall: Option<f64>,
    pub f1: Option<f64>,
    /// Share of all passages that is taken.
    pub kept: f64,
}

impl GradingFigures {
    /// Measures the grade of each passage and whether it is relevant; there is at least one.
    pub fn measure(judged: &[JudgedProbability]) -> Self {
        let relevant = judged.iter().filter(|(_, it)| *it).count();
        let irrelevant = judged.len() - relevant;
        let dropped = judged.iter().filter(|(p, it)| !it && *p < KEEP_FROM);
        let sure = Threshold::measure(judged, SUFFICIENT_FROM);
        let square = |(p, it): &(f64, bool)| (p - f64::from(u8::from(*it))).powi(2);
        let n = judged.len().max(1) as f64;
        let edges: Vec<f64> = (0..=INTERVALS)
            .map(|at| at as f64 / INTERVALS as f64)
            .collect();
        let calibration = intervals(judged, &edges);
        let off = |interval: &Interval| (interval.mean - interval.share).abs() * interval.n as f64;
        Self {
            n: judged.len(),
            relevant,
            auc: auc(judged),
            precision_at_0_7: sure.precision,
            recall_at_0_7: sure.recall,
            irrelevant_below_0_3: part(dropped.count(), irrelevant),
            brier: judged.iter().map(square).sum::<f64>() / n,
            calibration_error: calibration.iter().map(off).sum::<f64>() / n,
            calibration,
            sweep: THRESHOLDS.map(|at| Threshold::measure(judged, at)).into(),
        }
    }

    /// The first lines, without the tables.
    pub fn as_text(&self) -> String {
        format!(
            "  AUC {}\n  precision from {SUFFICIENT_FROM} on {}, recall {}\n  \
             irrelevant below {KEEP_FROM} {}\n  Brier score {:.3}, calibration error {:.3}\n",
            number(self.auc),
            number(self.precision_at_0_7),
            number(self.recall_at_0_7),
            number(self.irrelevant_below_0_3),
            self.brier,
            self.calibration_error,
        )
    }

    /// Calibration and sweep.
    pub fn tables(&self) -> String {
        let mut text = "  grade          n       mean   relevant\n".to_owned();
        for Interval {
            from,
            to,
            n,
            mean,
            share,
        } in &self.calibration
        {
            text.push_str(&format!(
                "  {from:.1}-{to:.1}  {n:>8}  {mean:>9.3}  {share:>9.3}\n"
            ));
        }
        text.push_str("\n  threshold  precision     recall         F1       kept\n");
        for at in &self.sweep {
            text.push_str(&format!(
                "  {:>9.1}  {:>9}  {:>9}  {:>9}  {:>9.3}\n",
                at.from,
                number(at.precision),
                number(at.recall),
                number(at.f1),
                at.kept
            ));
        }
        text
    }
}

impl Threshold {
    fn measure(judged: &[JudgedProbability], from: f64) -> Self {
        let Cut {
            taken,
            hits,
            right,
            n,
        } = cut(judged, from);
        Self {
            from,
            precision: part(hits, taken),
            recall: part(hits, right),
            f1: part(2 * hits, taken + right),
            kept: share(taken, n),
        }
    }
}

impl Bands {
    pub fn add(&mut self, score: f64) {
        *if score < KEEP_FROM {
            &mut self.below_0_3
        } else if score < SUFFICIENT_FROM {
            &mut self.from_0_3
        } else {
            &mut self.from_0_7
        } += 1;
    }

    pub fn sum(&self) -> usize {
        self.below_0_3 + self.from_0_3 + self.from_0_7
    }
}

impl Actions {
    /// Counts what a run would do with these grades.
    pub fn add(&mut self, scores: &[Score]) {
        let thresholds = GradeThresholds::default();
        *match thresholds.action_for(thresholds.average_of_kept(scores.iter().copied())) {
            GraderAction::Generate => &mut self.generate,
            GraderAction::Refine => &mut self.refine,
            GraderAction::ReRetrieve => &mut self.re_retrieve,
        } += 1;
    }

    pub fn as_text(&self) -> String {
        format!(
            "GENERATE {}, REFINE {}, RE_RETRIEVE {}",
            self.generate, self.refine, self.re_retrieve
        )
    }
}

/// A figure, or a dash where there is none.
pub(super) fn number(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.3}"))
}

/// `part` of `whole`, nothing of nothing.
pub(super) fn part(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| share(part, whole))
}

/// How likely a relevant passage has a higher grade than an irrelevant one, a tie counting half: the
/// area under the curve of Mann and Whitney's U, by ranks from the lowest grade on, equal grades
/// sharing the mean of theirs.
pub(super) fn auc(judged: &[JudgedProbability]) -> Option<f64> {
    let mut order: Vec<&JudgedProbability> = judged.iter().collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut before, mut ranks) = (0, 0.0);
    for equal in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let rank = before as f64 + (equal.len() + 1) as f64 / 2.0;
        ranks += rank * equal.iter().filter(|(_, it)| *it).count() as f64;
        before += equal.len();
    }
    let relevant = judged.iter().filter(|(_, it)| *it).count() as f64;
    let pairs = relevant * (judged.len() as f64 - relevant);
    (pairs > 0.0).then(|| (ranks - relevant * (relevant + 1.0) / 2.0) / pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-9)
    }

    #[test]
    fn the_figures_are_those_worked_out_by_hand() {
        let judged = [
            (0.9, true),
            (0.8, false),
            (0.5, true),
            (0.5, false),
            (0.1, false),
            (0.0, true),
        ];
        let figures = GradingFigures::measure(&judged);
        // Of nine pairs: 0.9 wins three, 0.5 wins one and halves one, 0.0 wins none.
        assert!(near(figures.auc, 4.5 / 9.0));
        assert!(near(figures.precision_at_0_7, 0.5));
        assert!(near(figures.recall_at_0_7, 1.0 / 3.0));
        assert!(near(figures.irrelevant_below_0_3, 1.0 / 3.0));
        let brier = (0.01 + 0.64 + 0.25 + 0.25 + 0.01 + 1.0) / 6.0;
        assert!((figures.brier - brier).abs() < 1e-9);
        // Intervals: 0–.1 {0.0 yes}, .1–.2 {.1 no}, .5–.6 {.5 yes, .5 no}, .8–.9 {no}, .9–1 {yes}.
        let error = (1.0 + 0.1 + 0.0 + 0.8 + 0.1) / 6.0;
        assert!((figures.calibration_error - error).abs() < 1e-9);
        assert_eq!(figures.calibration.iter().map(|i| i.n).sum::<usize>(), 6);
        let half = &figures.sweep[4];
        assert!(near(half.precision, 0.5) && near(half.recall, 2.0 / 3.0));
        assert!(near(half.f1, 4.0 / 7.0) && (half.kept - 4.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_defined_is_no_figure() {
        let figures = GradingFigures::measure(&[(0.2, false), (0.4, false)]);
        assert_eq!(
            (figures.auc, figures.precision_at_0_7, figures.recall_at_0_7),
            (None, None, None)
        );
        assert!(near(figures.irrelevant_below_0_3, 0.5));
        let figures = GradingFigures::measure(&[(0.2, true)]);
        assert_eq!((figures.auc, figures.irrelevant_below_0_3), (None, None));
        assert!(figures.as_text().contains("AUC -"));
        let same = GradingFigures::measure(&[(0.5, true), (0.5, false), (0.5, false)]);
        assert!(near(same.auc, 0.5));
    }

    #[test]
    fn r20_bands_and_actions_are_the_graphs_own() {
        let mut bands = Bands::default();
        for score in [0.0, 0.299, 0.3, 0.699, 0.7, 1.0] {
            bands.add(score);
        }
        assert_eq!((bands.below_0_3, bands.from_0_3, bands.from_0_7), (2, 2, 2));
        assert_eq!(bands.sum(), 6);
        let mut actions = Actions::default();
        for scores in [&[0.9, 0.1][..], &[0.7, 0.4], &[0.2, 0.29], &[]] {
            let scores: Vec<Score> = scores.iter().copied().map(Score::clamped).collect();
            actions.add(&scores);
        }
        let expected = Actions {
            generate: 1,
            refine: 1,
            re_retrieve: 2,
        };
        assert_eq!(actions, expected);
    }
}
