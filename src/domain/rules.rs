use serde::{Deserialize, Serialize};

use super::{Evidence, RoutingLimits, Score, ToolName, ToolRecord};

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
        let of_this_round = || history.iter().filter(|record| record.round == round);
        let is_high = |score: &Score| score.value() >= limits.vector_score_threshold;
        match self {
            // A call that failed answered nothing and was read by nobody.
            Self::LocalFileQa => history.last().is_some_and(|record| {
                record.call.tool() == ToolName::LocalFileQa && record.error.is_none()
            }),
            Self::ReadFile => {
                of_this_round().all(|record| record.call.tool() == ToolName::ReadFile)
                    && of_this_round().any(|record| record.error.is_none())
            }
            Self::FewContext => context.len() <= limits.auto_approve_max_items,
            // A merged item keeps its first tool and its best score, so the calls are asked too.
            Self::HighVectorScore => {
                let is_vector = |record: &&ToolRecord| record.call.tool() == ToolName::VectorSearch;
                context
                    .iter()
                    .all(|item| item.tool == ToolName::VectorSearch && is_high(&item.score))
                    && of_this_round()
                        .filter(|record| !record.scores.is_empty())
                        .all(|record| is_vector(&record) && record.scores.iter().all(is_high))
            }
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
