//! Everything that crosses a channel, and the format of the audit log.
//!
//! A question is one ordered stream of [`Event`]s with one writer. The screen, the audit log,
//! `ask --json` and whoever reads the log later are readers of that same stream; a pane draws a
//! fold over events and never the agent's own state. What is not in the stream did not happen.
//!
//! The serde form of [`Event`] *is* the file format: one JSON object a line, unknown fields
//! ignored. A change of meaning raises [`SCHEMA`].

mod stamp;

pub use stamp::{RunId, Timestamp};

use serde::{Deserialize, Serialize};

use crate::domain::{
    Citation, Complexity, Evidence, EvidenceId, GradedBy, GraderAction, LineRange, Measured,
    NodeName, Outcome, PathType, Place, RouteReason, RoutingLimits, RoutingPlan, Score, ToolCall,
    ToolName, Usage, location,
};

/// Version of the event format.
pub const SCHEMA: u32 = 1;

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When.
    pub ts: Timestamp,
    /// In which run.
    pub run: RunId,
    /// Its place: 0, 1, 2 … without gaps within a run.
    pub seq: u64,
    /// What.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened; the tag is the `event` field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// Always the first.
    RunStarted {
        /// The conversation it belongs to.
        session: String,
        /// The question as asked.
        query: String,
        /// Which engine thinks.
        mode: Mode,
        /// Its model, or the offline engine's name.
        model: String,
        /// The route the user chose, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forced_route: Option<Complexity>,
        /// The settings that route.
        settings: RoutingLimits,
    },
    /// A node begins.
    NodeEntered {
        /// Which.
        node: NodeName,
        /// Gradings made before.
        iteration: u32,
    },
    /// A node ends.
    NodeFinished {
        /// Which.
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
        /// What else is known of the cost.
        #[serde(flatten)]
        spent: Spent,
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
    /// What the analysis came to.
    RoutingPlan(RoutingPlan),
    /// A tool starts.
    ToolCalled {
        /// Which, with what.
        #[serde(flatten)]
        call: ToolCall,
    },
    /// A tool ends.
    ToolFinished {
        /// Which, with what.
        #[serde(flatten)]
        call: ToolCall,
        /// How many items it found.
        items: usize,
        /// How long it took, milliseconds.
        ms: f64,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Items that are now in the context. An id that is already known gives that item's new
    /// state: grown by a merge, or back as `low` after it had been removed.
    EvidenceAdded {
        /// In the order of the context.
        items: Vec<EvidenceItem>,
    },
    /// A short cut was taken.
    FastPathHit {
        /// Which kind.
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
        /// The mean over what remains; 0 when nothing does.
        average: f64,
        /// What follows.
        action: GraderAction,
        /// Who says so.
        by: GradedBy,
    },
    /// An item left the context.
    EvidenceRemoved {
        /// Which.
        id: EvidenceId,
        /// Its grade.
        score: Score,
    },
    /// More of the answer.
    AnswerDelta {
        /// To append.
        text: String,
    },
    /// The whole answer.
    AnswerFinished {
        /// All deltas together.
        text: String,
        /// What its marks stand for.
        citations: Vec<Citation>,
    },
    /// Something was not as it should be, and the run went on.
    Warning {
        /// For programs.
        code: String,
        /// For people, one line.
        message: String,
    },
    /// Always the last.
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
        /// Tokens sent; 0 when nobody counted.
        prompt_tokens: u64,
        /// Tokens received; 0 when nobody counted.
        completion_tokens: u64,
        /// What else is known of the cost.
        #[serde(flatten)]
        spent: Spent,
        /// From start to end, milliseconds.
        ms: f64,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl EventBody {
    /// The value of the `event` field.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run_started",
            Self::NodeEntered { .. } => "node_entered",
            Self::NodeFinished { .. } => "node_finished",
            Self::RouteDecided { .. } => "route_decided",
            Self::RoutingPlan(_) => "routing_plan",
            Self::ToolCalled { .. } => "tool_called",
            Self::ToolFinished { .. } => "tool_finished",
            Self::EvidenceAdded { .. } => "evidence_added",
            Self::FastPathHit { .. } => "fast_path_hit",
            Self::EvidenceGraded { .. } => "evidence_graded",
            Self::EvidenceRemoved { .. } => "evidence_removed",
            Self::AnswerDelta { .. } => "answer_delta",
            Self::AnswerFinished { .. } => "answer_finished",
            Self::Warning { .. } => "warning",
            Self::RunFinished { .. } => "run_finished",
        }
    }
}

