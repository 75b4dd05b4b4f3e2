//! What recorded runs came to: a fold over their events, all together and day by day.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{EventBody, RunEnd, Timestamp};
use crate::domain::{Complexity, NodeName, Outcome, PathType};

/// What is counted of one run: a fold over its events.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFigures {
    /// Each short cut that was taken, with its rule.
    hits: Vec<(PathType, String)>,
    /// Each visit of a node, with its milliseconds.
    visits: Vec<(NodeName, f64)>,
    /// Whether tokens were counted.
    is_counted: bool,
    ended: Option<RunEnd>,
    /// Whether it began at a node of another run.
    is_rerun: bool,
}

impl RunFigures {
    /// The words that lines of the log hold which figures are made from.
    pub const MADE_FROM: [&str; 4] = [
        "\"run_started\"",
        "\"fast_path_hit\"",
        "\"node_finished\"",
        "\"run_finished\"",
    ];

    /// Takes the next event of the run.
    pub fn take(&mut self, body: &EventBody) {
        match body {
            EventBody::RunStarted { rerun, .. } => self.is_rerun = rerun.is_some(),
            EventBody::FastPathHit {
                path_type,
                rule_name,
                ..
            } => self.hits.push((*path_type, rule_name.clone())),
            EventBody::NodeFinished {
                node,
                ms,
                prompt_tokens,
                completion_tokens,
                ..
            } => {
                self.is_counted |= prompt_tokens.is_some() || completion_tokens.is_some();
                self.visits.push((*node, *ms));
            }
            EventBody::RunFinished { .. } if self.ended.is_none() => {
                self.ended = RunEnd::from_body(body);
            }
            _ => {}
        }
    }

    /// The end of a run that went its whole way.
    fn whole_end(&self) -> Option<&RunEnd> {
        self.ended.as_ref().filter(|end| end.outcome.is_complete())
    }

    /// Its end, where tokens were counted: the sums of a run are 0 also where nothing was.
    fn counted_end(&self) -> Option<&RunEnd> {
        let end = self.ended.as_ref()?;
        (self.is_counted || end.tokens() > 0).then_some(end)
    }
}

/// What recorded runs came to.
///
/// Its serde form is the object of `stats --json`. What nothing was recorded for is `null`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunStatistics {
    /// Runs begun, at the node at which every run begins.
    pub runs: usize,
    /// Runs that began at a node of another one. Their calls, tokens and money count here; their short
    /// cuts, ends and times do not: half of such a run was made before.
    pub reruns: usize,
    /// How they ended.
    pub outcomes: Outcomes,
    /// Runs that took a short cut, whichever.
    pub fast_path: Hits,
    /// Hits of each kind of short cut, those without hits included.
    pub by_path_type: Vec<FastPathHits>,
    /// Hits of each rule that hit at least once.
    pub by_rule_name: Vec<FastPathHits>,
    /// Reasoning calls made, over runs that ended.
    pub calls: Option<u64>,
    /// Reasoning calls that were not needed, over runs that went their whole way.
    pub saved: Option<u64>,
    /// Tokens, over runs with counted tokens.
    pub tokens: Tokens,
    /// US dollars; `None` as soon as one run with tokens has no known price.
    pub cost_usd: Option<f64>,
    /// Tokens that the calls not needed would have taken, had each been as long as the mean of those
    /// made: an estimate, over the runs with counted tokens.
    pub tokens_saved: Option<u64>,
    /// US dollars, likewise.
    pub saved_usd: Option<f64>,
    /// Runs that went their whole way, from start to end.
    pub latency: Latency,
    /// The same by route, those that were taken.
    pub latency_by_route: Vec<LatencyOf>,
    /// Visits of each node.
    pub latency_by_node: Vec<LatencyOf>,
}

