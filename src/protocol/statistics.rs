use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::{Event, EventBody, RunId, Spent};
use crate::domain::{Complexity, NodeName, Outcome, PathType};

/// Counts what recorded runs came to: a fold over their events.
///
/// Only runs whose beginning is recorded count, and each run once.
#[derive(Debug, Default)]
pub struct Counting {
    runs: HashMap<RunId, Course>,
    outcomes: Outcomes,
    hits: BTreeMap<(PathType, String), Hits>,
    by_path_type: BTreeMap<PathType, Hits>,
    fast: Hits,
    made: Option<u64>,
    saved: Option<u64>,
    tokens: Tokens,
    unpriced: usize,
    cost: f64,
    whole: Vec<f64>,
    by_route: BTreeMap<Complexity, Vec<f64>>,
    by_node: BTreeMap<NodeName, Vec<f64>>,
}

/// What was seen of one run.
#[derive(Debug, Default)]
struct Course {
    hits: BTreeSet<(PathType, String)>,
    is_counted: bool,
    has_ended: bool,
}

/// What all recorded runs came to.
///
/// Its serde form is the object of `stats --json`. What nothing was recorded for is `null`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistics {
    /// Runs begun.
    pub runs: usize,
    /// How they ended.
    pub outcomes: Outcomes,
    /// Runs that took a short cut, whichever.
    pub fast_path: Hits,
    /// By kind of short cut, all kinds.
    pub by_path_type: Vec<OfPathType>,
    /// By rule, those that hit.
    pub by_rule_name: Vec<OfRule>,
    /// Reasoning calls made, over runs that ended.
    pub calls: Option<u64>,
    /// Reasoning calls that were not needed, over runs that went their whole way.
    pub saved: Option<u64>,
    /// Tokens, over runs for which somebody counted.
    pub tokens: Tokens,
    /// US dollars; `None` as soon as one run with tokens has no known price.
    pub cost_usd: Option<f64>,
    /// Runs that went their whole way, from start to end.
    pub latency: Latency,
    /// The same by route, those that were taken.
    pub latency_by_route: Vec<OfRoute>,
    /// Visits of each node.
    pub latency_by_node: Vec<OfNode>,
}

/// How many runs ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Outcomes {
    /// With an answer.
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
pub struct OfPathType {
    /// Which kind.
    pub path_type: PathType,
    /// How often.
    #[serde(flatten)]
    pub hits: Hits,
}

/// [`Hits`] of one rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfRule {
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
    /// Runs for which somebody counted.
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
pub struct OfRoute {
    /// Which route.
    pub route: Complexity,
    /// How long.
    #[serde(flatten)]
    pub latency: Latency,
}

/// [`Latency`] of the visits of one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfNode {
    /// Which node.
    pub node: NodeName,
    /// How long.
    #[serde(flatten)]
    pub latency: Latency,
}

impl Counting {
    /// The words that lines of the log hold which are counted.
    pub const MADE_FROM: [&str; 4] = [
        "\"run_started\"",
        "\"fast_path_hit\"",
        "\"node_finished\"",
        "\"run_finished\"",
    ];

    /// Takes the next event of any run.
    pub fn apply(&mut self, event: &Event) {
        if matches!(event.body, EventBody::RunStarted { .. }) {
            self.runs.entry(event.run.clone()).or_default();
        }
        let Some(course) = self.runs.get_mut(&event.run) else {
            return;
        };
        match &event.body {
            EventBody::FastPathHit {
                path_type,
                rule_name,
                ..
            } => {
                let first = course.hits.is_empty();
                let first_of_type = course.hits.iter().all(|(known, _)| known != path_type);
                let key = (*path_type, rule_name.clone());
                let first_of_rule = course.hits.insert(key.clone());
                self.fast.count(first);
                self.by_path_type
                    .entry(*path_type)
                    .or_default()
                    .count(first_of_type);
                self.hits.entry(key).or_default().count(first_of_rule);
            }
            EventBody::NodeFinished {
                node,
                ms,
                prompt_tokens,
                completion_tokens,
                ..
            } => {
                course.is_counted |= prompt_tokens.is_some() || completion_tokens.is_some();
                self.by_node.entry(*node).or_default().push(*ms);
            }
            EventBody::RunFinished { .. } if !course.has_ended => {
                course.has_ended = true;
                let is_counted = course.is_counted;
                self.end(&event.body, is_counted);
            }
            _ => {}
        }
    }