/// What is known of a cost beside the tokens sent and received; what is not known is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Of the tokens sent, those that the server read from its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Of the tokens received, those that were thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Whether tokens were estimated, because the server did not count them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// US dollars, by the price list; left out as soon as one call has no known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl From<Usage> for Spent {
    fn from(usage: Usage) -> Self {
        Self {
            cached_tokens: usage.cached_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            estimated: usage.estimated,
            cost_usd: usage.cost_usd(),
        }
    }
}

/// Which engine thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A chat endpoint.
    Llm,
    /// The embedded engine.
    Offline,
}

/// An item as the stream shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceItem {
    /// Its name within the run.
    pub id: EvidenceId,
    /// The file, relative to its root.
    pub source: String,
    /// Where in the file.
    #[serde(flatten)]
    pub lines: LineRange,
    /// Where in a format that has pages, slides, rows or sections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Which tool found it.
    pub tool: ToolName,
    /// How well it matched, by that tool's own measure; not a grade.
    pub score: Score,
    /// What that measure was made of.
    #[serde(flatten)]
    pub measured: Measured,
    /// The passage's beginning, on one line, at most [`EvidenceItem::EXCERPT_CHARS`] characters.
    pub excerpt: String,
    /// Brought back after it had been discarded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub low: bool,
}

impl EvidenceItem {
    /// How much of a passage an excerpt shows.
    pub const EXCERPT_CHARS: usize = 240;

    /// Where in the document, as a person looks it up.
    pub fn location(&self) -> String {
        location(self.lines, self.place.as_ref())
    }
}

impl From<&Evidence> for EvidenceItem {
    fn from(item: &Evidence) -> Self {
        Self {
            id: item.id.clone(),
            source: item.source.clone(),
            lines: item.lines,
            place: item.place.clone(),
            tool: item.tool,
            score: item.score,
            measured: item.measured,
            excerpt: crate::text::one_line(&item.text, Self::EXCERPT_CHARS),
            low: item.low,
        }
    }
}

/// The grade of one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemScore {
    /// Which.
    pub id: EvidenceId,
    /// Its grade.
    pub score: Score,
}

/// What the screen asks of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Answer this. Ignored while a run is going on.
    Ask {
        /// The question.
        query: String,
        /// The route the user chose, if any.
        route: Option<Complexity>,
    },
    /// Stop the run that is going on, if any.
    Cancel,
    /// Forget the conversation.
    Forget,
}

/// What the screen is told: the stream, and what lies outside any run.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The next event of a run.
    Event(Event),
    /// What the knowledge base holds now.
    Knowledge(KnowledgeStatus),
    /// One line for the person in front of the screen.
    Notice {
        /// Whether something is wrong.
        level: NoticeLevel,
        /// The line.
        message: String,
    },
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something does not work as it should.
    Warning,
}

/// What the knowledge base holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnowledgeStatus {
    /// What to call it: the folder's name, or `demo-kb`.
    pub name: String,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks indexed.
    pub chunks: usize,
    /// Chunks that still wait for their embedding; 0 when all is ready.
    pub pending: usize,
    /// Whether the index is being brought up to date: folders read, chunks embedded.
    pub indexing: bool,
    /// Whether changes of the files are taken up as they are made.
    pub watching: bool,
}
