//! The stream itself: one event a row.

use ratatui::layout::Size;

use crate::tui::fold::{AuditRow, Level};
use crate::tui::ink::{Ink, Row, pad};
use crate::tui::layout::Pane;
use crate::tui::model::Model;

/// What stands beside the title.
pub fn status(model: &Model) -> Row {
    let warnings = model.shown_run().map_or(0, |run| run.warnings.count());
    let mut row = Row::default();
    if warnings > 0 {
        row.push(Ink::Warning, format!("⚠ {warnings}  "));
    }
    row.push(
        Ink::Dim,
        if model.audit.left_end {
            "paused"
        } else {
            "follow"
        },
    );
    row
}

/// Rows that the filter takes.
pub fn reserved(model: &Model) -> usize {
    usize::from(model.audit.typing || !model.audit.filter.is_empty())
}

/// The pane.
pub fn rows(model: &Model, size: Size) -> Vec<Row> {
    let width = usize::from(size.width);
    let events = model.audit_rows();
    let mut rows = Vec::new();
    if reserved(model) > 0 {
        let mut filter = Row::of(Ink::Key, " / ").with(Ink::Text, model.audit.filter.clone());
        if model.audit.typing {
            filter.push(Ink::Focus, "▏");
        }
        let found = Row::of(Ink::Dim, format!("{} found ", events.len()));
        rows.push(filter.and_right(found, width));
    }
    if events.is_empty() && reserved(model) == 0 {
        rows.push(Row::of(Ink::Dim, " every event of a run, as it happens").fit(width));
    }
    let seen = usize::from(size.height).saturating_sub(rows.len());
    rows.extend(
        events
            .into_iter()
            .skip(model.audit.list.top)
            .take(seen)
            .map(|event| event_row(event, width)),
    );
    rows
}

/// Which of the drawn rows is selected.
pub fn selected_row(model: &Model) -> Option<usize> {
    let list = &model.audit.list;
    (model.focus == Pane::Audit && !model.audit_rows().is_empty())
        .then(|| list.selected.saturating_sub(list.top) + reserved(model))
}

fn event_row(event: &AuditRow, width: usize) -> Row {
    let (sign, ink) = match event.level {
        Level::Plain => (" ", Ink::Text),
        Level::Decision => ("◆", Ink::Complex),
        Level::Warning => ("⚠", Ink::Warning),
        Level::Error => ("×", Ink::Failed),
    };
    let clock = event.ts.clock();
    let clock = if width < 60 { &clock[..8] } else { &clock };
    Row::of(Ink::Dim, format!(" {clock} "))
        .with(ink, format!("{sign} "))
        .with(ink, pad(event.name, 17))
        .with(
            if event.level == Level::Plain {
                Ink::Dim
            } else {
                ink
            },
            format!(" {}", event.summary),
        )
        .fit(width)
}
