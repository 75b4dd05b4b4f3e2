//! By words or a regular expression. The score is the share of the query's words that a passage
//! holds, rare words counting more.

use super::grow::{FoundPassage, grown};
use crate::agent::ports::{Caller, ToolError};
use crate::domain::{Evidence, EvidenceId, Measured, ToolName, Topic};
use crate::kb::{GrepPassage, KnowledgeBase, Scope};

const MAX_PASSAGES: usize = 10;

pub(super) fn run(
    base: &KnowledgeBase,
    query: &str,
    scope: &Scope,
    caller: Caller<'_>,
) -> Result<Vec<Evidence>, ToolError> {
    let cancel = caller.cancel;
    let found = base
        .grep(query, MAX_PASSAGES, scope.limits(caller))?
        .into_iter()
        .map(|found| FoundPassage {
            core: found.matching,
            item: evidence(found),
        });
    Ok(grown(base, found.collect(), scope, cancel))
}

fn evidence(found: GrepPassage) -> Evidence {
    Evidence {
        id: EvidenceId(String::new()),
        source: found.source,
        lines: found.lines,
        tool: ToolName::GrepSearch,
        score: found.score,
        text: found.text,
        topic: Topic::default(),
        low: false,
        place: found.place,
        measured: Measured::default(),
        by: None,
    }
}
