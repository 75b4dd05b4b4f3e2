use super::{EventBody, RunEnd};
use crate::domain::{Complexity, NodeName, Outcome, PathType};

/// What is counted of one run, or of a part of it: a fold over its events.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFigures {
    pub(super) hits: Vec<ShortCutHits>,
    pub(super) visits: Vec<NodeVisit>,
    /// Whether tokens were counted.
    pub(super) is_counted: bool,
    pub(super) ended: Option<RunResultFigures>,
    /// Whether it began at a node of another run.
    pub(super) is_rerun: bool,
}

/// A short cut, its rule, and how often it was taken.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShortCutHits(pub(super) PathType, pub(super) String, pub(super) usize);

/// A node, and the milliseconds of a visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodeVisit(pub(super) NodeName, pub(super) f64);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunResultFigures {
    pub(super) outcome: Outcome,
    pub(super) route: Option<Complexity>,
    /// Reasoning calls made, and saved.
    pub(super) calls: u32,
    pub(super) saved: u32,
    /// Tokens sent, and received; whether these were estimated.
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) estimated: bool,
    pub(super) cost_usd: Option<f64>,
    pub(super) ms: f64,
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
            } => self.hit(*path_type, rule_name),
            EventBody::NodeFinished {
                node,
                ms,
                prompt_tokens,
                completion_tokens,
                ..
            } => {
                self.is_counted |= prompt_tokens.is_some() || completion_tokens.is_some();
                self.visits.push(NodeVisit(*node, *ms));
            }
            EventBody::RunFinished { .. } => {
                self.ended = self
                    .ended
                    .or(RunEnd::from_body(body).map(RunResultFigures::new));
            }
            _ => {}
        }
    }

    fn hit(&mut self, path_type: PathType, rule: &str) {
        let known = self
            .hits
            .iter_mut()
            .find(|hit| hit.0 == path_type && hit.1 == rule);
        match known {
            Some(hit) => hit.2 += 1,
            None => self.hits.push(ShortCutHits(path_type, rule.to_owned(), 1)),
        }
    }
}

impl RunResultFigures {
    fn new(end: RunEnd<'_>) -> Self {
        Self {
            outcome: end.outcome,
            route: end.route,
            calls: end.calls,
            saved: end.saved,
            sent: end.sent,
            received: end.received,
            estimated: end.spent.estimated,
            cost_usd: end.spent.cost_usd,
            ms: end.ms,
        }
    }
}
