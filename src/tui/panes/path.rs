//! The graph, drawn from the topology's data, and the way the question goes through it.
//!
//! All five nodes always stand there. What does not fit goes in order of importance: first the
//! edges not taken, then the connectors; nodes, edges taken and the meter stay.

use ratatui::layout::Size;

use crate::domain::{Complexity, EDGES, Edge, NodeName, Outcome, RouteReason};
use crate::tui::fold::{NodeState, NodeView, RunView, TakenEdge};
use crate::tui::ink::{Ink, Row, counted, duration, grouped, pad};
use crate::tui::model::Model;

use super::trace::{meter, unrolled};

/// One frame of the sign of something at work.
pub fn spinner(frame: usize) -> &'static str {
    ["◐", "◓", "◑", "◒"][frame % 4]
}

/// The ink of a route.
pub fn route_ink(complexity: Complexity) -> Ink {
    match complexity {
        Complexity::Chitchat => Ink::Chitchat,
        Complexity::Simple => Ink::Simple,
        Complexity::Complex => Ink::Complex,
    }
}

/// What stands beside the title: route, round, time.
pub fn status(model: &Model) -> Row {
    let Some(run) = model.shown_run() else {
        return Row::of(
            Ink::Dim,
            if model.pending.is_some() {
                "starting"
            } else {
                "the ways a question can go"
            },
        );
    };
    // What matters most comes first, because a narrow title is cut at its end.
    let mut row = Row::default();
    let ended = run.finish.as_ref().map(|finish| finish.outcome);
    match (run.complexity(), ended) {
        (Some(complexity), _) => row.push(route_ink(complexity), complexity.as_str()),
        (None, Some(Outcome::Answered)) => row.push(Ink::Dim, "undecided"),
        (None, Some(_)) => {}
        (None, None) => row.push(Ink::Dim, "deciding"),
    }
    if run.forced.is_some() {
        row.push(Ink::Dim, " (chosen)");
    }
    if let Some(outcome) = ended.filter(|outcome| *outcome != Outcome::Answered) {
        let ink = match outcome {
            Outcome::Failed => Ink::Failed,
            _ => Ink::Warning,
        };
        row.push(Ink::Dim, if row.pieces.is_empty() { "" } else { " · " });
        row.push(ink, super::chat::outcome_word(outcome));
    }
    let round = run
        .visits
        .iter()
        .filter(|visit| visit.node == NodeName::ToolExec)
        .count();
    if round > 1 {
        row.push(Ink::Dim, format!(" · {} round", ordinal(round)));
    }
    row.push(Ink::Dim, format!(" · {}", duration(run.elapsed(model.now))));
    row
}

/// The pane.
pub fn rows(model: &Model, size: Size) -> Vec<Row> {
    let width = usize::from(size.width);
    let run = model.shown_run();
    if model.path.unrolled
        && let Some(run) = run
    {
        return unrolled(run, model, width);
    }
    let height = usize::from(size.height);
    [Detail::All, Detail::Taken, Detail::Nodes]
        .into_iter()
        .map(|detail| graph(run, model, detail, width))
        .find(|rows| rows.len() <= height)
        .unwrap_or_else(|| graph(run, model, Detail::Nodes, width))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// All edges.
    All,
    /// Edges taken, and connectors.
    Taken,
    /// Edges taken alone.
    Nodes,
}

fn graph(run: Option<&RunView>, model: &Model, detail: Detail, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, &name) in NodeName::ALL.iter().enumerate() {
        rows.push(node_row(run, name, model).fit(width));
        let next = NodeName::ALL.get(at + 1).copied();
        let mut edges: Vec<&Edge> = EDGES
            .iter()
            .filter(|edge| edge.from == name && edge.to.is_some())
            .collect();
        // The edge to the node below is the connector and comes last.
        edges.sort_by_key(|edge| edge.to == next);
        for edge in edges {
            let taken = run.map_or_else(Vec::new, |run| {
                edge.to.map_or_else(Vec::new, |to| run.taken(name, to))
            });
            let passed = run.is_some_and(|run| {
                next.is_some_and(|next| !run.taken(name, next).is_empty()) || !taken.is_empty()
            });
            let bar = if passed { Ink::Done } else { Ink::Border };
            if let Some(row) = edge_row(edge, edge.to == next, &taken, run, detail, bar) {
                rows.push(row.fit(width));
            }
        }
    }
    rows.push(meter(run, model, width));
    rows
}

