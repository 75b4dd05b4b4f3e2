use serde::{Deserialize, Serialize};

use super::{Evidence, RoutingLimits, ToolName, ToolRecord};

/// The rules that approve evidence without a grading call (R16), in the order they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoApproveRule {
    /// The last tool call was `local_file_qa`, which already answered within the files.
    LocalFileQa,
    /// Every call of this round was `read_file`: the files were asked for by name.
    ReadFile,
    /// So few items that judging them costs more than it saves.
    FewContext,
    /// Every item is from `vector_search`, at or above the threshold.
    HighVectorScore,
}

impl AutoApproveRule {
    /// In the order they are tried.
    pub const ALL: [Self; 4] = [
        Self::LocalFileQa,
        Self::ReadFile,
        Self::FewContext,
        Self::HighVectorScore,
    ];

    /// The `rule_name` of the wire format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LocalFileQa => "local_file_qa",
            Self::ReadFile => "read_file",
            Self::FewContext => "few_context",
            Self::HighVectorScore => "high_vector_score",
        }
    }

    /// The rule of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == name)
    }

    fn holds(
        self,
        context: &[Evidence],
        history: &[ToolRecord],
        round: u32,
        limits: &RoutingLimits,
    ) -> bool {
        let is_from = |tool| move |record: &&ToolRecord| record.call.tool() == tool;
        match self {
            Self::LocalFileQa => history
                .last()
                .as_ref()
                .is_some_and(is_from(ToolName::LocalFileQa)),
            Self::ReadFile => {
                let mut calls = history
                    .iter()
                    .filter(|record| record.round == round)
                    .peekable();
                calls.peek().is_some() && calls.all(|record| is_from(ToolName::ReadFile)(&record))
            }
            Self::FewContext => context.len() <= limits.auto_approve_max_items,
            Self::HighVectorScore => context.iter().all(|item| {
                item.tool == ToolName::VectorSearch
                    && item.score.value() >= limits.vector_score_threshold
            }),
        }
    }
}

/// The first rule that approves `context`, if any.
///
/// `history` holds all calls so far, `round` tells which of them belong to this round. An empty
/// context is approved by nothing (R15).
pub fn approving_rule(
    context: &[Evidence],
    history: &[ToolRecord],
    round: u32,
    limits: &RoutingLimits,
) -> Option<AutoApproveRule> {
    if context.is_empty() {
        return None;
    }
    AutoApproveRule::ALL
        .into_iter()
        .find(|rule| rule.holds(context, history, round, limits))
}
