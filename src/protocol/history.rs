use std::collections::BTreeMap;

use super::{RunFigures, Statistics, Timestamp};
use crate::text::sparkline;

/// What recorded runs came to: all of them, and day by day.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// All runs.
    pub total: Statistics,
    /// The last days up to that of the last run, one after the other, those without a run among
    /// them; a run belongs to the day on which it began, UTC.
    pub days: Vec<Day>,
}

/// One day.
#[derive(Debug, Clone, PartialEq)]
pub struct Day {
    /// `2025-11-21`.
    pub date: String,
    /// Its runs.
    pub statistics: Statistics,
}

impl History {
    /// So many days are told apart.
    pub const MOST_DAYS: u64 = 30;

    /// Of runs and when they began.
    pub fn of(runs: &[(Timestamp, RunFigures)]) -> Self {
        let total = Statistics::of(runs.iter().map(|(_, figures)| figures));
        let mut by_day: BTreeMap<u64, Vec<&RunFigures>> = BTreeMap::new();
        for (begun, figures) in runs {
            by_day.entry(begun.day()).or_default().push(figures);
        }
        let first = by_day.keys().next().copied().unwrap_or(0);
        let last = by_day.keys().next_back().copied();
        let days = last.map_or(0..0, |last| {
            first.max((last + 1).saturating_sub(Self::MOST_DAYS))..last + 1
        });
        let day = |day: u64| Day {
            date: Timestamp::of_day(day).date(),
            statistics: Statistics::of(by_day.get(&day).into_iter().flatten().copied()),
        };
        Self {
            total,
            days: days.map(day).collect(),
        }
    }

    /// One figure as a bar a day, as high as its share of `most`, or else of the highest. Nothing
    /// where days cannot be compared: there is one, or none has the figure.
    pub fn bars(&self, figure: impl Fn(&Statistics) -> Option<f64>, most: Option<f64>) -> String {
        let by_day: Vec<_> = self
            .days
            .iter()
            .map(|day| figure(&day.statistics))
            .collect();
        if by_day.len() < 2 || by_day.iter().all(Option::is_none) {
            return String::new();
        }
        let highest = by_day.iter().flatten().copied().fold(0.0, f64::max);
        sparkline(by_day, most.unwrap_or(highest))
    }

    /// The days that bars stand for, in words; `None` where there are no bars.
    pub fn span(&self) -> Option<String> {
        let (first, last) = (self.days.first()?, self.days.last()?);
        let span = || format!("{} to {} (UTC)", first.date, last.date);
        (self.days.len() > 1).then(span)
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
        let history = History::of(&runs);
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
        let runs_a_day = |of: &Statistics| (of.runs > 0).then_some(of.runs as f64);
        assert_eq!(history.bars(runs_a_day, None), "█··▅");
        assert_eq!(history.bars(runs_a_day, Some(4.0)), "▅··▃");
        assert_eq!(history.bars(|_| None, None), "");
        let span = history.span();
        assert_eq!(span.as_deref(), Some("1970-01-06 to 1970-01-09 (UTC)"));
        let nothing = History::of(&[]);
        assert_eq!((nothing.days.len(), nothing.span()), (0, None));
    }

    #[test]
    fn no_clock_makes_more_days_than_are_shown() {
        let runs = [0, u64::MAX / 2].map(|ms| (Timestamp(ms), RunFigures::default()));
        let history = History::of(&runs);
        assert_eq!(history.days.len() as u64, History::MOST_DAYS);
        assert_eq!(history.total.runs, 2);
    }
}
