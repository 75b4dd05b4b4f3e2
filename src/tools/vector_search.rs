//! By meaning. The score is the probability of relevance at that cosine.

use super::hits::{grown_evidence, is_relevant};
use crate::agent::ports::{Caller, ToolError};
use crate::domain::{Evidence, ToolName};
use crate::kb::{KnowledgeBase, Scope};

const DEFAULT_K: usize = 10;
const MAX_K: usize = 50;

/// How many passages are returned at most, where so many are asked for.
pub(super) fn passages(k: Option<usize>) -> usize {
    k.unwrap_or(DEFAULT_K).min(MAX_K)
}

pub(super) fn run(
    base: &KnowledgeBase,
    query: &str,
    k: Option<usize>,
    scope: &Scope,
    caller: Caller<'_>,
) -> Result<Vec<Evidence>, ToolError> {
    if k == Some(0) {
        return Err(ToolError::BadArguments(format!(
            "k is 0; ask for 1 to {MAX_K} passages"
        )));
    }
    let cancel = caller.cancel;
    let hits = base
        .vector(query, passages(k), scope.limits(caller))?
        .into_iter()
        .filter(is_relevant);
    Ok(grown_evidence(
        base,
        ToolName::VectorSearch,
        hits,
        scope,
        cancel,
    ))
}
