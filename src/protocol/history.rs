use std::collections::BTreeMap;

use super::{RunFigures, RunStatistics, Timestamp};

/// What recorded runs came to: all of them, and day by day.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHistory {
    /// All runs.
    pub total: RunStatistics,
    /// The last days up to that of the last run, one after the other, those without a run among
    /// them; a run belongs to the day on which it began, UTC.
    pub days: Vec<DayStatistics>,
}

/// One day.
#[derive(Debug, Clone, PartialEq)]
pub struct DayStatistics {
    /// `2025-11-21`.
    pub date: String,
    /// Its runs.
    pub statistics: RunStatistics,
}

impl RunHistory {
    /// The most days that are counted separately.
    pub const MOST_DAYS: u64 = 30;

    /// Computes statistics for each day from runs and the times when they began.
    pub fn from_runs(runs: &[(Timestamp, RunFigures)]) -> Self {
        let total = RunStatistics::from_runs(runs.iter().map(|(_, figures)| figures));
        let mut by_day: BTreeMap<u64, Vec<&RunFigures>> = BTreeMap::new();
        for (begun, figures) in runs {
            by_day.entry(begun.day()).or_default().push(figures);
        }
        let first = by_day.keys().next().copied().unwrap_or(0);
        let last = by_day.keys().next_back().copied();
        let days = last.map_or(0..0, |last| {
            first.max((last + 1).saturating_sub(Self::MOST_DAYS))..last + 1
        });
        let day = |day: u64| DayStatistics {
            date: Timestamp::of_day(day).date(),
            statistics: RunStatistics::from_runs(by_day.get(&day).into_iter().flatten().copied()),
        };
        Self {
            total,
            days: days.map(day).collect(),
        }
    }

    /// One figure of each day; `None` where a day has none.
    pub fn by_day(&self, figure: impl Fn(&RunStatistics) -> Option<f64>) -> Vec<Option<f64>> {
        self.days
            .iter()
            .map(|day| figure(&day.statistics))
            .collect()
    }

    /// The dates of the first and the last day; `None` where there are fewer than two days.
    pub fn period(&self) -> Option<(&str, &str)> {
        let (first, last) = (self.days.first()?, self.days.last()?);
        (self.days.len() > 1).then_some((&first.date, &last.date))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    #[test]
    fn days_follow_one_another_and_none_is_left_out() {
        let runs: Vec<_> = [5, 5, 8]
            .map(|day| (Timestamp(day * DAY + 7), RunFigures::default()))
            .to_vec();
        let history = RunHistory::from_runs(&runs);
        assert_eq!(history.total.runs, 3);
        let days: Vec<_> = history
            .days
            .iter()
            .map(|day| (day.date.as_str(), day.statistics.runs))
            .collect();
        assert_eq!(
            days,
            [
                ("1970-01-06", 2),
                ("1970-01-07", 0),
                ("1970-01-08", 0),
                ("1970-01-09", 1)
            ]
        );
        let runs_a_day = |of: &RunStatistics| (of.runs > 0).then_some(of.runs as f64);
        let runs_by_day = history.by_day(runs_a_day);
        assert_eq!(runs_by_day, [Some(2.0), None, None, Some(1.0)]);
        assert_eq!(history.period(), Some(("1970-01-06", "1970-01-09")));
        let nothing = RunHistory::from_runs(&[]);
        assert_eq!((nothing.days.len(), nothing.period()), (0, None));
    }

    #[test]
    fn a_wrong_clock_makes_no_more_days_than_the_most() {
        let runs = [0, u64::MAX / 2].map(|ms| (Timestamp(ms), RunFigures::default()));
        let history = RunHistory::from_runs(&runs);
        assert_eq!(history.days.len() as u64, RunHistory::MOST_DAYS);
        assert_eq!(history.total.runs, 2);
    }
}
