use serde::{Deserialize, Serialize};

use super::{DecidedBy, Evidence, RoutingLimits, Score, ToolName, ToolRecord};

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

words!(
    AutoApproveRule: LocalFileQa "local_file_qa",
    ReadFile "read_file",
    FewContext "few_context",
    HighVectorScore "high_vector_score",
);

/// What the rules ask of the evidence and the calls of a round, whatever the limits are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuleGrounds {
    /// How many items there are.
    pub items: usize,
    /// How many of them the plan's calls found.
    planned_items: usize,
    /// Whether the last call answered within the files.
    is_file_answer: bool,
    /// Whether every call of the round was to read a file, and one of them did.
    is_read: bool,
    /// The lowest score, where everything is from a search by vectors.
    lowest_vector_score: Option<Score>,
}

impl RuleGrounds {
    /// Collects what the rules look at: the items, each with its tool, how well it matched and whose call
    /// found it, and those of all calls so far that belong to `round`. What the program searches beside a plan
    /// is no part of that plan, so the rules do not look at it.
    pub fn from_items(
        context: impl IntoIterator<Item = (ToolName, Score, Option<DecidedBy>)>,
        history: &[ToolRecord],
        round: u32,
    ) -> Self {
        let is_beside = |by: Option<DecidedBy>| by == Some(DecidedBy::BuiltIn);
        let has_plan = history.iter().any(|record| !is_beside(record.by));
        let is_planned = |by| !(has_plan && is_beside(by));
        let planned: Vec<&ToolRecord> = history.iter().filter(|it| is_planned(it.by)).collect();
        let of_this_round = || planned.iter().filter(|record| record.round == round);
        let (mut items, mut planned_items) = (0, 0);
        let counted = context.into_iter().inspect(|_| items += 1);
        let counted = counted.filter(|(_, _, by)| is_planned(*by));
        let counted = counted.inspect(|_| planned_items += 1);
        let counted = counted.map(|(tool, score, _)| (tool, score));
        // A merged item keeps its first tool and its best score, so the calls are asked too.
        let found = of_this_round().flat_map(|record| {
            let tool = record.call.tool();
            record.scores.iter().map(move |score| (tool, *score))
        });
        let mut lowest = Some(Score::FULL);
        for (tool, score) in counted.chain(found) {
            lowest = lowest
                .filter(|_| tool == ToolName::VectorSearch)
                .map(|lowest| if score < lowest { score } else { lowest });
        }
        Self {
            items,
            planned_items,
            // A call that failed answered nothing and was not read.
            is_file_answer: planned.last().is_some_and(|record| {
                record.call.tool() == ToolName::LocalFileQa && record.error.is_none()
            }),
            is_read: of_this_round().all(|record| record.call.tool() == ToolName::ReadFile)
                && of_this_round().any(|record| record.error.is_none()),
            lowest_vector_score: lowest,
        }
    }

    /// The first rule that approves the evidence within these limits, if any. No evidence is
    /// approved by nothing (R15).
    pub fn approving_rule(&self, limits: &RoutingLimits) -> Option<AutoApproveRule> {
        if self.planned_items == 0 {
            return None;
        }
        let holds = |rule: &AutoApproveRule| match rule {
            AutoApproveRule::LocalFileQa => self.is_file_answer,
            AutoApproveRule::ReadFile => self.is_read,
            AutoApproveRule::FewContext => self.planned_items <= limits.auto_approve_max_items,
            AutoApproveRule::HighVectorScore => self
                .lowest_vector_score
                .is_some_and(|lowest| lowest.value() >= limits.vector_score_threshold),
        };
        AutoApproveRule::ALL.into_iter().find(holds)
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
    let items = context.iter().map(|item| (item.tool, item.score, item.by));
    RuleGrounds::from_items(items, history, round).approving_rule(limits)
}
