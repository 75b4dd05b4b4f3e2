//! The lines of the audit pane: events, and several of one kind as one line.

use std::collections::BTreeSet;

use crate::domain::{KEEP_FROM, ToolName};
use crate::protocol::{EventBody, Timestamp};
use crate::text::duration;
use crate::tui::ink::{counted, measure};

use super::trail::{AuditRow, Level};

/// Fewer events of one kind stand by themselves.
const LEAST_FOLDED: usize = 3;

/// A line of the audit pane.
#[derive(Debug, Clone)]
pub enum AuditLine<'a> {
    /// An event.
    Event {
        /// The event.
        row: &'a AuditRow,
        /// Whether it is one of an unfolded group.
        in_group: bool,
    },
    /// Events of one kind, one right after the other.
    Group {
        /// The events.
        rows: Vec<&'a AuditRow>,
        /// Whether they stand below.
        unfolded: bool,
    },
}

impl<'a> AuditLine<'a> {
    /// The events that it stands for.
    pub fn rows(&self) -> &[&'a AuditRow] {
        match self {
            Self::Event { row, .. } => std::slice::from_ref(row),
            Self::Group { rows, .. } => rows,
        }
    }

    /// The first of them.
    pub fn first(&self) -> Option<&'a AuditRow> {
        self.rows().first().copied()
    }

    /// Whether it asks for attention.
    pub fn is_alarming(&self) -> bool {
        self.rows()
            .iter()
            .any(|row| matches!(row.level, Level::Warning | Level::Error))
    }

    /// Whether this line shows that event: an unfolded group leaves that to the lines below it.
    pub fn shows(&self, key: (Timestamp, u64)) -> bool {
        match self {
            Self::Event { row, .. } => row.key() == key,
            Self::Group { rows, unfolded } => !unfolded && rows.iter().any(|row| row.key() == key),
        }
    }
}

/// The rows as lines; groups that hold one of `unfolded` show their events.
pub fn audit_lines<'a>(
    rows: &[&'a AuditRow],
    unfolded: &BTreeSet<(Timestamp, u64)>,
) -> Vec<AuditLine<'a>> {
    let mut lines = Vec::new();
    for rows in rows.chunk_by(|one, next| is_of_one_kind(one, next)) {
        let is_group = rows.len() >= LEAST_FOLDED;
        if is_group {
            let unfolded = rows.iter().any(|row| unfolded.contains(&row.key()));
            lines.push(AuditLine::Group {
                rows: rows.to_vec(),
                unfolded,
            });
            if !unfolded {
                continue;
            }
        }
        lines.extend(rows.iter().map(|row| AuditLine::Event {
            row,
            in_group: is_group,
        }));
    }
    lines
}

/// Warnings and decisions always stand by themselves.
fn is_of_one_kind(one: &AuditRow, next: &AuditRow) -> bool {
    let is_plain = |row: &AuditRow| row.level == Level::Plain;
    one.name == next.name && one.node == next.node && is_plain(one) && is_plain(next)
}

/// What events of one kind have in common, on one line.
pub fn group_summary(rows: &[&AuditRow]) -> String {
    let scores = rows.iter().filter_map(|row| match row.body() {
        EventBody::EvidenceRemoved { score, .. } => Some(score.value()),
        _ => None,
    });
    if let Some((least, most)) = range(scores) {
        return format!("{} < {KEEP_FROM:.2}", span(&measure(least), &measure(most)));
    }
    let times = rows.iter().filter_map(|row| match row.body() {
        EventBody::ToolFinished { ms, .. }
        | EventBody::ModelCalled { ms, .. }
        | EventBody::NodeFinished { ms, .. } => Some(*ms),
        _ => None,
    });
    let mut words = tools(rows);
    let items: usize = rows
        .iter()
        .map(|row| match row.body() {
            EventBody::ToolFinished { items, .. } => *items,
            EventBody::EvidenceAdded { items } => items.len(),
            _ => 0,
        })
        .sum();
    if items > 0 {
        words.push(counted(items as u64, "item", "items"));
    }
    if let Some((least, most)) = range(times) {
        words.push(span(&duration(least), &duration(most)));
    }
    words.join(" · ")
}

/// `hybrid_search ×2`, for each tool.
fn tools(rows: &[&AuditRow]) -> Vec<String> {
    let called: Vec<ToolName> = rows
        .iter()
        .filter_map(|row| match row.body() {
            EventBody::ToolCalled { call } | EventBody::ToolFinished { call, .. } => {
                Some(call.tool())
            }
            _ => None,
        })
        .collect();
    ToolName::ALL
        .into_iter()
        .filter_map(|tool| {
            let count = called.iter().filter(|called| **called == tool).count();
            match count {
                0 => None,
                1 => Some(tool.as_str().to_owned()),
                _ => Some(format!("{} ×{count}", tool.as_str())),
            }
        })
        .collect()
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((least, most)) => Some((f64::min(least, value), f64::max(most, value))),
    })
}

fn span(least: &str, most: &str) -> String {
    if least == most {
        least.to_owned()
    } else {
        format!("{least}–{most}")
    }
}
