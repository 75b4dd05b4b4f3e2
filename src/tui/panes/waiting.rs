//! What comes after the finished turns: a question on its way, what is being done, what waits.

use crate::domain::Outcome;
use crate::protocol::Mode;
use crate::tui::ink::{Ink, Row, counted, cut};
use crate::tui::model::{Model, Question, Retry};

use super::asked::{GUTTER, asked};
use super::path::{route_ink, spinner};

/// The rows below the last turn.
pub fn tail(model: &Model, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(Question {
        text,
        route,
        retry_of,
    }) = &model.pending
    {
        let text = crate::text::sanitize(text);
        let first = retry_of.as_ref();
        let retry = first.map(|first| Retry::after(&model.turns, first));
        rows.extend(asked(&text, *route, retry, width));
        rows.push(working(model, "starting").fit(width));
    } else if let Some(run) = model
        .turns
        .last()
        .map(|turn| &turn.run)
        .filter(|run| run.finish.is_none())
    {
        let doing = run.active().map_or("…", |node| node.as_str());
        rows.push(working(model, doing).fit(width));
    } else if ended_with(model, Outcome::Failed) {
        let mut row = Row::of(Ink::Dim, "       /retry asks again");
        if model.turns.last().map(|turn| turn.run.mode) == Some(Mode::Llm) {
            row.push(Ink::Dim, " · kb-agent doctor says why");
        }
        rows.push(row.fit(width));
    }
    rows.extend(queued(model, width));
    rows
}

/// `queued: …`, one row a question.
fn queued(model: &Model, width: usize) -> Vec<Row> {
    let room = width.saturating_sub(GUTTER + 9);
    let rows = model.queue.iter().enumerate().map(|(at, question)| {
        let label = if at == 0 { "queued: " } else { "        " };
        let mut row = Row::of(Ink::Text, " ".repeat(GUTTER)).with(Ink::Dim, label);
        if let Some(route) = question.route {
            row.push(route_ink(route), format!("{} ", route.as_str()));
        }
        let line = crate::text::one_line(&question.text, 300);
        row.with(Ink::Text, cut(&line, room)).fit(width)
    });
    let mut rows: Vec<Row> = rows.collect();
    if !rows.is_empty() {
        let help = format!("{}Esc takes the last one back", " ".repeat(GUTTER));
        rows.push(Row::of(Ink::Dim, help).fit(width));
    }
    rows
}

fn ended_with(model: &Model, outcome: Outcome) -> bool {
    let last = model.turns.last().and_then(|turn| turn.run.finish.as_ref());
    last.is_some_and(|finish| finish.outcome == outcome)
}

fn working(model: &Model, doing: &str) -> Row {
    let mut row = Row::of(Ink::Running, format!("       {} ", spinner(model.frame)));
    row.push(Ink::Dim, doing);
    let found = model
        .shown_run()
        .filter(|run| run.finish.is_none())
        .map_or(0, |run| run.evidence.kept());
    if found > 0 {
        row.push(
            Ink::Dim,
            format!(" · {}", counted(found as u64, "passage", "passages")),
        );
    }
    if model.queue.is_empty() {
        row.push(Ink::Dim, " · Esc stops");
    }
    row
}
