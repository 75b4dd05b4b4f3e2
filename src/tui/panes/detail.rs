//! What went on in a node, round by round: a fold over its events.

use std::collections::BTreeSet;

use crate::domain::{GradedBy, KEEP_FROM, NodeName, RoutingPlan, ToolCall};
use crate::protocol::{EventBody, ItemScore, Mode, NumberedItem};
use crate::text::{duration, one_line, sanitize};
use crate::tui::fold::{AuditRow, NodeState, RunView, Visit};
use crate::tui::ink::{Ink, Row, grouped, grouped_count, measure};
use crate::tui::model::{Model, OpenRun};
use crate::tui::path_line::PathItem;

use super::node::sign;
use super::page::{DetailLine, INDENT, WindowRows};
use super::savings::savings;
use super::score::band;
use super::why::cue_words;
use super::wording::{broken_off, certainty, reason_ink, short_tool};

/// What stands above the window.
pub fn title(item: PathItem, mode: Mode) -> &'static str {
    match item {
        PathItem::Node(node) => node.as_str(),
        PathItem::Meter if mode == Mode::Offline => "Steps made and saved",
        PathItem::Meter => "Calls made and saved",
    }
}

/// Lays out all rows of the window.
pub fn lines(
    model: &Model,
    item: PathItem,
    unfolded: &BTreeSet<usize>,
    width: usize,
) -> Vec<DetailLine> {
    let mut page = WindowRows::new(unfolded, width);
    match (item, model.shown_turn()) {
        (PathItem::Node(node), Some(turn)) => page.node(turn, node, model),
        (PathItem::Node(node), None) => page.text(Ink::Text, "", purpose(node)),
        (PathItem::Meter, turn) => {
            for row in savings(turn, model) {
                page.row(row);
            }
        }
    }
    page.lines
}

/// What a node is for, where no run can show it.
fn purpose(node: NodeName) -> &'static str {
    match node {
        NodeName::AnalyzeAndRoute => {
            "One call decides what kind of question it is, which way it goes and which tools are \
             worth trying. Small talk goes straight to the answer."
        }
        NodeName::Plan => "Picks the tool calls of the round. It never answers.",
        NodeName::ToolExec => {
            "Makes the planned calls at once and gathers what they find. A simple question is \
             answered from that without grading."
        }
        NodeName::GradeEvidence => {
            "Rules first, then one call that grades every passage from 0 to 1. Below 0.30 a passage \
             is dropped; an average from 0.70 on answers, one below looks for more."
        }
        NodeName::Synthesize => {
            "Writes the answer from the passages that are left, with citations."
        }
    }
}

