//! Everything that crosses a channel, and the format of the audit log.
//!
//! A question is one ordered stream of [`Event`]s with one writer. The screen, the audit log,
//! `ask --json` and whoever reads the log later are readers of that same stream; a pane draws a
//! fold over events and never the agent's own state. What is not in the stream did not happen.
//!
//! The serde form of [`Event`] *is* the file format: one JSON object a line, unknown fields
//! ignored. A change of meaning raises [`SCHEMA`].

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

use crate::domain::{
    Citation, Complexity, Evidence, EvidenceId, GradedBy, GraderAction, LineRange, NodeName,
    Outcome, PathType, RouteReason, RoutingLimits, RoutingPlan, Score, ToolCall, ToolName,
};

/// Version of the event format.
pub const SCHEMA: u32 = 1;

/// Sortable, unique name of a run (UUID version 7).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl RunId {
    /// A new one, later in order than all before it.
    pub fn generate() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Milliseconds since 1970, UTC; RFC 3339 on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

const MILLISECONDS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

impl Timestamp {
    /// The present moment by the machine's clock.
    pub fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self(since.as_millis() as u64)
    }

    fn date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// `12:01:07.412`, UTC.
    pub fn clock(self) -> String {
        let (hour, minute, second, milli) = self.date_time().time().as_hms_milli();
        format!("{hour:02}:{minute:02}:{second:02}.{milli:03}")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self
            .date_time()
            .format(MILLISECONDS)
            .map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let moment = OffsetDateTime::parse(&text, &Rfc3339).map_err(serde::de::Error::custom)?;
        u64::try_from(moment.unix_timestamp_nanos() / 1_000_000)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

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
    /// Which tool found it.
    pub tool: ToolName,
    /// How well it matched, by that tool's own measure; not a grade.
    pub score: Score,
    /// The passage's beginning, on one line, at most [`EvidenceItem::EXCERPT_CHARS`] characters.
    pub excerpt: String,
    /// Brought back after it had been discarded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub low: bool,
}

impl EvidenceItem {
    /// How much of a passage an excerpt shows.
    pub const EXCERPT_CHARS: usize = 240;
}

impl From<&Evidence> for EvidenceItem {
    fn from(item: &Evidence) -> Self {
        Self {
            id: item.id.clone(),
            source: item.source.clone(),
            lines: item.lines,
            tool: item.tool,
            score: item.score,
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
    /// Whether the folders are still being read.
    pub indexing: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_round_trip_to_the_millisecond() {
        let moment = Timestamp(1_763_683_267_412);
        let json = serde_json::to_string(&moment).unwrap();
        assert_eq!(json, "\"2025-11-21T00:01:07.412Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
        assert_eq!(moment.clock(), "00:01:07.412");
    }

    #[test]
    fn run_ids_sort_by_time() {
        let ids: Vec<_> = (0..50).map(|_| RunId::generate()).collect();
        assert!(ids.is_sorted());
    }
}
