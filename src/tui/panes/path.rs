//! The way the question goes through the graph: as the graph, or as it ran.

use ratatui::layout::Size;

use crate::domain::Outcome;
use crate::text::duration;
use crate::tui::fold::outcome_word;
use crate::tui::ink::{Ink, Row};
use crate::tui::model::Model;
use crate::tui::pane_state::DrawnRows;
use crate::tui::pane_state::Pane;
use crate::tui::pane_state::PathLine;

pub use super::graph::current;

use super::graph::lines;
use super::trace::unrolled;
use super::wording::route_ink;

/// What stands beside the title: route, round, time.
pub fn status(model: &Model) -> Row {
    let Some(run) = model.shown_run() else {
        return Row::new(
            Ink::Dim,
            if model.pending.is_some() {
                "starting"
            } else {
                "the ways a question can go"
            },
        );
    };
    // What matters most comes first, because a narrow title is cut at its end.
    let mut row = Row::default();
    let ended = run.finish.as_ref().map(|finish| finish.outcome);
    match (run.complexity(), ended) {
        (Some(complexity), _) => row.push(route_ink(complexity), complexity.as_str()),
        (None, Some(Outcome::Answered)) => row.push(Ink::Dim, "undecided"),
        (None, Some(_)) => {}
        (None, None) => row.push(Ink::Dim, "deciding"),
    }
    if run.forced.is_some() {
        row.push(Ink::Dim, " (chosen)");
    }
    if let Some(outcome) = ended.filter(|outcome| *outcome != Outcome::Answered) {
        let ink = match outcome {
            Outcome::Failed => Ink::Failed,
            _ => Ink::Warning,
        };
        row.push(Ink::Dim, if row.pieces.is_empty() { "" } else { " · " });
        row.push(ink, outcome_word(outcome));
    }
    let round = run.rounds();
    if round > 1 {
        row.push(Ink::Dim, format!(" · {} round", ordinal(round)));
    }
    row.push(Ink::Dim, format!(" · {}", duration(run.elapsed(model.now))));
    row
}

/// Lays out what is seen, and keeps what is selected in sight, or else the node at work.
pub fn settle(model: &mut Model, size: Size) {
    let (width, height) = (usize::from(size.width), usize::from(size.height));
    let is_unrolled = model.path.unrolled;
    let mut list = model.path.list;
    let mut drawn = DrawnRows::default();
    if let Some(run) = model.shown_run().filter(|_| is_unrolled) {
        let rows = unrolled(run, model, width);
        list.settle_view(rows.len(), height);
        drawn.rows = rows.into_iter().skip(list.top).take(height).collect();
    } else {
        let lines = lines(model.shown_run(), model, width, height);
        let current = current(model);
        let is_current = |line: &PathLine| line.is_head && line.item == current;
        list.selected = lines.iter().position(is_current).unwrap_or(0);
        list.settle(lines.len(), height);
        let is_focused = model.focus == Pane::Path;
        drawn.selected = is_focused.then(|| list.selected.saturating_sub(list.top));
        for line in lines.into_iter().skip(list.top).take(height) {
            drawn.items.push(Some(line.item.place()));
            drawn.rows.push(line.row);
        }
    }
    model.path.list = list;
    model.path.drawn = drawn;
}

fn ordinal(n: u32) -> String {
    let suffix = match (n % 10, n % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}
