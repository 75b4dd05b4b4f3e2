//! The path as it ran, loops unrolled, and what it cost.

use crate::text::duration;
use crate::tui::fold::{NodeState, RunView, outcome_word};
use crate::tui::ink::{Ink, Row, grouped_count, pad};
use crate::tui::model::Model;

use super::wording::{broken_off, reason_ink, spinner};

/// Calls made of those the full pipeline would have made.
pub fn meter(run: Option<&RunView>, model: &Model, width: usize) -> Row {
    let Some(run) = run else {
        let limits = &model.limits;
        return Row::new(
            Ink::Dim,
            format!(
                "at most {}; none for ≤ {} items or vector ≥ {:.2}",
                grouped_count(u64::from(limits.max_iterations), "grading", "gradings"),
                limits.auto_approve_max_items,
                limits.vector_score_threshold
            ),
        )
        .fit(width);
    };
    let made = run.calls() as usize;
    let Some(finish) = &run.finish else {
        return Row::new(Ink::Text, run.mode.calls(run.calls())).add(Ink::Dim, " so far");
    };
    let whole = made + finish.saved as usize;
    if run.visits.is_empty() {
        let line = format!("{} before the first node", outcome_word(finish.outcome));
        return Row::new(Ink::Dim, line).fit(width);
    }
    if whole == 0 {
        return Row::new(Ink::Dim, format!("no {} was made", run.mode.call())).fit(width);
    }
    if finish.broke_off() {
        // Nothing was saved by not arriving.
        return Row::new(Ink::Text, run.mode.calls(run.calls()))
            .add(Ink::Dim, format!(" · {}", outcome_word(finish.outcome)))
            .fit(width);
    }
    let mut row = Row::default();
    if whole <= 16 {
        row.push(Ink::Text, "▰".repeat(made));
        row.push(Ink::Strong, "▱".repeat(finish.saved as usize));
        row.push(Ink::Text, " ");
    }
    row.push(
        Ink::Text,
        format!("{made} of {}", run.mode.calls(whole as u32)),
    );
    row.push(Ink::Dim, " · ");
    row.push(
        if finish.saved > 0 {
            Ink::Strong
        } else {
            Ink::Dim
        },
        format!("saved {}", finish.saved),
    );
    row.fit(width)
}

/// The path as it ran, one visit a row.
pub fn unrolled(run: &RunView, model: &Model, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, visit) in run.visits.iter().enumerate() {
        let last = at + 1 == run.visits.len();
        let state = run.node(visit.node).state;
        let (sign, ink) = match state {
            NodeState::Running if last => (spinner(model.frame), Ink::Running),
            NodeState::Failed if last => ("×", Ink::Failed),
            NodeState::Stopped if last => ("◼", Ink::Warning),
            _ => ("●", Ink::Done),
        };
        let mut row = Row::new(Ink::Dim, format!("{:>3} ", at + 1))
            .add(ink, format!("{sign} "))
            .add(Ink::Text, pad(visit.node.as_str(), 18));
        match visit.ms {
            Some(ms) if ink == Ink::Failed || ink == Ink::Warning => {
                row.push(ink, format!(" {}", broken_off(state, ms)));
            }
            Some(ms) => row.push(Ink::Text, format!("{:>8}", duration(ms))),
            None => {}
        }
        if visit.calls > 0 {
            row.push(Ink::Dim, format!("  {}", run.mode.calls(visit.calls)));
        }
        rows.push(row.fit(width));
        if let Some((reason, why)) = &visit.left {
            rows.push(
                Row::new(Ink::Done, "    │ ")
                    .add(reason_ink(Some(*reason)), why.clone())
                    .fit(width),
            );
        }
    }
    let meter = meter(Some(run), model, width.saturating_sub(1));
    rows.push(Row::new(Ink::Dim, " ").join(meter));
    rows
}
