//! What is selected in the path pane, and what of the other panes belongs to it.

use std::collections::HashSet;

use ratatui::layout::Size;

use crate::domain::{EvidenceId, NodeName};
use crate::protocol::EventBody;

use super::fold::AuditRow;
use super::layout::Pane;
use super::list::List;
use super::model::Model;
use super::panes::graph::PathItem;
use super::panes::{audit, evidence, path};

/// Moves the selection.
pub fn step(model: &mut Model, by: impl Fn(&mut List, usize)) {
    let current = path::current(model);
    let at = PathItem::ALL.iter().position(|item| *item == current);
    let mut list = List::default();
    list.selected = at.unwrap_or(0);
    by(&mut list, PathItem::ALL.len());
    let lowest = PathItem::ALL.len() - 1;
    select(model, PathItem::ALL[list.selected.min(lowest)]);
}

/// Selects; the audit pane goes to the node's last visit, the evidence pane to what it touched.
pub fn select(model: &mut Model, item: PathItem) {
    model.path.selected = Some(item);
    let PathItem::Node(node) = item else {
        return;
    };
    let rows = model.audit_rows();
    let enters = |row: &&AuditRow| {
        row.node == Some(node) && matches!(row.body(), EventBody::NodeEntered { .. })
    };
    let first = rows
        .iter()
        .rposition(enters)
        .or_else(|| rows.iter().position(|row| row.node == Some(node)));
    if let Some(first) = first {
        model.audit.list.selected = first;
        // The node's events begin at the top, where they have room.
        model.audit.list.top = first;
        model.audit.left_end = true;
    }
    let touched = touched_by(model, node);
    let items = model.shown_run().map(|run| &run.evidence);
    let item = items.and_then(|items| items.rows().position(|row| touched.contains(&row.id)));
    if let Some(item) = item {
        model.evidence.list.selected = item;
    }
}

/// Nothing is selected any more; the audit pane follows the run again.
pub fn end(model: &mut Model) {
    if model.path.selected.take().is_some() {
        model.audit.left_end = false;
    }
}

/// The items that a node added, dropped, brought back or sent.
fn touched_by(model: &Model, node: NodeName) -> HashSet<&EvidenceId> {
    let rows = model.shown_turn().map(|turn| turn.trail.iter());
    let of_node = rows.into_iter().flatten();
    of_node
        .filter(|row| row.node == Some(node))
        .flat_map(|row| -> Vec<&EvidenceId> {
            match row.body() {
                EventBody::EvidenceAdded { items } => items.iter().map(|item| &item.id).collect(),
                EventBody::EvidenceRemoved { id, .. } => vec![id],
                EventBody::EvidenceNumbered { items } => {
                    items.iter().map(|item| &item.id).collect()
                }
                _ => Vec::new(),
            }
        })
        .collect()
}

/// Which of a pane's drawn rows belong to the selected node.
pub fn marked_rows(model: &Model, pane: Pane, size: Size) -> Vec<usize> {
    let Some(PathItem::Node(node)) = model.path.selected else {
        return Vec::new();
    };
    let height = usize::from(size.height);
    match pane {
        Pane::Audit => {
            let reserved = audit::reserved(model);
            let rows = model.audit_rows().into_iter().skip(model.audit.list.top);
            let seen = rows.take(height.saturating_sub(reserved)).enumerate();
            seen.filter(|(_, row)| row.node == Some(node))
                .map(|(at, _)| at + reserved)
                .collect()
        }
        Pane::Evidence => {
            let Some(run) = model.shown_run() else {
                return Vec::new();
            };
            let touched = touched_by(model, node);
            let items: Vec<&EvidenceId> = run.evidence.rows().map(|row| &row.id).collect();
            let is_touched = |row: &usize| {
                let item = evidence::item_at(model, size, *row);
                item.and_then(|at| items.get(at))
                    .is_some_and(|id| touched.contains(id))
            };
            (0..height).filter(is_touched).collect()
        }
        Pane::Chat | Pane::Path => Vec::new(),
    }
}
