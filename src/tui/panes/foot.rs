//! What stands beneath an answer: its citations, what it cost, and what went wrong.

use crate::domain::dollars;
use crate::protocol::Mode;
use crate::text::duration;
use crate::tui::fold::Exchange;
use crate::tui::ink::{Ink, Row, cut_path, grouped};
use crate::tui::wrap::wrap;

use super::wording::{certainty, route_ink};

/// `[1] routing.md:10-42  [2] …`, as many on a line as fit.
pub fn citations(run: &Exchange, width: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for citation in &run.citations {
        let mark = format!("[{}]", citation.n);
        let place = format!("{}:{}", citation.source, citation.location());
        let place = cut_path(&place, width.saturating_sub(mark.len() + 1));
        let entry = Row::new(Ink::Citation, mark).add(Ink::Dim, format!(" {place}"));
        match rows.last_mut() {
            Some(last) if last.width() + 3 + entry.width() <= width => {
                *last = std::mem::take(last).add(Ink::Text, "   ").join(entry);
            }
            _ => rows.push(entry.fit(width)),
        }
    }
    rows
}

/// Kinds of warnings that are written out beneath an answer.
const MOST_WRITTEN_OUT: usize = 4;

/// What went wrong with this answer, each kind in a line of its own; of what did not touch it the first, and how many
/// kinds there are besides.
pub fn warnings(run: &Exchange, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |ink, line: String| {
        let row = Row::new(ink, format!("⚠ {line}"));
        rows.extend(wrap(
            &row,
            &Row::default(),
            &Row::new(Ink::Text, "  "),
            width,
        ));
    };
    for kind in run.warnings.at_the_answer().take(MOST_WRITTEN_OUT) {
        add(Ink::Warning, kind.line());
    }
    let rest = run.warnings.at_the_answer().skip(MOST_WRITTEN_OUT);
    let mut rest = rest.chain(run.warnings.on_the_way());
    if let Some(first) = rest.next() {
        let others = match rest.count() {
            0 => String::new(),
            others => format!(" ({others} more in the audit)"),
        };
        add(Ink::Dim, first.line() + &others);
    }
    rows
}

/// How sure it is, route, calls, saved, time, warnings, and that an offline engine thought.
pub fn footer(run: &Exchange) -> Row {
    let mut row = Row::default();
    let Some(finish) = &run.finish else {
        return row;
    };
    if let Some(confidence) = run.confidence {
        row = row.join(certainty(confidence.level()));
        row.push(Ink::Dim, " · ");
    }
    if let Some(complexity) = run.complexity() {
        row.push(route_ink(complexity), complexity.as_str());
        if run.forced.is_some() {
            row.push(Ink::Dim, " (chosen)");
        }
        row.push(Ink::Dim, " · ");
    }
    let whole = finish.calls.saturating_add(finish.saved);
    let calls = match whole {
        0 => format!("no {}", run.mode.call()),
        _ if finish.broke_off() => run.mode.calls(finish.calls),
        _ => format!(
            "{} of {} · saved {}",
            finish.calls,
            run.mode.calls(whole),
            finish.saved
        ),
    };
    row.push(Ink::Dim, format!("{calls} · {}", duration(finish.ms)));
    let warnings = run.warnings.count();
    if warnings > 0 {
        row.push(Ink::Dim, " · ");
        row.push(Ink::Warning, format!("⚠ {}", grouped(warnings as u64)));
    }
    if finish.tokens > 0 {
        let about = if finish.spent.estimated { "~" } else { "" };
        row.push(
            Ink::Dim,
            format!(" · {about}{} tok", grouped(finish.tokens)),
        );
        if let Some(cost) = finish.spent.cost_usd {
            row.push(Ink::Dim, format!(" · {about}{}", dollars(cost)));
        } else if run.mode == Mode::Llm {
            row.push(Ink::Dim, " · cost unknown");
        }
    }
    if run.mode == Mode::Offline {
        row.push(Ink::Dim, " · ");
        row.push(Ink::Unmeasured, "extractive, offline");
    }
    row
}
