//! Which pane has the keys, and which run the panes show.

use std::collections::HashSet;

use crate::domain::{EvidenceId, NodeName};
use crate::protocol::EventBody;
use crate::text::one_line;

use super::fold::{AuditLine, AuditRow};
use super::keymap::Action;
use super::model::{Effect, Model};
use super::pane_state::{AnswerFocus, List, Pane, PathItem};
use super::panes::{chat, path};

/// Gives the keys to a pane.
pub fn focus(model: &mut Model, pane: Pane) {
    model.focus = pane;
    stop_acting(model);
    if pane == Pane::Chat {
        unlink(model);
    } else {
        model.side = pane;
    }
}

/// Letters are typed from now on.
pub fn stop_acting(model: &mut Model) {
    if model.chat.chosen == AnswerFocus::ActedOn {
        model.chat.chosen = AnswerFocus::Yes;
    }
}

/// The panes show the run of that turn.
pub fn show_turn(model: &mut Model, at: usize) {
    let last = model.turns.current().len().saturating_sub(1);
    model.turns.open(at);
    model.shown = (at != last || model.pending.is_some()).then_some(at);
    let expanded = model.evidence.expanded;
    model.reset_panes();
    model.evidence.expanded = expanded;
    let asked = one_line(&model.turns.current()[at].exchange().query, 60);
    let (n, count) = (at + 1, last + 1);
    model.inform(&format!("Panes show run {n} of {count}: {asked}"));
}

/// Clears the question; the second time in a row it leaves.
pub fn quit(model: &mut Model) -> Option<Effect> {
    if std::mem::replace(&mut model.leaving, true) {
        return Some(Effect::Quit);
    }
    let key = model.keymap.name_of(Action::Quit).unwrap_or_default();
    if model.prompt.is_empty() {
        model.inform(&format!("{key} again leaves."));
    } else {
        let edited = model.editing.take().map(|edit| edit.typed);
        let typed = edited.into_iter().chain([model.prompt.text()]);
        typed
            .filter(|text| !text.is_empty())
            .for_each(|text| model.prompt.remember(&text));
        model.prompt.set("");
        model.inform(&format!(
            "Question cleared; ↑ brings it back. {key} again leaves."
        ));
    }
    None
}

/// Has the terminal report the mouse, or leaves it to select text by itself.
pub fn report(model: &mut Model, wanted: bool) -> Effect {
    model.mouse = wanted;
    let key = model.keymap.name_of(Action::Mouse).unwrap_or_default();
    let words = if wanted {
        "The mouse works here again.".to_owned()
    } else {
        format!("The mouse is the terminal's: select text with it. {key} takes it back.")
    };
    model.inform(&words);
    Effect::ReportMouse(wanted)
}

// What is selected in the path pane, and what of the other panes belongs to it.

/// Moves the selection.
pub fn step_item(model: &mut Model, by: impl Fn(&mut List)) {
    let current = path::current(model);
    let at = PathItem::ALL.iter().position(|item| *item == current);
    let mut list = List::default();
    list.selected = at.unwrap_or(0);
    by(&mut list);
    let lowest = PathItem::ALL.len() - 1;
    select_item(model, PathItem::ALL[list.selected.min(lowest)]);
}

/// Selects; the audit pane goes to the node's last visit, the evidence pane to what it touched.
pub fn select_item(model: &mut Model, item: PathItem) {
    model.path.selected = Some(item);
    let PathItem::Node(node) = item else {
        return;
    };
    let lines: Vec<_> = model.audit_lines().collect();
    let is_of = |line: &AuditLine<'_>| line.rows().iter().any(|row| row.node == Some(node));
    let begins = |row: &AuditRow| matches!(row.body(), EventBody::NodeEntered { .. });
    let enters = |line: &AuditLine<'_>| is_of(line) && line.first().is_some_and(begins);
    let first = lines.iter().rposition(enters);
    let first = first.or_else(|| lines.iter().position(is_of));
    if let Some(first) = first {
        model.audit.list.selected = first;
        // The node's events begin at the top, where they have room.
        model.audit.list.top = first;
        model.audit.left_end = true;
    }
    let touched: HashSet<_> = touched_by(model, node).into_iter().cloned().collect();
    show_evidence(model, |id| touched.contains(id));
}

