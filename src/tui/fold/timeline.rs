//! The lines of the audit pane: events, and several of one kind as one line.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::domain::{KEEP_FROM, ToolName};
use crate::protocol::{EventBody, Timestamp};
use crate::text::duration;
use crate::tui::ink::{grouped_count, measure};

use super::trail::{AuditRow, Level};

/// Fewer events of one kind stand by themselves.
const LEAST_FOLDED: usize = 3;

/// A line of the audit pane.
#[derive(Debug, Clone, Copy)]
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
        rows: &'a [AuditRow],
        /// Whether they stand below.
        unfolded: bool,
    },
}

impl<'a> AuditLine<'a> {
    /// The events that it stands for.
    pub fn rows(self) -> &'a [AuditRow] {
        match self {
            Self::Event { row, .. } => std::slice::from_ref(row),
            Self::Group { rows, .. } => rows,
        }
    }

    /// The first of them.
    pub fn first(self) -> Option<&'a AuditRow> {
        self.rows().first()
    }

    /// Whether it asks for attention.
    pub fn is_alarming(self) -> bool {
        self.rows()
            .iter()
            .any(|row| matches!(row.level, Level::Warning | Level::Error))
    }

    /// Whether this line shows that event: an unfolded group leaves that to the lines below it.
    pub fn shows(self, key: (Timestamp, u64)) -> bool {
        match self {
            Self::Event { row, .. } => row.key() == key,
            Self::Group { rows, unfolded } => !unfolded && rows.iter().any(|row| row.key() == key),
        }
    }
}

/// The events of a run in their order, and which of them are of one kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AuditTrail {
    rows: Vec<AuditRow>,
    /// Where a stretch of one kind begins.
    starts: Vec<usize>,
}

impl AuditTrail {
    /// Appends a row.
    pub fn push(&mut self, row: AuditRow) {
        let last = self.rows.last();
        if !last.is_some_and(|last| is_of_one_kind(last, &row)) {
            self.starts.push(self.rows.len());
        }
        self.rows.push(row);
    }

    /// The lines of the audit pane; groups that hold one of `unfolded` show their events.
    pub fn lines<'a>(
        &'a self,
        unfolded: &'a BTreeSet<(Timestamp, u64)>,
    ) -> impl Iterator<Item = AuditLine<'a>> {
        let ends = self.starts.iter().skip(1).copied();
        let ends = ends.chain(std::iter::once(self.rows.len()));
        let stretches = self.starts.iter().zip(ends);
        stretches.flat_map(move |(start, end)| {
            let rows = &self.rows[*start..end];
            let is_group = rows.len() >= LEAST_FOLDED;
            let is_unfolded = is_group
                && !unfolded.is_empty()
                && rows.iter().any(|row| unfolded.contains(&row.key()));
            let head = is_group.then_some(AuditLine::Group {
                rows,
                unfolded: is_unfolded,
            });
            let events = if is_group && !is_unfolded { &[] } else { rows };
            let events = events.iter().map(move |row| AuditLine::Event {
                row,
                in_group: is_group,
            });
            head.into_iter().chain(events)
        })
    }
}

impl Deref for AuditTrail {
    type Target = [AuditRow];

    fn deref(&self) -> &[AuditRow] {
        &self.rows
    }
}

/// Warnings and decisions always stand by themselves.
fn is_of_one_kind(one: &AuditRow, next: &AuditRow) -> bool {
    let is_plain = |row: &AuditRow| row.level == Level::Plain;
    one.name == next.name && one.node == next.node && is_plain(one) && is_plain(next)
}

/// What events of one kind have in common, on one line.
pub fn group_summary(rows: &[AuditRow]) -> String {
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
        words.push(grouped_count(items as u64, "item", "items"));
    }
    if let Some((least, most)) = range(times) {
        words.push(span(&duration(least), &duration(most)));
    }
    words.join(" · ")
}

/// `hybrid_search ×2`, for each tool.
fn tools(rows: &[AuditRow]) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::protocol::Event;
    use crate::tui::fold::RunView;

    #[test]
    fn events_that_come_one_by_one_fold_as_all_of_them_do() {
        let lines = include_str!("../../../tests/it/fixtures/picture.jsonl").lines();
        let events: Vec<Arc<Event>> = lines.map(|l| serde_json::from_str(l).unwrap()).collect();
        let mut run = RunView::begin(&events[0]).unwrap();
        let (mut trail, mut unfolded, mut folded) = (AuditTrail::default(), BTreeSet::new(), 0);
        for event in &events {
            let Some(row) = AuditRow::from_event(event, &run) else {
                run.apply(event);
                continue;
            };
            run.apply(event);
            trail.push(row);
            let mut expected = Vec::new();
            for rows in trail.chunk_by(is_of_one_kind) {
                let is_group = rows.len() >= LEAST_FOLDED;
                let is_unfolded = rows.iter().any(|row| unfolded.contains(&row.key()));
                let keys: Vec<_> = rows.iter().map(AuditRow::key).collect();
                if is_group {
                    expected.push((keys.clone(), true));
                }
                if !is_group || is_unfolded {
                    expected.extend(keys.iter().map(|key| (vec![*key], false)));
                }
            }
            let lines = trail.lines(&unfolded).map(|line| {
                let keys = line.rows().iter().map(AuditRow::key).collect();
                (keys, matches!(line, AuditLine::Group { .. }))
            });
            let lines: Vec<(Vec<_>, bool)> = lines.collect();
            assert_eq!(lines, expected);
            // Every second group is unfolded as soon as it is one.
            let groups = lines.iter().filter(|(_, is_group)| *is_group);
            folded = groups.clone().count();
            unfolded.extend(groups.skip(1).step_by(2).map(|(keys, _)| keys[0]));
        }
        assert!(folded > 1 && !unfolded.is_empty());
    }
}
