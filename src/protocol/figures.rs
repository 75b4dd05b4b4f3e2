use serde::{Deserialize, Serialize};

use super::{EventBody, RunEnd};
use crate::domain::{Complexity, NodeName, Outcome, PathType};

/// What is counted of one run, or of a part of it: a fold over its events.
///
/// Its serde form is short, since an index of runs holds many of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunFigures {
    #[serde(rename = "h", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) hits: Vec<ShortCutHits>,
    #[serde(rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) visits: Vec<NodeVisit>,
    /// Whether tokens were counted.
    #[serde(rename = "c", default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_counted: bool,
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<RunResultFigures>,
}

/// A short cut, its rule, and how often it was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ShortCutHits(pub(super) PathType, pub(super) String, pub(super) usize);

/// The place of a node among all of them, and the milliseconds of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct NodeVisit(u8, pub(super) f64);

/// How a run ended. An index holds it as a list of its fields in this order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "RunResultRow", into = "RunResultRow")]
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

type RunResultRow = (
    Outcome,
    Option<Complexity>,
    u32,
    u32,
    u64,
    u64,
    bool,
    Option<f64>,
    f64,
);

impl From<RunResultRow> for RunResultFigures {
    fn from(list: RunResultRow) -> Self {
        let (outcome, route, calls, saved, sent, received, estimated, cost_usd, ms) = list;
        Self {
            outcome,
            route,
            calls,
            saved,
            sent,
            received,
            estimated,
            cost_usd,
            ms,
        }
    }
}

impl From<RunResultFigures> for RunResultRow {
    fn from(ended: RunResultFigures) -> Self {
        (
            ended.outcome,
            ended.route,
            ended.calls,
            ended.saved,
            ended.sent,
            ended.received,
            ended.estimated,
            ended.cost_usd,
            ended.ms,
        )
    }
}

impl RunFigures {
    /// The words that lines of the log hold which figures are made from.
    pub const MADE_FROM: [&str; 3] = ["\"fast_path_hit\"", "\"node_finished\"", "\"run_finished\""];

    /// Takes the next event of the run.
    pub fn take(&mut self, body: &EventBody) {
        match body {
            EventBody::FastPathHit {
                path_type,
                rule_name,
                ..
            } => self.hit(*path_type, rule_name, 1),
            EventBody::NodeFinished {
                node,
                ms,
                prompt_tokens,
                completion_tokens,
                ..
            } => {
                self.is_counted |= prompt_tokens.is_some() || completion_tokens.is_some();
                self.visits.extend(NodeVisit::new(*node, *ms));
            }
            EventBody::RunFinished { .. } => {
                self.ended = self
                    .ended
                    .or(RunEnd::from_body(body).map(RunResultFigures::new));
            }
            _ => {}
        }
    }

    /// Adds what was seen of the run elsewhere, later.
    pub fn add(&mut self, later: &Self) {
        for ShortCutHits(path_type, rule, times) in &later.hits {
            self.hit(*path_type, rule, *times);
        }
        self.visits.extend(&later.visits);
        self.is_counted |= later.is_counted;
        self.ended = self.ended.or(later.ended);
    }

    fn hit(&mut self, path_type: PathType, rule: &str, times: usize) {
        let known = self
            .hits
            .iter_mut()
            .find(|hit| hit.0 == path_type && hit.1 == rule);
        match known {
            Some(hit) => hit.2 += times,
            None => self
                .hits
                .push(ShortCutHits(path_type, rule.to_owned(), times)),
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

impl NodeVisit {
    fn new(node: NodeName, ms: f64) -> Option<Self> {
        let place = NodeName::ALL.iter().position(|known| *known == node)?;
        Some(Self(u8::try_from(place).ok()?, ms))
    }

    /// Which node; `None` where no node has that place.
    pub(super) fn node(self) -> Option<NodeName> {
        NodeName::ALL.get(usize::from(self.0)).copied()
    }
}
