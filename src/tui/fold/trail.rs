//! One line for each event, for the audit pane.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::domain::{
    EvidenceId, GradedBy, KEEP_FROM, NodeName, Outcome, ToolName, dollars, measures_in_words,
    spoken_reasons,
};
use crate::protocol::{Event, EventBody, EvidenceItem, Mode, RunEnd, Timestamp};
use crate::text::{duration, one_line, sanitize};
use crate::tui::ink::{grouped, grouped_count, grouped_plural, measure};

use super::RunView;
use super::run::Grading;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The event is as expected.
    Plain,
    /// A decision that saved or cost something.
    Decision,
    /// Not as it should be.
    Warning,
    /// The run broke.
    Error,
}

/// An event as the audit pane lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRow {
    /// Time of the event.
    pub ts: Timestamp,
    /// The `event` field.
    pub name: &'static str,
    /// How much it matters.
    pub level: Level,
    /// The rest on one line, clean.
    pub summary: String,
    /// The node that it is of.
    pub node: Option<NodeName>,
    event: Arc<Event>,
}

impl AuditRow {
    /// The line for an event, by the run before it; what passes has none, as in the audit log.
    pub fn from_event(event: &Arc<Event>, run: &RunView) -> Option<Self> {
        if event.body.is_passing() {
            return None;
        }
        Some(Self {
            ts: event.ts,
            name: event.body.name(),
            level: level(&event.body),
            summary: one_line(&summary(&event.body, run), 400),
            node: node(&event.body, run),
            event: event.clone(),
        })
    }

    /// What happened.
    pub fn body(&self) -> &EventBody {
        &self.event.body
    }

    /// Its place in the run.
    pub fn seq(&self) -> u64 {
        self.event.seq
    }

    /// The event itself.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Which row of all runs it is.
    pub fn key(&self) -> (Timestamp, u64) {
        (self.ts, self.event.seq)
    }

