//! The rows of a turn, kept for as long as it is seen.

use super::fold::Exchange;
use super::growing_answer::GrowingAnswer;
use super::ink::Row;

/// Wrapped rows of a turn.
#[derive(Debug, Clone, Default)]
pub struct TurnCache {
    /// Columns that they were wrapped for.
    pub width: usize,
    /// Of the exchange that they were made of.
    pub revision: u64,
    /// The rows; none before they are laid out.
    pub rows: Vec<Row>,
    /// What is known of the answer while it grows.
    pub answer: GrowingAnswer,
}

impl TurnCache {
    /// The rows, where they are those of this text at this width.
    pub fn rows(&self, exchange: &Exchange, width: usize) -> Option<&[Row]> {
        let is_it = self.width == width && self.revision == exchange.revision;
        (is_it && !self.rows.is_empty()).then_some(&*self.rows)
    }
}
