use serde::Serialize;

use super::{EvidenceRecord, RunId};
use crate::domain::{Cut, LineRange, PassageRanks, ToolCall};

/// Why a passage is, or is not, in what a run found.
///
/// What became of it is recorded; where it stands in the lists of the run's tool calls is computed again from
/// the index as it is now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassageReport {
    /// The run.
    pub run: RunId,
    /// The document, as evidence names it.
    pub source: String,
    /// The lines of the passage; `None` where the document is not in the index.
    #[serde(flatten)]
    pub lines: Option<LineRange>,
    /// What cut it off, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// What else is to be known of that, a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the run made of it, where a tool found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceRecord>,
    /// The item that holds it, where it was absorbed into another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<EvidenceRecord>,
    /// Grades below this leave the context.
    pub keep_from: f64,
    /// How many passages the answer was given.
    pub sent: usize,
    /// The tool calls of the run, in their order.
    pub calls: Vec<CallReport>,
    /// How the index differs from that of the run, a sentence each.
    pub changed: Vec<String>,
}

/// How one tool call saw the passage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallReport {
    /// Which, with what.
    #[serde(flatten)]
    pub call: ToolCall,
    /// How many items it returned in the run.
    pub returned: usize,
    /// The score of the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_score: Option<f64>,
    /// The place of the item with the passage in what it returns now, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// Where the passage stands in the lists of the search.
    #[serde(flatten)]
    pub ranks: PassageRanks,
    /// What cut it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Why the call failed, in the run or now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