    /// The items of evidence that it speaks of.
    pub fn evidence(&self) -> Vec<&EvidenceId> {
        match &self.event.body {
            EventBody::EvidenceAdded { items } => items.iter().map(|item| &item.id).collect(),
            EventBody::EvidenceGraded { scores, .. } => {
                scores.iter().map(|score| &score.id).collect()
            }
            EventBody::EvidenceRemoved { id, .. } => vec![id],
            EventBody::EvidenceNumbered { items } => items.iter().map(|item| &item.id).collect(),
            EventBody::AnswerFinished { citations, .. } => {
                citations.iter().map(|citation| &citation.id).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether it asks for attention.
    pub fn is_alarming(&self) -> bool {
        matches!(self.level, Level::Warning | Level::Error)
    }

    /// The event as the log holds it, indented, clean.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(&*self.event)
            .map(|json| sanitize(&json).into_owned())
            .unwrap_or_default()
    }
}

fn node(body: &EventBody, run: &RunView) -> Option<NodeName> {
    match body {
        EventBody::NodeEntered { node, .. }
        | EventBody::NodeFinished { node, .. }
        | EventBody::ModelCalled { node, .. }
        | EventBody::Waiting { node, .. }
        | EventBody::RouteDecided { from: node, .. } => Some(*node),
        EventBody::RunStarted { .. } | EventBody::RunFinished { .. } => None,
        _ => run.active(),
    }
}

fn level(body: &EventBody) -> Level {
    match body {
        EventBody::ModelCalled {
            reply: None,
            prompt: Some(_),
            ..
        }
        | EventBody::Warning { .. }
        | EventBody::ToolFinished { error: Some(_), .. } => Level::Warning,
        EventBody::RunFinished {
            outcome: Outcome::Failed,
            ..
        } => Level::Error,
        EventBody::RouteDecided { .. }
        | EventBody::FastPathHit { .. }
        | EventBody::EvidenceGraded { .. } => Level::Decision,
        _ => Level::Plain,
    }
}

#[allow(clippy::too_many_lines)] // one arm an event; two halves would read worse
fn summary(body: &EventBody, run: &RunView) -> String {
    let (evidence, mode) = (&run.evidence, run.mode);
    match body {
        EventBody::RunStarted {
            query,
            forced_route,
            place,
            rerun,
            ..
        } => {
            let again = match (rerun, place) {
                (Some(rerun), _) => rerun.in_words() + ": ",
                (None, place) if place.retry_of.is_some() => "again: ".to_owned(),
                (None, place) if place.edit_of.is_some() => "edited: ".to_owned(),
                (None, _) => String::new(),
            };
            match forced_route {
                Some(route) => format!("{again}{query} (route: {})", route.as_str()),
                None => format!("{again}{query}"),
            }
        }
        EventBody::NodeEntered { node, iteration } => match node.round(*iteration) {
            None | Some(1) => node.to_string(),
            Some(round) => format!("{node} · round {round}"),
        },
        EventBody::NodeFinished {
            node,
            ms,
            reasoning_calls,
            ..
        } => {
            let (time, calls) = (duration(*ms), mode.calls(*reasoning_calls));
            format!("{node} · {time} · {calls}")
        }
        EventBody::ModelCalled {
            node,
            model,
            ms,
            prompt_tokens,
            completion_tokens,
            retries,
            prompt,
            reply,
            ..
        } => {
            let mut parts = vec![node.to_string(), model.clone(), duration(*ms)];
            if let (Some(sent), Some(got)) = (prompt_tokens, completion_tokens) {
                parts.push(format!("{} + {} tok", grouped(*sent), grouped(*got)));
            }
            if *retries > 0 {
                parts.push(grouped_count(u64::from(*retries), "retry", "retries"));
            }
            // Where neither is kept (any more), that is not known.
            if prompt.is_some() && reply.is_none() {
                parts.push("no reply".to_owned());
            }
            parts.join(" · ")
        }
        EventBody::RouteDecided { from, to, reason } => {
            format!("{} · {from} → {to}", reason.as_str())
        }
        EventBody::RoutingPlan { plan, because, .. } => {
            let tools: Vec<_> = plan.suggested_tools.iter().map(|t| t.as_str()).collect();
            let mut parts = vec![plan.complexity.as_str().to_owned()];
            if !plan.sub_questions.is_empty() {
                parts.push(format!("{} parts", plan.sub_questions.len()));
            }
            parts.extend((!tools.is_empty()).then(|| tools.join(", ")));
            parts.extend(spoken_reasons(because).map(str::to_owned));
            parts.extend(measures_in_words(because));
            parts.join(" · ")
        }
        EventBody::ToolCalled { call, .. } => format!("{} · {}", call.tool(), call.subject()),
        EventBody::ToolFinished {
            call,
            items,
            ms,
            error,
            ..
        } => {
            let (tool, items) = (call.tool(), grouped_plural(*items, "item"));
            let failed = error
                .as_ref()
                .map(|error| format!("{tool} · failed: {error}"));
            failed.unwrap_or_else(|| format!("{tool} · {items} · {}", duration(*ms)))
        }
        EventBody::EvidenceAdded { items } => {
            let place = |item: &EvidenceItem| format!("{}:{}", item.source, item.location());
            let sources: Vec<_> = items.iter().map(place).collect();
            let sources = sources.join(", ");
            let known = |item: &&EvidenceItem| evidence.place(&item.id).is_some();
            // Found again, grown or brought back is not one more.
            match (items.iter().filter(known).count(), items.len()) {
                (0, new) => format!("{new} · {sources}"),
                (known, all) => format!("{} new, {known} known · {sources}", all - known),
            }
        }
        EventBody::FastPathHit {
            path_type,
            rule_name,
            ..
        } => format!("{} · {rule_name}", path_type.as_str()),
        EventBody::EvidenceGraded {
            scores,
            average,
            action,
            by,
        } => {
            let grading = Grading::new(scores, *average, *action, *by);
            let mut items = grouped_plural(scores.len(), "item");
            if grading.not_looked_at > 0 {
                items.push_str(&format!(", {} not looked at", grading.not_looked_at));
            }
            let action = action.as_str();
            // What a rule decided, or what was never measured, is no average.
            match by {
                GradedBy::Rule(rule) => format!("{action} · {items} · by rule {}", rule.as_str()),
                GradedBy::Fallback => format!("{action} · {items} · by fallback 0.50"),
                GradedBy::Grader | GradedBy::Hand | GradedBy::NoEvidence => {
                    let average = grading.measured();
                    format!("{action} · avg {average} · {items} · by {}", by.as_str())
                }
            }
        }
        EventBody::EvidenceRemoved {
            id,
            score,
            not_looked_at,
        } => {
            let place = evidence.place(id).unwrap_or_else(|| id.to_string());
            let grade = measure(score.value());
            if *not_looked_at {
                format!("{place} · not looked at")
            } else if score.value() < KEEP_FROM {
                format!("{place} · {grade} < {KEEP_FROM:.2}")
            } else {
                // A run begins without what was taken out of the context of the one before it.
                format!("{place} · dropped by hand, graded {grade}")
            }
        }
        EventBody::EvidenceNumbered { items } => {
            let places = items.iter().map(|item| {
                let place = evidence.place(&item.id);
                let place = place.unwrap_or_else(|| item.id.to_string());
                format!("[{}] {place}", item.n)
            });
            let places: Vec<_> = places.collect();
            format!("{} sent · {}", items.len(), places.join(", "))
        }
        EventBody::Waiting { node, wait } => wait.line_of(Some(*node), 0.0),
        EventBody::AnswerDelta { text, .. } => text.clone(),
        EventBody::AnswerFinished {
            text,
            citations,
            confidence,
            ..
        } => {
            let length = grouped_plural(text.chars().count(), "character");
            let mut text = format!("{length} · {}", grouped_plural(citations.len(), "citation"));
            if let Some(confidence) = confidence {
                let _ = write!(text, " · {confidence}");
            }
            text
        }
        EventBody::Warning { code, message } => format!("{code}: {message}"),
        EventBody::RunFinished { .. } => {
            RunEnd::from_body(body).map_or_else(String::new, |end| run_end_text(end, mode))
        }
    }
}

/// Outcome, calls or steps, time and cost.
fn run_end_text(end: RunEnd, mode: Mode) -> String {
    let (calls, time) = (mode.calls(end.calls), duration(end.ms));
    let outcome = end.outcome.as_str();
    let mut text = format!("{outcome} · {calls} · saved {} · {time}", end.saved);
    let tokens = end.tokens();
    if tokens > 0 {
        let tokens = grouped(tokens);
        let about = if end.spent.estimated { "~" } else { "" };
        let _ = write!(text, " · {about}{tokens} tok");
        if let Some(cost) = end.spent.cost_usd {
            let _ = write!(text, " · {about}{}", dollars(cost));
        }
    }
    if let Some(error) = end.error {
        let _ = write!(text, " · {error}");
    }
    text
}

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
        self.rows().iter().any(AuditRow::is_alarming)
    }

