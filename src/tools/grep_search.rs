//! By words or a regular expression. The score is the share of the query's words that a passage
//! holds, rare words counting more.

use std::sync::atomic::AtomicBool;

use super::scope::Scope;
use crate::agent::ports::ToolError;
use crate::domain::{Evidence, EvidenceId, Measured, ToolName};
use crate::kb::KnowledgeBase;

const MAX_PASSAGES: usize = 10;

pub(super) fn run(
    base: &KnowledgeBase,
    query: &str,
    (scope, stop): (&Scope, &AtomicBool),
) -> Result<Vec<Evidence>, ToolError> {
    Ok(base
        .grep(query, MAX_PASSAGES, scope.within(stop))?
        .into_iter()
        .map(|found| Evidence {
            id: EvidenceId(String::new()),
            source: found.source,
            lines: found.lines,
            tool: ToolName::GrepSearch,
            score: found.score,
            text: found.text,
            low: false,
            place: found.place,
            measured: Measured::default(),
        })
        .collect())
}
