use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::figures::{NodeVisit, RunFigures, RunResultFigures, ShortCutHits};
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

/// What is summed up before shares and medians are known.
#[derive(Debug, Default)]
struct Sums {
    runs: usize,
    reruns: usize,
    ended: usize,
    outcomes: Outcomes,
    fast: Hits,
    by_path_type: BTreeMap<PathType, Hits>,
    by_rule: BTreeMap<(PathType, String), Hits>,
    made: Option<u64>,
    saved: Option<u64>,
    tokens: Tokens,
    /// Calls of the runs with counted tokens, made and saved.
    counted_calls: (u64, u64),
    unpriced: usize,
    cost: f64,
    whole: Vec<f64>,
    by_route: BTreeMap<Complexity, Vec<f64>>,
    by_node: BTreeMap<NodeName, Vec<f64>>,
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
        let mut sums = Sums::default();
        for run in runs {
            sums.take(run);
        }
        sums.result()
    }

    /// The hits of one kind of short cut.
    pub fn of_path_type(&self, path_type: PathType) -> Hits {
        let known = self
            .by_path_type
            .iter()
            .find(|of| of.path_type == path_type);
        known.map_or_else(|| Hits::default().with_rate(self.runs), |of| of.hits)
    }

    /// The hits of one rule.
    pub fn of_rule(&self, path_type: PathType, rule_name: &str) -> Hits {
        let is_it = |of: &&RuleHits| of.path_type == path_type && of.rule_name == rule_name;
        let known = self.by_rule_name.iter().find(is_it);
        known.map_or_else(|| Hits::default().with_rate(self.runs), |of| of.hits)
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

impl Sums {
    fn take(&mut self, run: &RunFigures) {
        if run.is_rerun {
            self.reruns += 1;
            if let Some(ended) = &run.ended {
                self.spend(ended, 0, run.is_counted);
            }
            return;
        }
        self.runs += 1;
        let mut types = BTreeSet::new();
        for (at, ShortCutHits(path_type, rule, times)) in run.hits.iter().enumerate() {
            self.fast.count(*times, at == 0);
            let of_type = self.by_path_type.entry(*path_type).or_default();
            of_type.count(*times, types.insert(*path_type));
            let of_rule = self.by_rule.entry((*path_type, rule.clone()));
            of_rule.or_default().count(*times, true);
        }
        for NodeVisit(node, ms) in &run.visits {
            self.by_node.entry(*node).or_default().push(*ms);
        }
        if let Some(ended) = &run.ended {
            self.end(ended, run.is_counted);
        }
    }

    fn end(&mut self, ended: &RunResultFigures, is_counted: bool) {
        let RunResultFigures {
            outcome,
            route,
            saved,
            ms,
            ..
        } = *ended;
        let saved = u64::from(saved);
        self.ended += 1;
        self.outcomes.count(outcome);
        if outcome.is_complete() {
            add(&mut self.saved, saved);
            self.whole.push(ms);
            if let Some(route) = route {
                self.by_route.entry(route).or_default().push(ms);
            }
        }
        let saved = if outcome.is_complete() { saved } else { 0 };
        self.spend(ended, saved, is_counted);
    }

    /// Counts calls, tokens and money.
    fn spend(&mut self, ended: &RunResultFigures, saved: u64, is_counted: bool) {
        let RunResultFigures {
            calls,
            sent: prompt,
            received: completion,
            estimated,
            cost_usd: cost,
            ..
        } = *ended;
        let made = u64::from(calls);
        add(&mut self.made, made);
        // The sums of a run are 0 also where nothing was counted.
        if is_counted || prompt > 0 || completion > 0 {
            self.tokens.runs += 1;
            add(&mut self.tokens.prompt, prompt);
            add(&mut self.tokens.completion, completion);
            self.tokens.estimated |= estimated;
            self.counted_calls.0 += made;
            self.counted_calls.1 += saved;
            match cost {
                Some(cost) => self.cost += cost,
                None => self.unpriced += 1,
            }
        }
    }

    fn result(self) -> RunStatistics {
        let runs = self.runs;
        let of_path_type = |path_type: PathType| PathTypeHits {
            path_type,
            hits: self
                .by_path_type
                .get(&path_type)
                .copied()
                .unwrap_or_default()
                .with_rate(runs),
        };
        let of_node = |node: NodeName| NodeLatency {
            node,
            latency: self
                .by_node
                .get(&node)
                .map_or_else(Latency::default, |taken| Latency::from_samples(taken)),
        };
        let is_priced = self.tokens.runs > 0 && self.unpriced == 0;
        let (made, saved) = self.counted_calls;
        // Of a call not needed, at the mean of those made.
        let share = (made > 0).then(|| saved as f64 / made as f64);
        let sent = self.tokens.prompt.unwrap_or(0);
        let taken = sent.saturating_add(self.tokens.completion.unwrap_or(0)) as f64;
        RunStatistics {
            runs,
            reruns: self.reruns,
            outcomes: Outcomes {
                unfinished: runs - self.ended,
                ..self.outcomes
            },
            fast_path: self.fast.with_rate(runs),
            by_path_type: PathType::ALL.into_iter().map(of_path_type).collect(),
            latency_by_node: NodeName::ALL.into_iter().map(of_node).collect(),
            by_rule_name: (self.by_rule.into_iter())
                .map(|((path_type, rule_name), hits)| RuleHits {
                    path_type,
                    rule_name,
                    hits: hits.with_rate(runs),
                })
                .collect(),
            calls: self.made,
            saved: self.saved,
            tokens: self.tokens,
            cost_usd: is_priced.then_some(self.cost),
            tokens_saved: share.map(|share| (taken * share).round() as u64),
            saved_usd: share.filter(|_| is_priced).map(|share| self.cost * share),
            latency: Latency::from_samples(&self.whole),
            latency_by_route: (self.by_route.iter())
                .map(|(route, taken)| RouteLatency {
                    route: *route,
                    latency: Latency::from_samples(taken),
                })
                .collect(),
        }
    }
}

fn add(sum: &mut Option<u64>, more: u64) {
    *sum = Some(sum.unwrap_or(0).saturating_add(more));
}

impl Outcomes {
    fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Answered => &mut self.answered,
            Outcome::NotFound => &mut self.not_found,
            Outcome::Cancelled => &mut self.cancelled,
            Outcome::Failed => &mut self.failed,
        } += 1;
    }
}

impl Hits {
    fn count(&mut self, times: usize, is_first_of_run: bool) {
        self.hits += times;
        self.runs += usize::from(is_first_of_run);
    }

    fn with_rate(self, runs: usize) -> Self {
        Self {
            rate: (runs > 0).then(|| self.runs as f64 / runs as f64),
            ..self
        }
    }
}

impl Latency {
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
