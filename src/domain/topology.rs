use serde::{Deserialize, Serialize};

use super::RouteReason;

/// The five nodes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum NodeName {
    /// One call: what kind of question, which way, which tools.
    #[default]
    AnalyzeAndRoute,
    /// Picks the tool calls; never answers.
    Plan,
    /// Runs them at once.
    ToolExec,
    /// Rules first, then one batch call; keeps, drops, decides.
    GradeEvidence,
    /// Writes the answer.
    Synthesize,
}

use NodeName::{AnalyzeAndRoute, GradeEvidence, Plan, Synthesize, ToolExec};

/// Where every run begins.
pub const ENTRY: NodeName = AnalyzeAndRoute;

/// One way from a node to the next, taken for any of the reasons; none means always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The node left.
    pub from: NodeName,
    /// The node entered; `None` is the end of the run.
    pub to: Option<NodeName>,
    /// What a decision must say for this edge to be taken.
    pub when: &'static [RouteReason],
}

/// The whole graph. The executor, the path pane and the Mermaid export read this and nothing else.
#[rustfmt::skip]
pub const EDGES: &[Edge] = &[
    Edge { from: AnalyzeAndRoute, to: Some(Synthesize),      when: &[RouteReason::Chitchat] },
    Edge { from: AnalyzeAndRoute, to: Some(Plan),            when: &[RouteReason::Simple, RouteReason::Complex] },
    Edge { from: Plan,            to: Some(ToolExec),        when: &[] },
    Edge { from: ToolExec,        to: Some(Synthesize),      when: &[RouteReason::Simple] },
    Edge { from: ToolExec,        to: Some(GradeEvidence),   when: &[RouteReason::Complex] },
    Edge { from: GradeEvidence,   to: Some(Synthesize),      when: &[RouteReason::Generate, RouteReason::MaxIterations] },
    Edge { from: GradeEvidence,   to: Some(Plan),            when: &[RouteReason::Refine] },
    Edge { from: GradeEvidence,   to: Some(AnalyzeAndRoute), when: &[RouteReason::ReRetrieve] },
    Edge { from: Synthesize,      to: None,                  when: &[] },
];

/// The edge that leaves `from` for this reason; `None` as the reason for an unconditional one.
pub fn edge(from: NodeName, reason: Option<RouteReason>) -> Option<&'static Edge> {
    EDGES.iter().find(|edge| {
        edge.from == from
            && match reason {
                None => edge.when.is_empty(),
                Some(reason) => edge.when.contains(&reason),
            }
    })
}

words!(
    NodeName: AnalyzeAndRoute "analyze_and_route",
    Plan "plan",
    ToolExec "tool_exec",
    GradeEvidence "grade_evidence",
    Synthesize "synthesize",
);

impl NodeName {
    /// Returns the round, from 1, of a visit of the node after so many gradings. A round is a
    /// search and what comes of it; the answer that is written after the last one belongs to no
    /// round.
    pub fn round(self, gradings: u32) -> Option<u32> {
        (self != Self::Synthesize).then(|| gradings.saturating_add(1))
    }
}
