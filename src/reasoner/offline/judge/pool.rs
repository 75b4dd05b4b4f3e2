//! What a question is judged over.

use crate::domain::Evidence;

use super::super::passage::Passage;
use super::terms::PassageTerms;

/// The passages of a question with their words, read once for the whole and its parts.
#[derive(Debug)]
pub(in super::super) struct Pool<'a> {
    pub(in super::super) passages: &'a [Passage],
    pub(in super::super) terms: Vec<PassageTerms>,
    /// What a search measured of each.
    pub(in super::super) found: Vec<SearchMeasure>,
}

/// What a search measured of a passage, each 0 where it measured nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct SearchMeasure {
    /// How likely it is relevant, 0–1.
    pub(in super::super) score: f64,
    /// The cosine with the question.
    pub(in super::super) cosine: f64,
}

impl SearchMeasure {
    pub(in super::super) fn of(item: &Evidence) -> Self {
        let measured = &item.measured;
        let is_ranked = measured.lexical_rank.or(measured.vector_rank).is_some();
        Self {
            score: if is_ranked { item.score.value() } else { 0.0 },
            cosine: measured.cosine.unwrap_or_default(),
        }
    }
}
