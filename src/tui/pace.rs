//! How fast the index grows, from its reports of the last seconds.

use std::collections::VecDeque;

use crate::protocol::{IndexProgress, IndexStep, KnowledgeStatus};

use super::ink::{Ink, Row, grouped};

/// Over how long the pace is measured, milliseconds.
const WINDOW: u64 = 10_000;
/// What was observed for less time says nothing yet, milliseconds.
const LEAST: u64 = 1_000;

/// The reports of one step over the last seconds.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    reports: VecDeque<IndexProgress>,
}

impl Pace {
    /// Takes a report.
    pub fn add(&mut self, status: &KnowledgeStatus) {
        let Some(now) = status.progress else {
            self.reports.clear();
            return;
        };
        let goes_on = |before: &IndexProgress| {
            before.step == now.step && before.done <= now.done && before.at <= now.at
        };
        if !self.reports.back().is_none_or(goes_on) {
            self.reports.clear();
        }
        // The pace counts from when something was done, not from when nothing had been yet.
        if self.reports.len() == 1 && self.reports[0].done == now.done {
            self.reports.clear();
        }
        self.reports.push_back(now);
        while self.reports.len() > 2 && now.at.0 - self.reports[1].at.0 >= WINDOW {
            self.reports.pop_front();
        }
    }

    /// Files or chunks a second.
    fn per_second(&self) -> Option<f64> {
        let (first, last) = (self.reports.front()?, self.reports.back()?);
        let took = last.at.0 - first.at.0;
        let done = last.done - first.done;
        (took >= LEAST && done > 0).then(|| done as f64 * 1000.0 / took as f64)
    }
}

/// What the header says of the work on the index, in so many cells of a screen's width.
pub fn progress(status: &KnowledgeStatus, pace: &Pace, width: usize) -> Row {
    let pending = grouped(status.pending as u64);
    if status.stopped {
        let missing = match status.pending {
            0 => String::new(),
            _ => format!(" · {pending} not embedded"),
        };
        return Row::new(Ink::Warning, format!(" · indexing stopped{missing}"));
    }
    match (status.progress, status.indexing) {
        (Some(progress), true) => Row::new(Ink::Running, words(&progress, pace, width)),
        (None, true) if status.pending > 0 => {
            Row::new(Ink::Running, format!(" · embedding {pending}"))
        }
        (None, true) => Row::new(Ink::Running, " · indexing"),
        (_, false) if status.pending > 0 => {
            // Nothing is at work on them here.
            Row::new(Ink::Warning, format!(" · {pending} not embedded"))
        }
        (_, false) if status.watching && width >= 100 => Row::new(Ink::Dim, " · watching"),
        (_, false) => Row::default(),
    }
}

fn words(progress: &IndexProgress, pace: &Pace, width: usize) -> String {
    let IndexProgress {
        step, done, total, ..
    } = *progress;
    let (verb, noun) = match step {
        IndexStep::Reading => ("reading", " files"),
        IndexStep::Embedding => ("embedding", ""),
    };
    if width < 80 {
        return format!(" · {verb} {} %", progress.percent());
    }
    let (done_words, of) = (grouped(done as u64), grouped(total as u64));
    let mut words = format!(" · {verb} {done_words} of {of}{noun}");
    if let Some(rate) = pace.per_second().filter(|_| width >= 100) {
        let left = time_left((total.saturating_sub(done)) as f64 / rate);
        let rate = match rate {
            rate if rate < 10.0 => format!("{rate:.1}"),
            rate => grouped(rate.round() as u64),
        };
        words.push_str(&format!(" · {rate}/s · {left} left"));
    }
    words
}

/// Rounded up: what is said to be over is over.
fn time_left(seconds: f64) -> String {
    let seconds = seconds.ceil().max(1.0) as u64;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6_000 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", grouped(seconds.div_ceil(3_600))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Timestamp;

    fn status_at(step: IndexStep, done: usize, at: u64) -> KnowledgeStatus {
        KnowledgeStatus {
            indexing: true,
            pending: 5_020 - done,
            progress: Some(IndexProgress {
                step,
                done,
                total: 5_020,
                at: Timestamp(at),
            }),
            ..KnowledgeStatus::default()
        }
    }

    fn said(statuses: &[KnowledgeStatus]) -> String {
        let mut pace = Pace::default();
        for status in statuses {
            pace.add(status);
        }
        progress(statuses.last().unwrap(), &pace, 160).text()
    }

    #[test]
    fn rate_and_remaining_time_are_those_of_the_last_seconds() {
        use IndexStep::{Embedding, Reading};
        let slow = status_at(Embedding, 100, 0);
        let fast = [
            status_at(Embedding, 374, 30_000),
            status_at(Embedding, 1_204, 40_000),
        ];
        let [from, to] = fast;
        assert_eq!(
            said(&[slow, from.clone(), to.clone()]),
            " · embedding 1 204 of 5 020 · 83/s · 46 s left"
        );
        let at_once = status_at(Embedding, 1_204, 30_500);
        assert_eq!(said(&[from, at_once]), " · embedding 1 204 of 5 020");
        assert_eq!(
            said(&[status_at(Reading, 10, 39_000), to.clone()]),
            " · embedding 1 204 of 5 020",
            "another step is another pace"
        );
        let files = [status_at(Reading, 10, 0), status_at(Reading, 11, 10_000)];
        assert_eq!(
            said(&files),
            " · reading 11 of 5 020 files · 0.1/s · 14 h left"
        );
    }

    #[test]
    fn what_is_stopped_or_left_is_shown() {
        let stopped = KnowledgeStatus {
            stopped: true,
            pending: 1_816,
            ..KnowledgeStatus::default()
        };
        assert_eq!(said(&[stopped]), " · indexing stopped · 1 816 not embedded");
    }
}
