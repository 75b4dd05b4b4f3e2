//! When a node was at work, drawn beside its event: all bars together show where the time went.

use crate::protocol::EventBody;
use crate::tui::fold::AuditRow;
use crate::tui::ink::{Ink, Row};
use crate::tui::model::Model;

/// The least width of a bar that can be read.
const LEAST: usize = 6;
/// The largest width of a bar; a longer one shows no more.
const MOST: usize = 24;

/// How wide all bars are where the longest row of a node leaves that many cells; `None` where that
/// is too few.
pub fn bar_width(room: usize) -> Option<usize> {
    (room >= LEAST).then_some(room.min(MOST))
}

/// The bar of an event that ends a node, or begins the one at work, in so many cells.
pub fn bar(model: &Model, row: &AuditRow, width: usize) -> Option<Row> {
    let run = model.shown_run()?;
    let since_start = row.ts.0.saturating_sub(run.started.0) as f64;
    let whole = run.elapsed(model.now.max(row.ts)).max(since_start);
    let (from, to, ink) = match row.body() {
        EventBody::NodeFinished { ms, .. } => (since_start - ms, since_start, Ink::Done),
        EventBody::NodeEntered { node, .. } if run.node(*node).since == Some(row.ts) => {
            (since_start, whole, Ink::Running)
        }
        _ => return None,
    };
    let cell = |ms: f64| (ms.max(0.0) / whole.max(1.0) * width as f64).min(width as f64);
    let first = (cell(from).floor() as usize).min(width - 1);
    let last = (cell(to).ceil() as usize).clamp(first + 1, width);
    Some(
        Row::new(Ink::Border, "·".repeat(first))
            .add(ink, "━".repeat(last - first))
            .add(Ink::Border, "·".repeat(width - last)),
    )
}
