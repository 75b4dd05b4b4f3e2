//! The parts of a run: nodes, visits, edges, tool calls, verdicts, the end.

use crate::domain::{
    AutoApproveRule, GradedBy, GraderAction, KEEP_FROM, NodeName, Outcome, RouteReason,
    RoutingLimits, ToolCall, Wait,
};
use crate::protocol::{CostDetails, Event, EventBody, ItemScore, RunEnd, Timestamp};
use crate::text::one_line;
use crate::tui::ink::{measure, measure_beside};

/// How far a node has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeState {
    /// The node was not reached.
    #[default]
    Waiting,
    /// The step is running.
    Running,
    /// The node is done.
    Done,
    /// This route does not need it, and why.
    Skipped(&'static str),
    /// It was at work when the run was stopped.
    Stopped,
    /// It was at work when the run broke.
    Failed,
}

/// What is known of one node, over all visits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NodeView {
    /// How far it has come.
    pub state: NodeState,
    /// How often it was entered.
    pub visits: u32,
    /// How long the finished visits took, milliseconds.
    pub ms: f64,
    /// Reasoning calls it made.
    pub calls: u32,
    /// Tokens both ways; `None` when they were not counted.
    pub tokens: Option<u64>,
    /// When the visit that is going on began.
    pub since: Option<Timestamp>,
}

/// One visit of a node, in the path as it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// The node.
    pub node: NodeName,
    /// Gradings made before.
    pub iteration: u32,
    /// How long it took, to its end or to that of the run; `None` while it goes on.
    pub ms: Option<f64>,
    /// Reasoning calls it made.
    pub calls: u32,
    /// The verdict it gave.
    pub graded: Option<Grading>,
    /// Why the next node came next: the rule, and its arithmetic.
    pub left: Option<(RouteReason, String)>,
}

/// An edge that the run went along.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenEdge {
    /// The node that was left.
    pub from: NodeName,
    /// The node that was entered.
    pub to: NodeName,
    /// The reason; `None` for an edge that is always taken.
    pub reason: Option<RouteReason>,
    /// The reason with its arithmetic.
    pub why: String,
    /// How many times the run took it.
    pub count: u32,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// What was called.
    pub call: ToolCall,
    /// How many items it found; `None` while it runs.
    pub items: Option<usize>,
    /// How long it took, milliseconds; `None` while it runs.
    pub ms: Option<f64>,
    /// Why it failed, clean.
    pub error: Option<String>,
}

/// What a call of a model waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PendingCall {
    /// What is waited for.
    pub wait: Wait,
    /// Time of the report.
    pub reported_at: Timestamp,
    /// The node that waits; `None` before the run begins.
    pub node: Option<NodeName>,
}

/// The last verdict on the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grading {
    /// The mean over what remained; `None` where nothing did.
    pub average: Option<f64>,
    /// How many items it spoke of.
    pub items: usize,
    /// How many of them were too weak to stay.
    pub dropped: usize,
    /// The decision that followed.
    pub action: GraderAction,
    /// The grader or the rule that decided.
    pub by: GradedBy,
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// The outcome.
    pub outcome: Outcome,
    /// Reasoning calls made.
    pub calls: u32,
    /// Calls that the full pipeline would have made besides.
    pub saved: u32,
    /// Tokens both ways.
    pub tokens: u64,
    /// What else is known of the cost.
    pub spent: CostDetails,
    /// Milliseconds.
    pub ms: f64,
    /// Why it failed, clean.
    pub error: Option<String>,
}

impl PendingCall {
    /// What is waited for after this event; nothing, where it tells of something else.
    pub fn from_event(event: &Event) -> Option<Self> {
        match event.body {
            EventBody::Waiting { node, wait } if wait != Wait::Over => Some(Self {
                wait,
                reported_at: event.ts,
                node: Some(node),
            }),
            _ => None,
        }
    }

    /// The same on one line, at this moment.
    pub fn line(&self, now: Timestamp) -> String {
        let passed = now.0.saturating_sub(self.reported_at.0) as f64;
        self.wait.line_of(self.node, passed)
    }
}

impl Grading {
    /// What an `evidence_graded` says. Its average of nothing is a 0 that was not measured.
    pub fn new(scores: &[ItemScore], average: f64, action: GraderAction, by: GradedBy) -> Self {
        let remaining = scores.iter().filter(|item| item.score.value() >= KEEP_FROM);
        Self {
            average: (remaining.clone().count() > 0).then_some(average),
            items: scores.len(),
            dropped: scores.len() - remaining.count(),
            action,
            by,
        }
    }

    /// The average, or the sign for none.
    pub fn measured(&self) -> String {
        self.average.map_or_else(|| "–".to_owned(), measure)
    }
}

impl RunResult {
    /// What a `run_finished` says.
    pub fn from_body(body: &EventBody) -> Option<Self> {
        let end = RunEnd::from_body(body)?;
        Some(Self {
            outcome: end.outcome,
            calls: end.calls,
            saved: end.saved,
            tokens: end.tokens(),
            spent: end.spent,
            ms: end.ms,
            error: end.error.map(|error| one_line(error, 400)),
        })
    }

    /// Whether it ended before its time: what was not done by then was not saved.
    pub fn broke_off(&self) -> bool {
        matches!(self.outcome, Outcome::Cancelled | Outcome::Failed)
    }
}

impl Visit {
    /// The run ended; a visit that went on since then ended with it.
    pub fn break_off(&mut self, since: Option<Timestamp>, now: Timestamp) {
        let until = |since: Timestamp| now.0.saturating_sub(since.0) as f64;
        self.ms = self.ms.or(since.map(until));
    }
}

/// The word for how a run ended.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::NotFound => "not found",
        Outcome::Cancelled => "cancelled",
        Outcome::Failed => "failed",
    }
}

/// The reason with its arithmetic, where a verdict stands behind it.
pub fn why(reason: RouteReason, grading: Option<&Grading>, limits: &RoutingLimits) -> String {
    let word = reason.as_str();
    let Some(grading) = grading else {
        return word.to_owned();
    };
    let grounds = grounds(grading, limits);
    match reason {
        RouteReason::MaxIterations => {
            let max = limits.max_iterations;
            format!("{grounds}, {max} of {max} gradings → {word}")
        }
        _ => format!("{grounds} → {word}"),
    }
}

/// What the grader's action was founded on.
fn grounds(grading: &Grading, limits: &RoutingLimits) -> String {
    match grading.by {
        GradedBy::NoEvidence => "no evidence".to_owned(),
        GradedBy::Rule(rule) => {
            let founded = match rule {
                AutoApproveRule::FewContext => {
                    format!(": {} ≤ {}", grading.items, limits.auto_approve_max_items)
                }
                AutoApproveRule::HighVectorScore => {
                    format!(": all ≥ {:.2}", limits.vector_score_threshold)
                }
                AutoApproveRule::LocalFileQa | AutoApproveRule::ReadFile => String::new(),
            };
            format!("rule {}{founded}", rule.as_str())
        }
        GradedBy::Grader | GradedBy::Fallback => {
            let name = match grading.by {
                GradedBy::Fallback => "fallback",
                _ => "avg",
            };
            let Some(average) = grading.average else {
                return format!("nothing ≥ {:.2}", limits.thresholds.keep_from);
            };
            let sufficient = limits.thresholds.sufficient_from;
            let sign = if average < sufficient { "<" } else { "≥" };
            let average = measure_beside(average, &[sufficient]);
            format!("{name} {average} {sign} {sufficient:.2}")
        }
    }
}
