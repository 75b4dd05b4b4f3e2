use std::collections::BTreeMap;
use std::iter;

use serde::Serialize;

use super::RunFigures;
use crate::domain::{Complexity, NodeName, Outcome, PathType};

/// What recorded runs came to: a fold over their figures.
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
    pub by_path_type: Vec<PathTypeHits>,
    /// Hits of each rule that hit at least once.
    pub by_rule_name: Vec<RuleHits>,
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
    pub latency_by_route: Vec<RouteLatency>,
    /// Visits of each node.
    pub latency_by_node: Vec<NodeLatency>,
}

/// How many runs ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Outcomes {
    /// How many runs ended with an answer.
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

/// [`Hits`] of one kind of short cut.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathTypeHits {
    /// Which kind.
    pub path_type: PathType,
    /// How often.
    #[serde(flatten)]
    pub hits: Hits,
}

/// [`Hits`] of one rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleHits {
    /// Its kind.
    pub path_type: PathType,
    /// Its name, as recorded.
    pub rule_name: String,
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

/// [`Latency`] of runs on one route.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RouteLatency {
    /// Which route.
    pub route: Complexity,
    /// How long.
    #[serde(flatten)]
    pub latency: Latency,
}

/// [`Latency`] of the visits of one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeLatency {
    /// Which node.
    pub node: NodeName,
    /// How long.
    #[serde(flatten)]
    pub latency: Latency,
}

