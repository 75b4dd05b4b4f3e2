//! What the keys do in the audit pane and in the window of an event.

use crate::protocol::Timestamp;

use super::focus;
use super::fold::{AuditLine, AuditRow};
use super::model::{Model, Overlay};
use super::pane_state::List;
use super::panes::audit::about;

/// Moves; a selection that leaves the end stops following it. The evidence pane goes to what the event
/// speaks of.
pub fn step(model: &mut Model, by: impl Fn(&mut List)) {
    let count = model.audit_lines().count();
    by(&mut model.audit.list);
    // Keys can come faster than pictures, and the selection may be beyond the last line.
    model.audit.left_end = model.audit.list.selected < count.saturating_sub(1);
    show_evidence(model);
}

/// Selects a line, as a click does.
pub fn select(model: &mut Model, at: usize) {
    model.audit.left_end = true;
    model.audit.list.selected = at;
    show_evidence(model);
}

fn show_evidence(model: &mut Model) {
    let touched = focus::touched(model);
    focus::show_evidence(model, |id| touched.contains(id));
}

/// Shows the event's JSON; what is folded unfolds first.
pub fn open(model: &mut Model) {
    // Keys can come faster than pictures, and the pane may not have been drawn since.
    if !model.audit.left_end {
        let count = model.audit_lines().count();
        model.audit.list.last(count);
    }
    let selected = model.audit_lines().nth(model.audit.list.selected);
    match selected {
        Some(AuditLine::Event { row, .. }) => {
            let key = row.key();
            show(model, key);
        }
        Some(AuditLine::Group { .. }) => unfold(model),
        None => {}
    }
}

/// Unfolds the group that the selected line is of, or folds it again.
pub fn unfold(model: &mut Model) {
    let at = model.audit.list.selected;
    let lines: Vec<_> = model.audit_lines().collect();
    let is_group = |line: &AuditLine<'_>| matches!(line, AuditLine::Group { .. });
    let head = lines.iter().take(at + 1).rposition(is_group);
    let Some((head, AuditLine::Group { rows, unfolded })) =
        head.and_then(|head| Some((head, lines.get(head)?)))
    else {
        return;
    };
    if at > head + if *unfolded { rows.len() } else { 0 } {
        return;
    }
    let keys: Vec<(Timestamp, u64)> = rows.iter().map(AuditRow::key).collect();
    let unfolded = *unfolded;
    for key in &keys {
        model.audit.unfolded.remove(key);
    }
    if !unfolded {
        model.audit.unfolded.extend(keys.first());
    }
    model.audit.list.selected = head;
    model.audit.left_end = true;
}

/// Selects the next warning, or the previous one; it wraps around at the ends.
pub fn next_warning(model: &mut Model, forward: bool) {
    let alarming: Vec<bool> = model.audit_lines().map(AuditLine::is_alarming).collect();
    match next_of(&alarming, model.audit.list.selected, forward) {
        Some(at) => step(model, |list| list.selected = at),
        None => model.inform("No warning among these events."),
    }
}

/// The place of the next one that is marked, or of the previous one, around the ends.
fn next_of(marked: &[bool], at: usize, forward: bool) -> Option<usize> {
    let count = marked.len();
    // The selection may stand behind the last line until it is drawn.
    let at = at.min(count.saturating_sub(usize::from(forward)));
    let step = |by: usize| (if forward { at + by } else { at + count - by }) % count;
    (1..=count).map(step).find(|at| marked[*at])
}

/// Moves the window of an event by so many events.
pub fn step_event(model: &mut Model, by: isize) {
    let rows = model.audit_rows();
    let Some(at) = shown_row(model, &rows) else {
        return;
    };
    let last = rows.len().saturating_sub(1);
    let key = rows[at.saturating_add_signed(by).min(last)].key();
    show(model, key);
}

/// Moves the window of an event to the next or previous warning; it wraps around at the ends.
pub fn next_warning_event(model: &mut Model, forward: bool) {
    let rows = model.audit_rows();
    let alarming: Vec<bool> = rows.iter().map(|row| row.is_alarming()).collect();
    let at = shown_row(model, &rows).and_then(|at| next_of(&alarming, at, forward));
    if let Some(key) = at.map(|at| rows[at].key()) {
        show(model, key);
    }
}

/// Which of the rows the window shows.
fn shown_row(model: &Model, rows: &[&AuditRow]) -> Option<usize> {
    let Overlay::Event { key, .. } = &model.overlay.as_ref()?.shown else {
        return None;
    };
    rows.iter().position(|row| row.key() == *key)
}

/// Opens the window of an event, and selects the line that it stands in.
fn show(model: &mut Model, key: (Timestamp, u64)) {
    let rows = model.audit_rows();
    let count = rows.len();
    let Some(at) = rows.iter().position(|row| row.key() == key) else {
        return;
    };
    let row = rows[at];
    let shown = Overlay::Event {
        key,
        about: about(model, row, at, count),
        lines: row.json().lines().map(str::to_owned).collect(),
    };
    model.open(shown);
    let count = model.audit_lines().count();
    let line = model.audit_lines().position(|line| line.shows(key));
    if let Some(line) = line {
        model.audit.list.selected = line;
        model.audit.left_end = line + 1 < count;
        show_evidence(model);
    }
}
