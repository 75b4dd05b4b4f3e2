//! What events are made of: items of evidence as the stream shows them, and costs.

use serde::{Deserialize, Serialize};

use crate::domain::{
    DecidedBy, Evidence, EvidenceId, GradedBy, LineRange, Measured, Place, Score, ToolName, Usage,
    is_same_passage, location,
};

/// What is known of a cost beside the tokens sent and received; what is not known is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CostDetails {
    /// How many of the tokens sent the server read from its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// How many of the tokens received were reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Whether tokens were estimated, because the server did not count them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// US dollars, by the price list; left out as soon as one call has no known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl From<Usage> for CostDetails {
    fn from(usage: Usage) -> Self {
        Self {
            cached_tokens: usage.cached_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            estimated: usage.estimated,
            cost_usd: usage.cost_usd(),
        }
    }
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
    /// Its grade, where a run that begins at a node takes it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_grade: Option<PriorGrade>,
    /// Whose call found it, where a model and the program search beside each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<DecidedBy>,
}

/// A grade that is known before a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PriorGrade {
    /// The grade.
    pub grade: Score,
    /// Where it came from.
    pub by: GradedBy,
}

impl EvidenceItem {
    /// How much of a passage an excerpt shows.
    pub const EXCERPT_CHARS: usize = 240;

    /// Where in the document, as a person looks it up.
    pub fn location(&self) -> String {
        location(self.lines, self.place.as_ref())
    }

    /// Whether it holds another item from now on, because it has grown over it (R14).
    pub fn takes_in(&self, other: &Self) -> bool {
        self.id != other.id
            && is_same_passage((&self.source, self.lines), (&other.source, other.lines))
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
            known_grade: None,
            by: item.by,
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
    /// Whether the grader did not look at it. Its `score` is then 0, which was not measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_looked_at: bool,
}

impl ItemScore {
    /// Its grade; `None` where the grader did not look at it.
    pub fn grade(&self) -> Option<Score> {
        (!self.not_looked_at).then_some(self.score)
    }
}

/// The number of one item in the prompt, in the answer and on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedItem {
    /// Number of the citation, counted from 1.
    pub n: usize,
    /// Which item.
    pub id: EvidenceId,
    /// The lines of it that were sent, where that is not all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<LineRange>,
}