impl RunStatistics {
    /// What the pieces of reasoning are called: only a model takes tokens, and only models are called.
    pub fn calls_word(&self) -> &'static str {
        match self.tokens.runs {
            0 => "steps",
            _ => "calls",
        }
    }

    /// Computes the statistics of these runs, each of which has begun.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a RunFigures>) -> Self {
        let all: Vec<&RunFigures> = runs.into_iter().collect();
        let runs: Vec<&RunFigures> = all.iter().copied().filter(|run| !run.is_rerun).collect();
        let count = runs.len();
        let ends = || runs.iter().filter_map(|run| run.ended.as_ref());
        let whole = || ends().filter(|end| end.outcome.is_complete());
        let ended = |outcome: Outcome| ends().filter(|end| end.outcome == outcome).count();
        let visits = || runs.iter().flat_map(|run| &run.visits);
        // Beside each hit the place of its run, which may take a short cut several times.
        let hits = || {
            let numbered = runs.iter().enumerate();
            numbered.flat_map(|(at, run)| run.hits.iter().map(move |hit| (hit, at)))
        };
        let mut by_rule: BTreeMap<(PathType, &str), Vec<usize>> = BTreeMap::new();
        for ((path_type, rule), at) in hits() {
            let places = by_rule.entry((*path_type, rule.as_str())).or_default();
            places.push(at);
        }

        let all_ends = || {
            all.iter()
                .filter_map(|run| Some((run, run.ended.as_ref()?)))
        };
        // The sums of a run are 0 also where nothing was counted.
        let counted = || all_ends().filter(|(run, end)| run.is_counted || end.tokens() > 0);
        let tokens = Tokens {
            runs: counted().count(),
            prompt: sum(counted().map(|(_, end)| end.sent)),
            completion: sum(counted().map(|(_, end)| end.received)),
            estimated: counted().any(|(_, end)| end.spent.estimated),
        };
        let cost: Option<f64> = counted().map(|(_, end)| end.spent.cost_usd).sum();
        let cost_usd = cost.filter(|_| tokens.runs > 0);
        let made: u64 = counted().map(|(_, end)| u64::from(end.calls)).sum();
        let of_runs = counted().filter(|(run, _)| !run.is_rerun);
        let not_needed = of_runs.filter_map(|(_, end)| end.saved_if_complete());
        let not_needed: u64 = not_needed.map(u64::from).sum();
        // Of a call not needed, at the mean of those made.
        let share = (made > 0).then(|| not_needed as f64 / made as f64);
        let sent = tokens.prompt.unwrap_or(0);
        let taken = sent.saturating_add(tokens.completion.unwrap_or(0)) as f64;

        let of_route = |route: Complexity| {
            let on_it = whole().filter(|end| end.route == Some(route));
            let latency = Latency::from_times(on_it.map(|end| end.ms));
            RouteLatency { route, latency }
        };
        Self {
            runs: count,
            reruns: all.len() - count,
            outcomes: Outcomes {
                answered: ended(Outcome::Answered),
                not_found: ended(Outcome::NotFound),
                cancelled: ended(Outcome::Cancelled),
                failed: ended(Outcome::Failed),
                unfinished: count - ends().count(),
            },
            fast_path: Hits::count(hits().map(|(_, at)| at), count),
            by_path_type: Vec::from(PathType::ALL.map(|path_type| {
                let of_type = hits().filter(|(hit, _)| hit.0 == path_type);
                let hits = Hits::count(of_type.map(|(_, at)| at), count);
                PathTypeHits { path_type, hits }
            })),
            by_rule_name: (by_rule.into_iter())
                .map(|((path_type, rule), places)| RuleHits {
                    path_type,
                    rule_name: rule.to_owned(),
                    hits: Hits::count(places.into_iter(), count),
                })
                .collect(),
            calls: sum(all_ends().map(|(_, end)| u64::from(end.calls))),
            saved: sum(whole().map(|end| u64::from(end.saved))),
            tokens,
            cost_usd,
            tokens_saved: share.map(|share| (taken * share).round() as u64),
            saved_usd: share.zip(cost_usd).map(|(share, cost)| cost * share),
            latency: Latency::from_times(whole().map(|end| end.ms)),
            latency_by_route: (Complexity::ALL.into_iter().map(of_route))
                .filter(|of| of.latency.count > 0)
                .collect(),
            latency_by_node: Vec::from(NodeName::ALL.map(|node| {
                let of_node = visits().filter(|visit| visit.0 == node);
                let latency = Latency::from_times(of_node.map(|visit| visit.1));
                NodeLatency { node, latency }
            })),
        }
    }

    /// The hits of one kind of short cut.
    pub fn of_path_type(&self, path_type: PathType) -> Hits {
        let mut kinds = self.by_path_type.iter();
        let known = kinds.find(|of| of.path_type == path_type);
        known.map_or_else(|| Hits::count(iter::empty(), self.runs), |of| of.hits)
    }

    /// The hits of one rule.
    pub fn of_rule(&self, path_type: PathType, rule_name: &str) -> Hits {
        let mut rules = self.by_rule_name.iter();
        let known = rules.find(|of| of.path_type == path_type && of.rule_name == rule_name);
        known.map_or_else(|| Hits::count(iter::empty(), self.runs), |of| of.hits)
    }

    /// How long whole runs on one route took.
    pub fn of_route(&self, route: Complexity) -> Latency {
        let known = self.latency_by_route.iter().find(|of| of.route == route);
        known.map_or_else(Latency::default, |of| of.latency)
    }

    /// How long the visits of one node took.
    pub fn of_node(&self, node: NodeName) -> Latency {
        let known = self.latency_by_node.iter().find(|of| of.node == node);
        known.map_or_else(Latency::default, |of| of.latency)
    }

    /// Tokens both ways.
    pub fn all_tokens(&self) -> Option<u64> {
        let Tokens {
            prompt, completion, ..
        } = self.tokens;
        prompt.map(|sent| sent.saturating_add(completion.unwrap_or(0)))
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> Option<u64> {
    counts.reduce(u64::saturating_add)
}

impl Hits {
    /// The hits in so many runs; `places` are those of the runs that took the short cut, in order.
    fn count(places: impl Iterator<Item = usize>, runs: usize) -> Self {
        let mut places: Vec<usize> = places.collect();
        let hits = places.len();
        places.dedup();
        let taken = places.len();
        Self {
            runs: taken,
            hits,
            rate: (runs > 0).then(|| taken as f64 / runs as f64),
        }
    }
}

impl Latency {
    fn from_times(times: impl Iterator<Item = f64>) -> Self {
        Self::from_samples(&times.collect::<Vec<_>>())
    }

    /// The figures of these times in milliseconds.
    pub fn from_samples(taken: &[f64]) -> Self {
        let mut sorted = taken.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let at = |at: usize| sorted.get(at).copied();
        let middle = at(count / 2);
        let before = at((count / 2).wrapping_sub(1));
        Self {
            count,
            median_ms: match (count % 2, before, middle) {
                (0, Some(before), Some(middle)) => Some(f64::midpoint(before, middle)),
                (_, _, middle) => middle,
            },
            p95_ms: at((count * 95).div_ceil(100).wrapping_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_95th_of_a_hundred_are_those_of_the_definition() {
        let taken: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let latency = Latency::from_samples(&taken);
        assert_eq!(
            (latency.median_ms, latency.p95_ms),
            (Some(50.5), Some(95.0))
        );
        let three = Latency::from_samples(&[3.0, 1.0, 2.0]);
        assert_eq!((three.median_ms, three.p95_ms), (Some(2.0), Some(3.0)));
        let one = Latency::from_samples(&[4.0]);
        assert_eq!(
            (one.count, one.median_ms, one.p95_ms),
            (1, Some(4.0), Some(4.0))
        );
        assert_eq!(Latency::from_samples(&[]), Latency::default());
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
}
