use super::{EventBody, RunEnd};
use crate::domain::{NodeName, PathType};

/// What is counted of one run, or of a part of it: a fold over its events.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFigures {
    /// Each short cut that was taken, with its rule.
    pub(super) hits: Vec<(PathType, String)>,
    /// Each visit of a node, with its milliseconds.
    pub(super) visits: Vec<(NodeName, f64)>,
    /// Whether tokens were counted.
    pub(super) is_counted: bool,
    pub(super) ended: Option<RunEnd>,
    /// Whether it began at a node of another run.
    pub(super) is_rerun: bool,
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
}
