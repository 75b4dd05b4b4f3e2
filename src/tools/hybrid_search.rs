//! By words and meaning together. The score is the probability of relevance at that BM25 and
//! cosine, so that it can be compared between queries.

use std::sync::atomic::AtomicBool;

use super::toolbox::{evidence, is_relevant};
use crate::agent::ports::ToolError;
use crate::domain::{Evidence, ToolName};
use crate::kb::{KnowledgeBase, Within};

const TOP: usize = 10;

pub(super) fn run(
    base: &KnowledgeBase,
    query: &str,
    keywords: &[String],
    stop: &AtomicBool,
) -> Result<Vec<Evidence>, ToolError> {
    Ok(base
        .hybrid(query, keywords, TOP, Within::all(stop))?
        .into_iter()
        .filter(is_relevant)
        .map(|hit| evidence(ToolName::HybridSearch, hit))
        .collect())
}
