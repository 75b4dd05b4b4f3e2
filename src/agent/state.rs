//! What a run knows. Only the nodes write it; everybody else reads the stream.

use std::collections::HashMap;

use crate::domain::{
    Answer, Complexity, DecidedBy, Evidence, EvidenceId, GraderAction, NodeName, PlannedCall,
    Question, RouteReason, RoutingPlan, Score, ToolRecord, Turn, Usage,
};
use crate::protocol::PriorGrade;

/// The state of one run.
#[derive(Debug, Clone, Default)]
pub struct AgentState {
    /// The question as asked.
    pub asked: String,
    /// The same without what only says where to look.
    pub query: String,
    /// The question as the reasoner parsed it.
    pub question: Question,
    /// Whether the documents name what it asks for, so that nothing is taken from the conversation.
    pub stands_alone: bool,
    /// The conversation before it, oldest first.
    pub history: Vec<Turn>,
    /// The route the user chose, if any.
    pub forced: Option<Complexity>,
    /// What the analysis decided (R1).
    pub routing_plan: Option<RoutingPlan>,
    /// The answer to chitchat, when the analysis carried it.
    pub reply: Option<String>,
    /// How to search instead, where small talk is assumed.
    pub search_hint: Option<String>,
    /// The calls that `tool_exec` has yet to make.
    pub pending: Vec<PlannedCall>,
    /// Every call made.
    pub tool_history: Vec<ToolRecord>,
    /// The calls among them that failed.
    pub failures: Vec<SearchFailure>,
    /// The evidence in force, in the order it was found.
    pub context: Vec<Evidence>,
    /// The grades of `context`, in its order; empty before the first grading (R17).
    pub evidence_scores: Vec<Score>,
    /// The grades that the next grading goes by, where a person set some of them.
    pub set_grades: Option<HashMap<EvidenceId, PriorGrade>>,
    /// What the person tells a model besides, and in which node.
    pub instruction: Option<(NodeName, String)>,
    /// What was graded too low, with its grade, and what was not looked at, with 0.
    pub discarded: Vec<(Evidence, Score)>,
    /// What the last grading said.
    pub grader_action: Option<GraderAction>,
    /// Gradings made (R22).
    pub iteration: u32,
    /// Nodes entered, in order.
    pub path: Vec<NodeName>,
    /// What thinking has cost.
    pub usage: Usage,
    /// Calls of a model that were reported.
    pub model_calls: u32,
    /// Calls that the full pipeline would have made here and this run did not.
    pub calls_saved: u32,
    /// The answer, once there is one.
    pub answer: Option<Answer>,
    /// Who decided in the node at work, where a model or the program could.
    pub(super) decided_by: Option<DecidedBy>,
    /// Counts the evidence ids given out.
    pub(super) evidence_ids: usize,
}

/// A question as it is looked up: rewritten, or as it was asked.
#[derive(Debug, Clone, Copy)]
pub struct Lookup<'a> {
    /// The question.
    pub query: &'a str,
    /// The conversation that it leans on, oldest first; nothing of a rewritten question.
    pub history: &'a [Turn],
}

/// A tool call that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFailure {
    /// The tool and why, one line.
    pub line: String,
    /// Whether the search broke; else there was nothing to search, or the call made no sense.
    pub is_breakdown: bool,
}

impl AgentState {
    /// The route in force; unknown counts as complex (R4).
    pub fn complexity(&self) -> Complexity {
        self.routing_plan
            .as_ref()
            .map_or(Complexity::Complex, |plan| plan.complexity)
    }

    /// The question as it is looked up.
    pub fn lookup(&self) -> Lookup<'_> {
        let plan = self.routing_plan.as_ref();
        match plan.and_then(|plan| plan.rewritten.as_ref()) {
            Some(query) => Lookup {
                query,
                history: &[],
            },
            None => Lookup {
                query: &self.query,
                history: if self.stands_alone {
                    &[]
                } else {
                    &self.history
                },
            },
        }
    }

    /// The parts of the question.
    pub fn sub_questions(&self) -> &[String] {
        self.routing_plan
            .as_ref()
            .map_or(&[], |plan| plan.sub_questions.as_slice())
    }

    /// What the person tells a model besides, in the calls of that node.
    pub(super) fn instruction_for(&self, node: NodeName) -> Option<&str> {
        let (wanted, text) = self.instruction.as_ref()?;
        (*wanted == node).then_some(text)
    }

    /// What the stream says about a decision: that the user made it, where the user did.
    pub(super) fn reported_reason(&self, from: NodeName, reason: RouteReason) -> RouteReason {
        match from {
            NodeName::AnalyzeAndRoute | NodeName::ToolExec if self.forced.is_some() => {
                RouteReason::Forced
            }
            _ => reason,
        }
    }
}