    /// Whether this line shows that event: an unfolded group leaves that to the lines below it.
    pub fn shows(self, key: (Timestamp, u64)) -> bool {
        match self {
            Self::Event { row, .. } => row.key() == key,
            Self::Group { rows, unfolded } => !unfolded && rows.iter().any(|row| row.key() == key),
        }
    }
}

/// The lines of the audit pane for these events; groups that hold one of `unfolded` show their events.
pub fn audit_lines<'a>(
    rows: &'a [AuditRow],
    unfolded: &'a BTreeSet<(Timestamp, u64)>,
) -> impl Iterator<Item = AuditLine<'a>> {
    rows.chunk_by(is_of_one_kind).flat_map(move |rows| {
        let is_group = rows.len() >= LEAST_FOLDED;
        let is_unfolded = is_group && rows.iter().any(|row| unfolded.contains(&row.key()));
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

/// Warnings and decisions always stand by themselves.
fn is_of_one_kind(one: &AuditRow, next: &AuditRow) -> bool {
    let is_plain = |row: &AuditRow| row.level == Level::Plain;
    one.name == next.name && one.node == next.node && is_plain(one) && is_plain(next)
}

/// Between which grades items were removed, and how many for another reason.
fn summary_of_removed(rows: &[AuditRow]) -> Option<String> {
    let removed = rows.iter().filter_map(|row| match row.body() {
        EventBody::EvidenceRemoved {
            score,
            not_looked_at,
            ..
        } => Some((!not_looked_at).then_some(score.value())),
        _ => None,
    });
    let not_looked_at = removed.clone().filter(Option::is_none).count();
    let (low, by_hand): (Vec<f64>, Vec<f64>) = removed.flatten().partition(|it| *it < KEEP_FROM);
    let low = range(low.into_iter()).map(|(least, most)| {
        let span = span(&measure(least), &measure(most));
        format!("{span} < {KEEP_FROM:.2}")
    });
    let counted = [
        (by_hand.len(), "dropped by hand"),
        (not_looked_at, "not looked at"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let said: Vec<String> = low
        .into_iter()
        .chain(counted.map(|(count, why)| format!("{count} {why}")))
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// What events of one kind have in common, on one line.
pub fn group_summary(rows: &[AuditRow]) -> String {
    if let Some(summary) = summary_of_removed(rows) {
        return summary;
    }
    let times = rows.iter().filter_map(|row| match row.body() {
        EventBody::ToolFinished { ms, .. }
        | EventBody::ModelCalled { ms, .. }
        | EventBody::NodeFinished { ms, .. } => Some(*ms),
        _ => None,
    });
    let mut words = tools(rows);
    let items = rows.iter().map(|row| match row.body() {
        EventBody::ToolFinished { items, .. } => *items,
        EventBody::EvidenceAdded { items } => items.len(),
        _ => 0,
    });
    let items: usize = items.sum();
    if items > 0 {
        words.push(grouped_plural(items, "item"));
    }
    if let Some((least, most)) = range(times) {
        words.push(span(&duration(least), &duration(most)));
    }
    words.join(" · ")
}

/// `hybrid_search ×2`, for each tool.
fn tools(rows: &[AuditRow]) -> Vec<String> {
    let called = rows.iter().filter_map(|row| match row.body() {
        EventBody::ToolCalled { call, .. } | EventBody::ToolFinished { call, .. } => {
            Some(call.tool())
        }
        _ => None,
    });
    let called: Vec<ToolName> = called.collect();
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
    let more = Some(most).filter(|most| *most != least);
    more.map_or_else(|| least.to_owned(), |most| format!("{least}–{most}"))
}

#[cfg(test)]
mod timeline_tests {
    use std::sync::Arc;

    use super::*;
    use crate::protocol::Event;
    use crate::tui::fold::RunView;

    #[test]
    fn events_that_come_one_by_one_fold_as_all_of_them_do() {
        let lines = include_str!("../../../tests/it/fixtures/picture.jsonl").lines();
        let events: Vec<Arc<Event>> = lines.map(|l| serde_json::from_str(l).unwrap()).collect();
        let mut run = RunView::begin(&events[0]).unwrap();
        let (mut trail, mut unfolded, mut folded) = (Vec::new(), BTreeSet::new(), 0);
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
            let lines = audit_lines(&trail, &unfolded).map(|line| {
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
