//! Two columns of rows.

use crate::tui::ink::{Ink, Row};

/// Between the columns.
pub const BETWEEN: &str = " │ ";

/// Two columns with a line between them, or one below the other where there is no room.
pub fn beside(mut left: Vec<Row>, mut right: Vec<Row>, half: usize, is_wide: bool) -> Vec<Row> {
    if !is_wide {
        left.push(Row::default());
        left.append(&mut right);
        return left.into_iter().map(|row| row.fit(half)).collect();
    }
    let count = left.len().max(right.len());
    left.resize(count, Row::default());
    right.resize(count, Row::default());
    let pairs = left.into_iter().zip(right);
    pairs
        .map(|(left, right)| {
            let left = left.fit(half).pad_to(half);
            left.with(Ink::Border, BETWEEN).join(right.fit(half))
        })
        .collect()
}
