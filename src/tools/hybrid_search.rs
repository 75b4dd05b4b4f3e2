//! By words and meaning together. The score is the probability of relevance at that BM25 and
//! cosine, so that it can be compared between queries.

use super::hits::{grown_evidence, is_relevant};
use crate::agent::ports::{Caller, ToolError};
use crate::domain::{Evidence, ToolName};
use crate::kb::{KnowledgeBase, Scope};

/// The most passages that are returned.
pub(super) const TOP: usize = 12;

pub(super) fn run(
    base: &KnowledgeBase,
    query: &str,
    keywords: &[String],
    scope: &Scope,
    caller: Caller<'_>,
) -> Result<Vec<Evidence>, ToolError> {
    let cancel = caller.cancel;
    let hits = base
        .hybrid(query, keywords, TOP, scope.limits(caller))?
        .into_iter()
        .filter(is_relevant);
    Ok(grown_evidence(
        base,
        ToolName::HybridSearch,
        hits,
        scope,
        cancel,
    ))
}