/// How many runs ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Outcomes {
    /// Runs with an answer.
    pub answered: usize,
    /// The knowledge base holds no answer.
    pub not_found: usize,
    /// The user stopped them.
    pub cancelled: usize,
    /// Something broke.
    pub failed: usize,
    /// No end was recorded.
    pub unfinished: usize,
}

/// How often a short cut was taken.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Hits {
    /// Runs that took it at least once.
    pub runs: usize,
    /// How often it was taken: a run of several rounds may take it several times.
    pub hits: usize,
    /// The share of all runs that took it, 0–1; `None` where there are no runs.
    pub rate: Option<f64>,
}

/// [`Hits`] of one kind of short cut, or of one of its rules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FastPathHits {
    /// The kind.
    pub path_type: PathType,
    /// The rule as recorded; `None` for all of the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_name: Option<String>,
    /// How often.
    #[serde(flatten)]
    pub hits: Hits,
}

/// Tokens both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tokens {
    /// Runs with counted tokens.
    pub runs: usize,
    /// Sent.
    pub prompt: Option<u64>,
    /// Received.
    pub completion: Option<u64>,
    /// Whether some of them were estimated.
    pub estimated: bool,
}

/// How long something took, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Latency {
    /// How often it was measured.
    pub count: usize,
    /// Half took no longer.
    pub median_ms: Option<f64>,
    /// 95 of 100 took no longer (nearest rank).
    pub p95_ms: Option<f64>,
}

/// [`Latency`] of runs on one route, or of visits of one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencyOf {
    /// The route, of runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Complexity>,
    /// The node, of visits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    /// How long.
    #[serde(flatten)]
    pub latency: Latency,
}

impl LatencyOf {
    /// The route or the node as it is called.
    pub fn name(&self) -> &'static str {
        let route = self.route.map(Complexity::as_str);
        route.or(self.node.map(NodeName::as_str)).unwrap_or("")
    }
}

impl RunStatistics {
    /// Computes the statistics of these runs, each of which has begun.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a RunFigures>) -> Self {
        let all: Vec<&RunFigures> = runs.into_iter().collect();
        let runs: Vec<&RunFigures> = all.iter().copied().filter(|run| !run.is_rerun).collect();
        let whole = || runs.iter().filter_map(|run| run.whole_end());
        let ended = |outcome: Outcome| {
            let ends = runs.iter().filter_map(|run| run.ended.as_ref());
            ends.filter(|end| end.outcome == outcome).count()
        };
        // Beside each hit the place of its run, which may take a short cut several times.
        let mut by_rule: BTreeMap<(PathType, &str), Vec<usize>> = BTreeMap::new();
        for (at, run) in runs.iter().enumerate() {
            for (path_type, rule) in &run.hits {
                let places = by_rule.entry((*path_type, rule.as_str())).or_default();
                places.push(at);
            }
        }
        let hits_of = |is_wanted: &dyn Fn(PathType) -> bool| {
            let wanted = by_rule
                .iter()
                .filter(|((path_type, _), _)| is_wanted(*path_type));
            Hits::count(wanted.flat_map(|(_, places)| places).copied(), runs.len())
        };

        let counted: Vec<&RunEnd> = all.iter().filter_map(|run| run.counted_end()).collect();
        let tokens = Tokens {
            runs: counted.len(),
            prompt: sum(counted.iter().map(|end| end.sent)),
            completion: sum(counted.iter().map(|end| end.received)),
            estimated: counted.iter().any(|end| end.spent.estimated),
        };
        let cost: Option<f64> = counted.iter().map(|end| end.spent.cost_usd).sum();
        let cost_usd = cost.filter(|_| tokens.runs > 0);
        let made: u64 = counted.iter().map(|end| u64::from(end.calls)).sum();
        let not_needed = runs
            .iter()
            .filter_map(|run| run.counted_end()?.saved_if_complete());
        let not_needed: u64 = not_needed.map(u64::from).sum();
        // Of a call not needed, at the mean of those made.
        let share = (made > 0).then(|| not_needed as f64 / made as f64);
        let taken = counted
            .iter()
            .fold(0, |sum: u64, end| sum.saturating_add(end.tokens())) as f64;

