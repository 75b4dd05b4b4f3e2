//! Everything that crosses a channel, and the format of the audit log.
//!
//! A question is one ordered stream of [`Event`]s with one writer. The screen, the audit log,
//! `ask --json` and later readers of the log are readers of that same stream; a pane draws a
//! fold over events and never the agent's own state. What is not in the stream did not happen.
//!
//! The serde form of [`Event`] *is* the file format: one JSON object a line, unknown fields
//! ignored. A change of meaning raises [`SCHEMA`].

mod branches;
mod channels;
mod document;
mod gradings;
mod knowledge_contents;
mod labels;
mod models;
mod packed;
mod parts;
mod record;
mod rerun;
mod sessions;
mod stamp;
mod stats;
mod summary;
mod why;

pub use branches::{Branches, Fork, QuestionPlace};
pub use channels::{
    Command, IndexCommand, IndexProgress, IndexStep, KnowledgeStatus, NoticeLevel, Update,
};
pub use document::{DocumentPart, DocumentText};
pub use gradings::RecordedGradings;
pub use knowledge_contents::{
    FilterValues, KnowledgeContents, LeftOut, SampleQuestion, SourceContents,
};
pub use labels::{Label, LabelChange, RecordedRun, RunLabels};
pub use models::{
    JobModels, JobName, ModelCommand, ModelListing, ModelOffer, ModelRequest, ModelUpdate,
    ModelWish, OFFLINE_HAS_NO_MODELS, joined,
};
pub use packed::PackedEvents;
pub use parts::{CostDetails, EvidenceItem, ItemScore, NumberedItem, PriorGrade};
pub use record::{EvidenceRecord, EvidenceStanding, RunRecord, Step, ToolRun, Verdict};
pub use rerun::{GradeByHand, RecordedState, Rerun, RerunRequest};
pub use sessions::{
    RecordedAnswer, RecordedSession, SessionCommand, SessionSummary, SessionUpdate,
};
pub use stamp::{RunId, Timestamp, new_id, use_local_times};
pub use stats::{
    FastPathHits, Hits, Latency, LatencyOf, Outcomes, RunFigures, RunHistory, RunStatistics,
};
pub use summary::{RunEnd, RunSummary};
pub use why::{CallReport, PassageReport};

use serde::{Deserialize, Serialize};

use crate::text::plural;

use crate::domain::{
    Citation, Complexity, Confidence, ConfidenceLevel, Cue, DecidedBy, EvidenceId, GradedBy,
    GraderAction, NodeName, Outcome, PathType, RouteReason, RoutingLimits, RoutingPlan, Score,
    SearchedBase, SentenceSupport, ToolCall, Wait,
};

/// Version of the event format.
pub const SCHEMA: u32 = 1;

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Time of the event.
    pub ts: Timestamp,
    /// The run to which the event belongs.
    pub run: RunId,
    /// Its place: 0, 1, 2 … without gaps within a run.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

impl Event {
    /// Whether [`Event::drop_prompts`] would leave something out.
    pub fn holds_prompts(&self) -> bool {
        matches!(&self.body, EventBody::ModelCalled { prompt, reply, .. }
            if prompt.is_some() || reply.is_some())
    }

    /// Leaves out what was sent to a model and what came back: both hold whole documents, and go no
    /// further than the screen unless the user asks for it.
    pub fn drop_prompts(&mut self) {
        if let EventBody::ModelCalled { prompt, reply, .. } = &mut self.body {
            (*prompt, *reply) = (None, None);
        }
    }
}