/// Selects the first of these items in the evidence pane, if there is one.
pub fn show_evidence(model: &mut Model, is_wanted: impl Fn(&EvidenceId) -> bool) {
    let mut runs = model.shown_run().into_iter();
    let item = runs.find_map(|run| run.evidence.rows().position(|row| is_wanted(&row.id)));
    if let Some(item) = item {
        model.evidence.list.selected = item;
    }
}

/// Nothing is selected any more; the audit pane follows the run again.
pub fn unlink(model: &mut Model) {
    if model.path.selected.take().is_some() {
        model.audit.left_end = false;
    }
}

/// The items that a node added, dropped, brought back, sent or cited.
fn touched_by(model: &Model, node: NodeName) -> HashSet<&EvidenceId> {
    let rows = model.shown_turn().map(|turn| turn.trail.iter());
    let of_node = rows.into_iter().flatten();
    let is_grading = |row: &AuditRow| matches!(row.body(), EventBody::EvidenceGraded { .. });
    let of_node = of_node.filter(|row| row.node == Some(node) && !is_grading(row));
    of_node.flat_map(AuditRow::evidence).collect()
}

/// The events of the line that is selected in the audit pane, once the selection was moved there.
fn selected_events(model: &Model) -> Option<AuditLine<'_>> {
    if model.focus != Pane::Audit || !model.audit.left_end {
        return None;
    }
    let at = model.audit.list.selected;
    model.audit_lines().nth(at)
}

/// The items that the selected line of the audit pane speaks of.
pub fn touched(model: &Model) -> HashSet<EvidenceId> {
    let line = selected_events(model);
    let rows = line.iter().flat_map(|line| line.rows());
    rows.flat_map(|row| row.evidence()).cloned().collect()
}

/// Which of a pane's drawn rows belong to what is selected elsewhere; in the chat, to the run that is
/// shown.
pub fn marked_rows(model: &Model, pane: Pane) -> Vec<usize> {
    match (pane, selected_events(model), model.path.selected) {
        (Pane::Chat, ..) => chat::rows_of_shown(model),
        (Pane::Path, Some(line), _) => {
            let node = line.first().and_then(|row| row.node).map(PathItem::Node);
            let place = node.map(PathItem::place);
            model.path.drawn.rows_where(|item| Some(item) == place)
        }
        (Pane::Evidence, Some(line), _) => {
            let touched = line.rows().iter().flat_map(AuditRow::evidence);
            rows_of_items(model, &touched.collect())
        }
        (Pane::Evidence, None, Some(PathItem::Node(node))) => {
            rows_of_items(model, &touched_by(model, node))
        }
        (Pane::Audit, None, Some(PathItem::Node(node))) => {
            let lines: Vec<_> = model.audit_lines().collect();
            let is_of = |row: &AuditRow| row.node == Some(node);
            let drawn = &model.audit.drawn;
            drawn.rows_where(|at| lines.get(at).is_some_and(|l| l.rows().iter().any(is_of)))
        }
        _ => Vec::new(),
    }
}

/// The rows of the evidence pane in which one of these items stands.
fn rows_of_items(model: &Model, wanted: &HashSet<&EvidenceId>) -> Vec<usize> {
    let Some(run) = model.shown_run() else {
        return Vec::new();
    };
    let items: Vec<&EvidenceId> = run.evidence.rows().map(|row| &row.id).collect();
    let is_wanted = |at: usize| items.get(at).is_some_and(|id| wanted.contains(id));
    model.evidence.drawn.rows_where(is_wanted)
}