        Self {
            runs: runs.len(),
            reruns: all.len() - runs.len(),
            outcomes: Outcomes {
                answered: ended(Outcome::Answered),
                not_found: ended(Outcome::NotFound),
                cancelled: ended(Outcome::Cancelled),
                failed: ended(Outcome::Failed),
                unfinished: runs.iter().filter(|run| run.ended.is_none()).count(),
            },
            fast_path: hits_of(&|_| true),
            by_path_type: Vec::from(PathType::ALL.map(|path_type| FastPathHits {
                path_type,
                rule_name: None,
                hits: hits_of(&|of| of == path_type),
            })),
            by_rule_name: (by_rule.iter())
                .map(|((path_type, rule), places)| FastPathHits {
                    path_type: *path_type,
                    rule_name: Some((*rule).to_owned()),
                    hits: Hits::count(places.iter().copied(), runs.len()),
                })
                .collect(),
            calls: sum(all
                .iter()
                .filter_map(|run| Some(run.ended.as_ref()?.calls.into()))),
            saved: sum(whole().map(|end| end.saved.into())),
            tokens,
            cost_usd,
            tokens_saved: share.map(|share| (taken * share).round() as u64),
            saved_usd: share.zip(cost_usd).map(|(share, cost)| cost * share),
            latency: Latency::from_times(whole().map(|end| end.ms)),
            latency_by_route: (Complexity::ALL.into_iter())
                .map(|route| {
                    let on_it = whole().filter(|end| end.route == Some(route));
                    LatencyOf {
                        route: Some(route),
                        node: None,
                        latency: Latency::from_times(on_it.map(|end| end.ms)),
                    }
                })
                .filter(|of| of.latency.count > 0)
                .collect(),
            latency_by_node: Vec::from(NodeName::ALL.map(|node| {
                let visits = runs.iter().flat_map(|run| &run.visits);
                let times = visits.filter(|visit| visit.0 == node).map(|visit| visit.1);
                LatencyOf {
                    route: None,
                    node: Some(node),
                    latency: Latency::from_times(times),
                }
            })),
        }
    }

    /// What the pieces of reasoning are called: only a model takes tokens, and only models are called.
    pub fn calls_word(&self) -> &'static str {
        match self.tokens.runs {
            0 => "steps",
            _ => "calls",
        }
    }

    /// The hits of one kind of short cut, or of one of its rules.
    pub fn hits_of(&self, path_type: PathType, rule_name: Option<&str>) -> Hits {
        let mut all = self.by_path_type.iter().chain(&self.by_rule_name);
        let known =
            all.find(|of| of.path_type == path_type && of.rule_name.as_deref() == rule_name);
        known.map_or_else(|| Hits::count(std::iter::empty(), self.runs), |of| of.hits)
    }

    /// How long whole runs on one route, or the visits of one node, took.
    pub fn latency_of(&self, wanted: &LatencyOf) -> Latency {
        let mut all = self.latency_by_route.iter().chain(&self.latency_by_node);
        let known = all.find(|of| (of.route, of.node) == (wanted.route, wanted.node));
        known.map_or_else(Latency::default, |of| of.latency)
    }

    /// Tokens both ways.
    pub fn all_tokens(&self) -> Option<u64> {
        let received = self.tokens.completion.unwrap_or(0);
        self.tokens.prompt.map(|sent| sent.saturating_add(received))
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> Option<u64> {
    counts.reduce(u64::saturating_add)
}

impl Hits {
    /// The hits in so many runs; `places` are those of the runs that took the short cut.
    fn count(places: impl Iterator<Item = usize>, runs: usize) -> Self {
        let mut places: Vec<usize> = places.collect();
        let hits = places.len();
        places.sort_unstable();
        places.dedup();
        Self {
            runs: places.len(),
            hits,
            rate: (runs > 0).then(|| places.len() as f64 / runs as f64),
        }
    }
}

impl Latency {
    /// The figures of these times in milliseconds.
    pub fn from_times(times: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = times.collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let at = |at: usize| sorted.get(at).copied();
        let halves = at(count.saturating_sub(1) / 2).zip(at(count / 2));
        Self {
            count,
            median_ms: halves.map(|(before, after)| f64::midpoint(before, after)),
            p95_ms: at((count * 95).div_ceil(100).wrapping_sub(1)),
        }
    }
}

/// What recorded runs came to: all of them, and day by day.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHistory {
    /// All runs.
    pub total: RunStatistics,
    /// The last days up to that of the last run, one after the other, each with its date, those without a run
    /// among them; a run belongs to the day on which it began, UTC.
    pub days: Vec<(String, RunStatistics)>,
}