    fn end(&mut self, body: &EventBody, is_counted: bool) {
        let EventBody::RunFinished {
            outcome,
            complexity,
            reasoning_calls,
            calls_saved,
            prompt_tokens,
            completion_tokens,
            spent,
            ms,
            ..
        } = body
        else {
            return;
        };
        self.outcomes.count(*outcome);
        add(&mut self.made, u64::from(*reasoning_calls));
        // The sums of a run are 0 also where nobody counted.
        if is_counted || *prompt_tokens > 0 || *completion_tokens > 0 {
            self.spend(*prompt_tokens, *completion_tokens, spent);
        }
        if outcome.is_complete() {
            add(&mut self.saved, u64::from(*calls_saved));
            self.whole.push(*ms);
            if let Some(route) = complexity {
                self.by_route.entry(*route).or_default().push(*ms);
            }
        }
    }

    fn spend(&mut self, prompt: u64, completion: u64, spent: &Spent) {
        self.tokens.runs += 1;
        add(&mut self.tokens.prompt, prompt);
        add(&mut self.tokens.completion, completion);
        self.tokens.estimated |= spent.estimated;
        match spent.cost_usd {
            Some(cost) => self.cost += cost,
            None => self.unpriced += 1,
        }
    }

    /// What it came to.
    pub fn result(&self) -> Statistics {
        let runs = self.runs.len();
        let ended = self.runs.values().filter(|run| run.has_ended).count();
        let of_path_type = |path_type: PathType| OfPathType {
            path_type,
            hits: self
                .by_path_type
                .get(&path_type)
                .copied()
                .unwrap_or_default()
                .among(runs),
        };
        let by_rule_name = self
            .hits
            .iter()
            .map(|((path_type, rule_name), hits)| OfRule {
                path_type: *path_type,
                rule_name: rule_name.clone(),
                hits: hits.among(runs),
            });
        let by_route = self.by_route.iter().map(|(route, taken)| OfRoute {
            route: *route,
            latency: Latency::of(taken),
        });
        let of_node = |node: NodeName| OfNode {
            node,
            latency: self
                .by_node
                .get(&node)
                .map_or_else(Latency::default, |taken| Latency::of(taken)),
        };
        let is_priced = self.tokens.runs > 0 && self.unpriced == 0;
        Statistics {
            runs,
            outcomes: Outcomes {
                unfinished: runs - ended,
                ..self.outcomes
            },
            fast_path: self.fast.among(runs),
            by_path_type: PathType::ALL.into_iter().map(of_path_type).collect(),
            by_rule_name: by_rule_name.collect(),
            calls: self.made,
            saved: self.saved,
            tokens: self.tokens,
            cost_usd: is_priced.then_some(self.cost),
            latency: Latency::of(&self.whole),
            latency_by_route: by_route.collect(),
            latency_by_node: NodeName::ALL.into_iter().map(of_node).collect(),
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
    fn count(&mut self, is_first_of_run: bool) {
        self.hits += 1;
        self.runs += usize::from(is_first_of_run);
    }

    fn among(self, runs: usize) -> Self {
        Self {
            rate: (runs > 0).then(|| self.runs as f64 / runs as f64),
            ..self
        }
    }
}

impl Latency {
    fn of(taken: &[f64]) -> Self {
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
        let latency = Latency::of(&taken);
        assert_eq!(
            (latency.median_ms, latency.p95_ms),
            (Some(50.5), Some(95.0))
        );
        let three = Latency::of(&[3.0, 1.0, 2.0]);
        assert_eq!((three.median_ms, three.p95_ms), (Some(2.0), Some(3.0)));
        let one = Latency::of(&[4.0]);
        assert_eq!(
            (one.count, one.median_ms, one.p95_ms),
            (1, Some(4.0), Some(4.0))
        );
        assert_eq!(Latency::of(&[]), Latency::default());
    }

    #[test]
    fn nothing_recorded_has_no_figures() {
        let nothing = Counting::default().result();
        assert_eq!(nothing.fast_path.rate, None);
        assert!(nothing.by_path_type.iter().all(|of| of.hits.rate.is_none()));
        assert_eq!(
            (nothing.calls, nothing.saved, nothing.tokens.prompt),
            (None, None, None)
        );
        assert_eq!((nothing.cost_usd, nothing.latency.median_ms), (None, None));
    }
}