fn node_row(run: Option<&RunView>, name: NodeName, model: &Model) -> Row {
    let view = run.map_or(NodeView::UNTOUCHED, |run| run.node(name));
    let (sign, ink) = match view.state {
        NodeState::Waiting => ("○", Ink::Waiting),
        NodeState::Running => (spinner(model.frame), Ink::Running),
        NodeState::Done => ("●", Ink::Done),
        NodeState::Skipped(_) => ("·", Ink::Skipped),
        NodeState::Stopped => ("◼", Ink::Warning),
        NodeState::Failed => ("×", Ink::Failed),
    };
    let text = match view.state {
        NodeState::Done => Ink::Text,
        _ => ink,
    };
    let mut row = Row::of(ink, format!(" {sign} ")).with(text, pad(name.as_str(), 18));
    match view.state {
        NodeState::Skipped(why) => {
            row.push(Ink::Skipped, format!(" skipped: {why}"));
            return row;
        }
        NodeState::Waiting => return row,
        // How long it took would read as if it had come to its end.
        NodeState::Stopped | NodeState::Failed => {
            let last = run.and_then(|run| run.visits.iter().rfind(|visit| visit.node == name));
            let ms = last.and_then(|visit| visit.ms).unwrap_or(view.ms);
            row.push(ink, format!(" {}", broken_off(view.state, ms)));
        }
        NodeState::Running => {
            let since = view
                .since
                .map_or(0, |since| model.now.0.saturating_sub(since.0));
            let ms = view.ms + since as f64;
            row.push(Ink::Running, format!("{:>9}", duration(ms)));
        }
        NodeState::Done => row.push(Ink::Text, format!("{:>9}", duration(view.ms))),
    }
    let calls = match view.calls {
        0 => String::new(),
        calls => counted(u64::from(calls), "call", "calls"),
    };
    row.push(Ink::Dim, format!("  {}", pad(&calls, 8)));
    let loops = match view.visits {
        0 | 1 => String::new(),
        visits => format!("↺ {visits}"),
    };
    row.push(Ink::Running, pad(&loops, 4));
    if view.state == NodeState::Running {
        row.push(Ink::Dim, format!("  {}", dots(model.frame)));
    }
    if let Some(run) = run {
        row = row.join(node_note(run, name));
    }
    if let Some(tokens) = view.tokens.filter(|tokens| *tokens > 0) {
        row.push(Ink::Dim, format!("  {} tok", grouped(tokens)));
    }
    row
}

/// How a visit ended that did not come to its end.
pub fn broken_off(state: NodeState, ms: f64) -> String {
    let how = match state {
        NodeState::Failed => "failed",
        _ => "stopped",
    };
    format!("{how} after {}", duration(ms))
}