/// What happened; the tag is the `event` field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// A run begins; it is always the first event.
    RunStarted {
        /// The conversation it belongs to.
        session: String,
        /// Whether it is asked by itself, as by 'kb-agent ask': no list of conversations shows it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        single: bool,
        /// Where its question stands in the conversation.
        #[serde(flatten)]
        place: QuestionPlace,
        /// Where the run begins, if at a node of another one. What it takes over comes before its first
        /// node: the plan, the evidence, and what was removed of that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rerun: Option<Box<Rerun>>,
        /// The question as asked.
        query: String,
        /// Folders and documents that it names to be kept within.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        within: Vec<String>,
        /// Its filters, as they are written in it: `type:pdf`, `-draft`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        filters: Vec<String>,
        /// Whether a model or the offline engine thinks.
        mode: Mode,
        /// Its model, or the offline engine's name.
        model: String,
        /// The route the user chose, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forced_route: Option<Complexity>,
        /// The settings that route, as they are in effect for this question.
        settings: Box<RoutingLimits>,
        /// The knowledge base that is searched; older logs lack it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<SearchedBase>,
    },
    /// A node begins.
    NodeEntered {
        /// The node.
        node: NodeName,
        /// Gradings made before.
        iteration: u32,
    },
    /// A node ends.
    NodeFinished {
        /// The node.
        node: NodeName,
        /// Gradings made before it was entered.
        iteration: u32,
        /// How long it took, milliseconds.
        ms: f64,
        /// Reasoning calls it made.
        reasoning_calls: u32,
        /// Tokens sent, when counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_tokens: Option<u64>,
        /// Tokens received, when counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completion_tokens: Option<u64>,
        /// Further details of the cost.
        #[serde(flatten)]
        spent: CostDetails,
        /// Who decided, where a model or the program could.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<DecidedBy>,
    },
    /// A conditional edge was taken.
    RouteDecided {
        /// The node left.
        from: NodeName,
        /// The node to enter.
        to: NodeName,
        /// Why.
        reason: RouteReason,
    },
    /// A model was asked and replied, or failed to.
    ModelCalled {
        /// The node that called it.
        node: NodeName,
        /// Its place among the run's calls, from 0.
        call: u32,
        /// Name of the model.
        model: String,
        /// Milliseconds from the first request to the last byte.
        ms: f64,
        /// Tokens sent, where they are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_tokens: Option<u64>,
        /// Tokens received, where they are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completion_tokens: Option<u64>,
        /// Requests made after the first.
        retries: u32,
        /// What was sent; elsewhere than on the screen only with `KB_AGENT_AUDIT_PROMPTS=1`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// What came back, likewise; nothing where the call failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<String>,
    },
    /// What the analysis came to.
    RoutingPlan {
        /// The plan.
        #[serde(flatten)]
        plan: RoutingPlan,
        /// What decided the route, where the engine can tell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        because: Vec<Cue>,
        /// Why a model took the route, in its own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What the built-in router would have decided, where a model did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        built_in: Option<Complexity>,
        /// What the built-in router went by there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        built_in_because: Vec<Cue>,
    },
    /// A tool starts.
    ToolCalled {
        /// The tool and its arguments.
        #[serde(flatten)]
        call: ToolCall,
        /// Whose call it is, where a model and the program plan beside each other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<DecidedBy>,
    },
    /// A tool ends.
    ToolFinished {
        /// The tool and its arguments.
        #[serde(flatten)]
        call: ToolCall,
        /// How many items it found.
        items: usize,
        /// How well each of them matched, best first; the rules ask for that. Older logs lack it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scores: Vec<Score>,
        /// How long it took, milliseconds.
        ms: f64,
        /// The error, where it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Whether the search itself broke, so that nothing is known of what the knowledge base holds.
        /// Older logs lack it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_breakdown: bool,
        /// Whose call it was, where a model and the program plan beside each other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<DecidedBy>,
    },
    /// Items that are now in the context. An id that is already known gives that item's new
    /// state: grown by a merge, or back as `low` after it had been removed.
    EvidenceAdded {
        /// The items in the order of the context.
        items: Vec<EvidenceItem>,
    },
    /// A short cut was taken.
    FastPathHit {
        /// Kind of the short cut.
        path_type: PathType,
        /// `chitchat`, `simple`, or the rule that approved.
        rule_name: String,
        /// The question as asked.
        query: String,
    },
    /// The verdict on the whole context.
    EvidenceGraded {
        /// One for each item, in the order of the context.
        scores: Vec<ItemScore>,
        /// The mean over what remains; 0 when nothing does, which is no mean.
        average: f64,
        /// The decision that follows from it.
        action: GraderAction,
        /// The grader or the rule that decided.
        by: GradedBy,
    },
    /// An item left the context.
    EvidenceRemoved {
        /// The item that left.
        id: EvidenceId,
        /// Its grade.
        score: Score,
        /// Whether the grader did not look at it. Its `score` is then 0, which was not measured.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_looked_at: bool,
    },
    /// The numbers that the answer gives its evidence, sent before it is asked for; no others are
    /// drawn or cited.
    EvidenceNumbered {
        /// All that is sent, in its order.
        items: Vec<NumberedItem>,
    },
    /// A call of a model waits. Whatever event comes next ends the wait.
    Waiting {
        /// The node that made it.
        node: NodeName,
        /// What the call waits for.
        #[serde(flatten)]
        wait: Wait,
    },
    /// More of the answer.
    AnswerDelta {
        /// The text to append.
        text: String,
        /// Whether a source says the sentence that ended before this text, where that was looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supported: Option<bool>,
    },
    /// The whole answer.
    AnswerFinished {
        /// The text of all deltas together.
        text: String,
        /// What its marks stand for, in the order in which the text first uses them.
        citations: Vec<Citation>,
        /// How likely it is right, where that was measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<Confidence>,
        /// The same in a word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence_level: Option<ConfidenceLevel>,
        /// How far each of its sentences is carried by the evidence, where that was looked at.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        supported: Vec<SentenceSupport>,
        /// Where the quotation below the answer begins, in bytes, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quotation_from: Option<usize>,
    },
    /// Something was not as it should be, and the run went on.
    Warning {
        /// A stable code for programs.
        code: String,
        /// The message for people, one line.
        message: String,
    },
    /// The run ended; it is always the last event.
    RunFinished {
        /// How it ended.
        outcome: Outcome,
        /// The route; unknown when the run ended before it was decided.
        complexity: Option<Complexity>,
        /// The nodes entered, in order.
        path: Vec<NodeName>,
        /// Gradings made.
        iterations: u32,
        /// Reasoning calls made.
        reasoning_calls: u32,
        /// Calls of the full pipeline that were not needed.
        calls_saved: u32,
        /// Tokens sent; 0 when they were not counted.
        prompt_tokens: u64,
        /// Tokens received; 0 when they were not counted.
        completion_tokens: u64,
        /// Further details of the cost.
        #[serde(flatten)]
        spent: CostDetails,
        /// Milliseconds from start to end.
        ms: f64,
        /// The error, where it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl EventBody {
    /// Whether it matters only while the run goes on, and is in no log.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::AnswerDelta { .. } | Self::Waiting { .. })
    }

    /// The value of the `event` field.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run_started",
            Self::NodeEntered { .. } => "node_entered",
            Self::NodeFinished { .. } => "node_finished",
            Self::RouteDecided { .. } => "route_decided",
            Self::ModelCalled { .. } => "model_called",
            Self::RoutingPlan { .. } => "routing_plan",
            Self::ToolCalled { .. } => "tool_called",
            Self::ToolFinished { .. } => "tool_finished",
            Self::EvidenceAdded { .. } => "evidence_added",
            Self::FastPathHit { .. } => "fast_path_hit",
            Self::EvidenceGraded { .. } => "evidence_graded",
            Self::EvidenceRemoved { .. } => "evidence_removed",
            Self::EvidenceNumbered { .. } => "evidence_numbered",
            Self::Waiting { .. } => "waiting",
            Self::AnswerDelta { .. } => "answer_delta",
            Self::AnswerFinished { .. } => "answer_finished",
            Self::Warning { .. } => "warning",
            Self::RunFinished { .. } => "run_finished",
        }
    }
}

/// Which engine thinks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A chat endpoint.
    Llm,
    /// The embedded engine.
    #[default]
    Offline,
}

impl Mode {
    /// What a piece of reasoning is called: offline nobody is called, so it is a step.
    pub fn call(self) -> &'static str {
        match self {
            Self::Llm => "call",
            Self::Offline => "step",
        }
    }

    /// So many of them, such as `3 calls` or `1 step`.
    pub fn calls(self, count: u32) -> String {
        plural(count as usize, self.call())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_offline_nothing_is_called() {
        assert_eq!(Mode::Llm.calls(1), "1 call");
        assert_eq!(Mode::Offline.calls(4), "4 steps");
    }
}