impl RunHistory {
    /// The most days that are counted separately.
    pub const MOST_DAYS: u64 = 30;

    /// Computes statistics for each day from runs and the times when they began.
    pub fn from_runs(runs: &[(Timestamp, RunFigures)]) -> Self {
        let mut by_day: BTreeMap<u64, Vec<&RunFigures>> = BTreeMap::new();
        for (begun, figures) in runs {
            by_day.entry(begun.day()).or_default().push(figures);
        }
        let days = match (by_day.keys().next(), by_day.keys().next_back()) {
            (Some(first), Some(last)) => {
                (*first).max((last + 1).saturating_sub(Self::MOST_DAYS))..last + 1
            }
            _ => 0..0,
        };
        let day = |day: u64| {
            let runs = by_day.get(&day).into_iter().flatten().copied();
            (
                Timestamp::of_day(day).date(),
                RunStatistics::from_runs(runs),
            )
        };
        Self {
            total: RunStatistics::from_runs(runs.iter().map(|(_, figures)| figures)),
            days: days.map(day).collect(),
        }
    }

    /// One figure of each day; `None` where a day has none.
    pub fn by_day(&self, figure: impl Fn(&RunStatistics) -> Option<f64>) -> Vec<Option<f64>> {
        self.days.iter().map(|(_, day)| figure(day)).collect()
    }

    /// The dates of the first and the last day; `None` where there are fewer than two days.
    pub fn period(&self) -> Option<(&str, &str)> {
        let ((first, _), (last, _)) = (self.days.first()?, self.days.last()?);
        (self.days.len() > 1).then_some((first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    #[test]
    fn the_median_and_the_95th_of_a_hundred_are_those_of_the_definition() {
        let taken: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let latency = Latency::from_times(taken.into_iter());
        assert_eq!(
            (latency.median_ms, latency.p95_ms),
            (Some(50.5), Some(95.0))
        );
        let three = Latency::from_times([3.0, 1.0, 2.0].into_iter());
        assert_eq!((three.median_ms, three.p95_ms), (Some(2.0), Some(3.0)));
        let one = Latency::from_times([4.0].into_iter());
        assert_eq!(
            (one.count, one.median_ms, one.p95_ms),
            (1, Some(4.0), Some(4.0))
        );
        assert_eq!(Latency::from_times(std::iter::empty()), Latency::default());
    }

    #[test]
    fn nothing_recorded_has_no_figures() {
        let nothing = RunStatistics::from_runs([]);
        assert_eq!(nothing.fast_path.rate, None);
        assert!(nothing.by_path_type.iter().all(|of| of.hits.rate.is_none()));
        assert_eq!(
            (nothing.calls, nothing.saved, nothing.tokens.prompt),
            (None, None, None)
        );
        assert_eq!((nothing.cost_usd, nothing.latency.median_ms), (None, None));
    }

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
            .map(|(date, day)| (date.as_str(), day.runs))
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