impl WindowRows<'_> {
    fn node(&mut self, turn: &OpenRun, node: NodeName, model: &Model) {
        let run = &turn.run;
        self.head(run, node, model);
        let visits: Vec<&Visit> = run.visits.iter().filter(|v| v.node == node).collect();
        let rounds = rounds(&turn.trail, node);
        self.parts_of(run, node);
        for (at, events) in rounds.iter().enumerate() {
            let visit = visits.get(at).copied();
            if rounds.len() > 1 {
                self.row(Row::default());
                self.row(Row::new(
                    Ink::Heading,
                    round_title(at, node, visit, run.mode),
                ));
            }
            for (place, row) in events.iter().enumerate() {
                self.event(turn, row.body(), &events[place + 1..]);
            }
            if node == NodeName::Plan {
                self.planned(turn, at);
            }
            if let Some((reason, why)) = visit.and_then(|visit| visit.left.as_ref()) {
                let row = Row::new(Ink::Dim, "  decided  ");
                self.row(row.add(reason_ink(Some(*reason)), why.clone()));
            }
        }
        let failed = run.node(node).state == NodeState::Failed;
        if let Some(error) = run.finish.as_ref().and_then(|end| end.error.as_ref())
            && failed
        {
            self.text(Ink::Failed, "  ", &format!("× {error}"));
        }
    }

    fn head(&mut self, run: &RunView, node: NodeName, model: &Model) {
        let view = run.node(node);
        let (sign, ink) = sign(view.state, model.frame);
        let state = match view.state {
            NodeState::Waiting => "not reached yet".to_owned(),
            NodeState::Running => "at work".to_owned(),
            NodeState::Done => "done".to_owned(),
            NodeState::Skipped(why) => format!("skipped: {why}"),
            NodeState::Stopped | NodeState::Failed => broken_off(view.state, view.ms),
        };
        let mut row = Row::new(ink, format!("{sign} {state}"));
        if view.state == NodeState::Done {
            row.push(Ink::Dim, format!(" · {}", duration(view.ms)));
        }
        if view.visits > 1 {
            row.push(Ink::Running, format!(" · ↺ {}", view.visits));
        }
        if view.calls > 0 {
            let calls = run.mode.calls(view.calls);
            row.push(Ink::Dim, format!(" · {calls}"));
        }
        if let Some(tokens) = view.tokens.filter(|tokens| *tokens > 0) {
            row.push(Ink::Dim, format!(" · {} tok", grouped(tokens)));
        }
        self.row(row);
    }

    /// The parts of the question, where they are worked on.
    fn parts_of(&mut self, run: &RunView, node: NodeName) {
        let parts = run.plan.iter().flat_map(|plan| &plan.sub_questions);
        if node == NodeName::Plan {
            for (at, part) in parts.enumerate() {
                let row = Row::new(Ink::Dim, format!("  part {}   ", at + 1));
                let row = row.add(Ink::Text, one_line(part, 400));
                self.below(&row);
            }
        }
    }

    /// The calls that a plan led to: those of the next visit of `tool_exec`.
    fn planned(&mut self, turn: &OpenRun, round: usize) {
        let rounds = rounds(&turn.trail, NodeName::ToolExec);
        for row in rounds.get(round).into_iter().flatten() {
            if let EventBody::ToolCalled { call } = row.body() {
                self.call("  planned  ", call);
            }
        }
    }

    fn call(&mut self, before: &str, call: &ToolCall) {
        let args = serde_json::to_value(call).map(|value| value["args"].to_string());
        let row = Row::new(Ink::Dim, before)
            .add(Ink::Text, short_tool(call.tool()))
            .add(
                Ink::Dim,
                format!(" {}", sanitize(&args.unwrap_or_default())),
            );
        self.below(&row);
    }

    /// How a call ended, as a later event tells.
    fn push_call_end(&mut self, call: &ToolCall, after: &[&AuditRow], goes_on: bool) {
        let end = after.iter().find_map(|row| match row.body() {
            EventBody::ToolFinished {
                call: ended,
                items,
                ms,
                error,
                ..
            } if ended == call => Some((*items, *ms, error)),
            _ => None,
        });
        match end {
            Some((_, ms, Some(error))) => {
                let line = format!("⚠ {} · {}", sanitize(error), duration(ms));
                self.wrapped(&Row::new(Ink::Warning, line), INDENT, None);
            }
            Some((items, ms, None)) => {
                let items = grouped_count(items as u64, "item", "items");
                let line = format!("{INDENT}{items} · {}", duration(ms));
                self.row(Row::new(Ink::Dim, line));
            }
            None if goes_on => self.row(Row::new(Ink::Running, format!("{INDENT}at work"))),
            None => self.row(Row::new(Ink::Dim, format!("{INDENT}not ended"))),
        }
    }

    fn event(&mut self, turn: &OpenRun, body: &EventBody, after: &[&AuditRow]) {
        let evidence = &turn.run.evidence;
        match body {
            EventBody::RoutingPlan { plan, because } => {
                self.plan(plan);
                for cue in because {
                    self.row(Row::new(Ink::Dim, "  because  ").join(cue_words(cue)));
                }
            }
            EventBody::ToolCalled { call } => {
                self.call("  called   ", call);
                self.push_call_end(call, after, turn.run.finish.is_none());
            }
            EventBody::EvidenceAdded { items } => {
                for item in items {
                    let place = format!("{}:{}", one_line(&item.source, 200), item.location());
                    let row = Row::new(Ink::Dim, "  found    ")
                        .add(Ink::Citation, place)
                        .add(
                            Ink::Dim,
                            format!("  {} match {}", short_tool(item.tool), item.score),
                        );
                    self.row(row);
                }
            }
            EventBody::FastPathHit { rule_name, .. } => {
                let row = Row::new(Ink::Dim, "  by rule  ");
                self.row(row.add(Ink::Unmeasured, one_line(rule_name, 80)));
            }
            EventBody::EvidenceGraded {
                scores,
                average,
                action,
                by,
            } => {
                let row = Row::new(Ink::Dim, "  verdict  ").add(Ink::Text, action.as_str());
                let call = turn.run.mode.call();
                let by = match by {
                    GradedBy::Grader => format!(", average {} by the grader", measure(*average)),
                    GradedBy::Rule(rule) => {
                        format!(", by rule {}: no {call}", rule.as_str())
                    }
                    GradedBy::Fallback => ", the reply could not be read: 0.50 each".to_owned(),
                    GradedBy::NoEvidence => format!(", there is no evidence: no {call}"),
                };
                self.row(row.add(Ink::Dim, by));
                if body_is_measured(body) {
                    self.scores(scores, turn);
                }
            }
            EventBody::EvidenceNumbered { items } => {
                let place = |item: &NumberedItem| evidence.place(&item.id);
                for item in items {
                    let row = Row::new(Ink::Dim, "  sent     ");
                    let row = row.add(Ink::Citation, format!("[{}] ", item.n));
                    self.row(row.add(Ink::Text, place(item).unwrap_or_default()));
                }
            }
            EventBody::AnswerFinished {
                text,
                citations,
                confidence,
                ..
            } => {
                let length = grouped_count(text.chars().count() as u64, "character", "characters");
                let cited = grouped_count(citations.len() as u64, "citation", "citations");
                self.row(Row::new(Ink::Dim, format!("  answered {length} · {cited}")));
                if let Some(confidence) = confidence {
                    let row = Row::new(Ink::Dim, "  right?   ").join(certainty(confidence.level()));
                    self.row(row.add(Ink::Dim, format!(" {:.2}", confidence.value())));
                }
            }
            EventBody::Warning { message, .. } => {
                self.text(Ink::Warning, "  ", &format!("⚠ {}", sanitize(message)));
            }
            EventBody::ModelCalled { .. } => self.model_call(body),
            _ => {}
        }
    }

    fn plan(&mut self, plan: &RoutingPlan) {
        let tools: Vec<_> = plan.suggested_tools.iter().map(|t| t.as_str()).collect();
        let kind = serde_json::to_value(plan.query_type).unwrap_or_default();
        for (name, value) in [
            ("route", plan.complexity.as_str().to_owned()),
            ("type", kind.as_str().unwrap_or_default().replace('_', " ")),
            ("tools", tools.join(", ")),
            ("words", plan.grep_keywords.join(", ")),
        ] {
            if !value.is_empty() {
                let row = Row::new(Ink::Dim, format!("  {name:<8} "));
                self.wrapped(&row.add(Ink::Text, sanitize(&value).into_owned()), "", None);
            }
        }
        for (at, part) in plan.sub_questions.iter().enumerate() {
            let row = Row::new(Ink::Dim, format!("  part {}   ", at + 1));
            self.below(&row.add(Ink::Text, one_line(part, 400)));
        }
    }

    fn scores(&mut self, scores: &[ItemScore], turn: &OpenRun) {
        for graded in scores {
            let value = graded.score.value();
            let place = turn.run.evidence.place(&graded.id).unwrap_or_default();
            let mut row = Row::new(Ink::Dim, INDENT)
                .add(band(value), format!("{:<6}", measure(value)))
                .add(Ink::Text, place);
            if value < KEEP_FROM {
                row.push(Ink::Dropped, format!("  dropped, below {KEEP_FROM:.2}"));
            }
            self.row(row);
        }
    }
}

fn body_is_measured(body: &EventBody) -> bool {
    matches!(body, EventBody::EvidenceGraded { by, .. } if by.is_measured())
}

fn round_title(at: usize, node: NodeName, visit: Option<&Visit>, mode: Mode) -> String {
    let round = visit.and_then(|visit| node.round(visit.iteration));
    let mut title = format!("round {}", round.unwrap_or(at as u32 + 1));
    if let Some(visit) = visit {
        if let Some(ms) = visit.ms {
            title.push_str(&format!(" · {}", duration(ms)));
        }
        if visit.calls > 0 {
            title.push_str(&format!(" · {}", mode.calls(visit.calls)));
        }
    }
    title
}

/// The events of a node, visit by visit.
fn rounds(trail: &[AuditRow], node: NodeName) -> Vec<Vec<&AuditRow>> {
    let mut rounds: Vec<Vec<&AuditRow>> = Vec::new();
    for row in trail.iter().filter(|row| row.node == Some(node)) {
        if matches!(row.body(), EventBody::NodeEntered { .. }) {
            rounds.push(Vec::new());
        } else if let Some(round) = rounds.last_mut() {
            round.push(row);
        }
    }
    rounds
}
