//! The way the question goes through the graph: as the graph, or as it ran.

use ratatui::layout::Size;

use crate::domain::Outcome;
use crate::text::duration;
use crate::tui::ink::{Ink, Row};
use crate::tui::model::Model;
use crate::tui::pane::Pane;
use crate::tui::path_line::PathItem;

pub use super::graph::current;

use super::graph::lines;
use super::trace::unrolled;
use super::wording::{outcome_word, route_ink};

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

/// The pane, as settled.
pub fn rows(model: &Model, size: Size) -> Vec<Row> {
    let rows = match model.shown_run() {
        Some(run) if model.path.unrolled => unrolled(run, model, usize::from(size.width)),
        _ => model
            .path
            .lines
            .iter()
            .map(|line| line.row.clone())
            .collect(),
    };
    rows.into_iter().skip(model.path.list.top).collect()
}

/// Lays out what is seen, and keeps what is selected in sight, or else the node at work.
pub fn settle(model: &mut Model, size: Size) {
    let (width, height) = (usize::from(size.width), usize::from(size.height));
    if let Some(run) = model.shown_run().filter(|_| model.path.unrolled) {
        let count = unrolled(run, model, width).len();
        model.path.lines.clear();
        model.path.list.settle_view(count, height);
        return;
    }
    let lines = lines(model.shown_run(), model, width, height);
    let current = current(model);
    let at = lines
        .iter()
        .position(|line| line.is_head && line.item == current);
    model.path.list.selected = at.unwrap_or(0);
    model.path.list.settle(lines.len(), height);
    model.path.lines = lines;
}

/// Which of the drawn rows is selected.
pub fn selected_row(model: &Model) -> Option<usize> {
    let list = &model.path.list;
    (model.focus == Pane::Path && !(model.path.unrolled && model.shown_run().is_some()))
        .then(|| list.selected.saturating_sub(list.top))
}

/// What stands in each of the drawn rows; nothing where it is drawn visit by visit.
pub fn drawn_items(model: &Model) -> impl Iterator<Item = PathItem> {
    let lines = model.path.lines.iter().skip(model.path.list.top);
    lines.map(|line| line.item)
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
