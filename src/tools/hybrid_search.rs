//! By words and meaning together. Ordered by the fusion of both; the score is the mean of the
//! cosine and of the BM25 as a share of a full match, so that it can be compared between queries.

use super::toolbox::{evidence, is_relevant};
use crate::agent::ports::ToolError;
use crate::domain::{Evidence, ToolName};
use crate::kb::KnowledgeBase;

const TOP: usize = 10;

pub(super) fn run(
    base: &KnowledgeBase,
    query: &str,
    keywords: &[String],
) -> Result<Vec<Evidence>, ToolError> {
    Ok(base
        .hybrid(query, keywords, TOP, None)?
        .into_iter()
        .filter(is_relevant)
        .map(|hit| evidence(ToolName::HybridSearch, hit))
        .collect())
}