/// What a node did, in few words.
fn node_note(run: &RunView, name: NodeName) -> Row {
    let mut row = Row::default();
    match name {
        NodeName::ToolExec => {
            let mut counts: Vec<(&str, usize)> = Vec::new();
            for used in &run.tools {
                let tool = super::evidence::short_tool(used.call.tool());
                match counts.iter_mut().find(|(known, _)| *known == tool) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((tool, 1)),
                }
            }
            let words: Vec<_> = counts
                .iter()
                .map(|(tool, count)| match count {
                    1 => (*tool).to_owned(),
                    _ => format!("{tool}×{count}"),
                })
                .collect();
            if !words.is_empty() {
                row.push(Ink::Dim, format!("  {}", words.join(" ")));
            }
            let failed = run.tools.iter().filter(|used| used.error.is_some()).count();
            if failed > 0 {
                row.push(Ink::Warning, format!("  ⚠ {failed} failed"));
            }
        }
        NodeName::GradeEvidence => {
            if let Some(grading) = run.grading
                && !grading.by.is_measured()
            {
                row.push(
                    Ink::Unmeasured,
                    match grading.by {
                        crate::domain::GradedBy::Rule(_) => "  no call: a rule",
                        crate::domain::GradedBy::NoEvidence => "  no call: no evidence",
                        _ => "  reply unreadable",
                    },
                );
            }
        }
        _ => {}
    }
    row
}

fn edge_row(
    edge: &Edge,
    connector: bool,
    taken: &[&TakenEdge],
    run: Option<&RunView>,
    detail: Detail,
    bar: Ink,
) -> Option<Row> {
    if taken.is_empty() {
        // The map of an empty screen shows the routes in their colours; a run dims what it left.
        let mut reasons = Row::default();
        for (at, reason) in edge.when.iter().enumerate() {
            let ink = match run {
                None => map_ink(*reason),
                Some(_) => Ink::Waiting,
            };
            reasons.push(Ink::Waiting, if at > 0 { " / " } else { "" });
            reasons.push(ink, reason.as_str());
        }
        return match (connector, detail) {
            (true, Detail::All) if run.is_none() => Some(Row::of(bar, " │ ").join(reasons)),
            (true, Detail::All | Detail::Taken) => Some(Row::of(bar, " │ ")),
            (false, Detail::All) => Some(
                Row::of(bar, " ├ ")
                    .join(reasons)
                    .with(Ink::Border, " ─► ")
                    .with(Ink::Waiting, edge.to.map_or("end", NodeName::as_str)),
            ),
            _ => None,
        };
    }
    if connector && detail == Detail::Nodes && taken.iter().all(|edge| edge.why.is_empty()) {
        return None;
    }
    let mut row = Row::of(bar, if connector { " │ " } else { " ├ " });
    for (at, edge) in taken.iter().enumerate() {
        if at > 0 {
            row.push(Ink::Dim, ", ");
        }
        row.push(reason_ink(edge.reason), edge.why.clone());
        if edge.count > 1 && edge.reason.is_some() {
            row.push(Ink::Running, format!(" ↺ {}", edge.count));
        }
    }
    if !connector {
        row.push(Ink::Done, " ─► ");
        row.push(Ink::Text, edge.to.map_or("end", NodeName::as_str));
    }
    if edge.from == NodeName::AnalyzeAndRoute
        && let Some(plan) = run.and_then(|run| run.plan.as_ref())
        && plan.sub_questions.len() > 1
    {
        row.push(Ink::Dim, format!(" · {} parts", plan.sub_questions.len()));
    }
    Some(row)
}

fn map_ink(reason: RouteReason) -> Ink {
    match reason_ink(Some(reason)) {
        route @ (Ink::Chitchat | Ink::Simple | Ink::Complex) => route,
        _ => Ink::Dim,
    }
}

/// The ink of a reason.
pub fn reason_ink(reason: Option<RouteReason>) -> Ink {
    match reason {
        Some(RouteReason::Chitchat) => Ink::Chitchat,
        Some(RouteReason::Simple) => Ink::Simple,
        Some(RouteReason::Complex) => Ink::Complex,
        Some(RouteReason::Generate) => Ink::Strong,
        Some(RouteReason::Refine | RouteReason::ReRetrieve | RouteReason::MaxIterations) => {
            Ink::Weak
        }
        Some(RouteReason::Forced) | None => Ink::Text,
    }
}

fn dots(frame: usize) -> &'static str {
    ["·  ", "·· ", "···"][frame / 2 % 3]
}

fn ordinal(n: usize) -> String {
    let suffix = match (n % 10, n % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}
