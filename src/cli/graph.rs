use clap::Args;

use super::output::{CommandFailure, print_text};
use crate::audit::events_of_run;
use crate::config::Settings;
use crate::domain::{EDGES, ENTRY, Edge, NodeName};
use crate::protocol::{Event, EventBody, Mode, RunEnd};
use crate::text::{one_line, plural};

/// Cells of a column of nodes.
const NAMES: usize = 17;

/// Arguments of `graph`.
#[derive(Debug, Args)]
pub(super) struct Graph {
    /// Print Mermaid source
    #[arg(long)]
    mermaid: bool,
    /// A run from the audit log: its id (any unique prefix or suffix) or 'last'
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

/// Prints the topology, or the way one run took through it.
pub(super) fn run(graph: &Graph, settings: &Settings) -> Result<(), CommandFailure> {
    let events = match &graph.run {
        Some(run) => events_of_run(&settings.audit_log, run)?,
        None => Vec::new(),
    };
    let text = match (graph.mermaid, events.is_empty()) {
        (true, _) => mermaid(&steps_of(&events)),
        (false, true) => topology(),
        (false, false) => path(&events),
    };
    Ok(print_text(text)?)
}

fn topology() -> String {
    let mut text = format!("START → {ENTRY}\n");
    for node in NodeName::ALL {
        text.push_str(&format!("{node}\n"));
        let leaving: Vec<_> = EDGES.iter().filter(|edge| edge.from == node).collect();
        for (at, edge) in leaving.iter().enumerate() {
            let branch = if at + 1 == leaving.len() {
                "└"
            } else {
                "├"
            };
            let to = edge.to.map_or("END", NodeName::as_str);
            text.push_str(&match label(edge) {
                label if label.is_empty() => format!("  {branch}─► {to}\n"),
                label => format!("  {branch}─ {label} ─► {to}\n"),
            });
        }
    }
    text
}

fn label(edge: &Edge) -> String {
    let reasons: Vec<_> = edge.when.iter().map(|reason| reason.as_str()).collect();
    reasons.join(", ")
}

/// How often each edge was taken.
fn steps_of(events: &[Event]) -> Vec<(NodeName, Option<NodeName>)> {
    let mut nodes = Vec::new();
    let mut ended = false;
    for event in events {
        match &event.body {
            EventBody::NodeEntered { node, .. } => nodes.push(*node),
            EventBody::AnswerFinished { .. } => ended = true,
            _ => {}
        }
    }
    let mut steps: Vec<_> = nodes
        .windows(2)
        .map(|pair| (pair[0], Some(pair[1])))
        .collect();
    if let (true, Some(last)) = (ended, nodes.last()) {
        steps.push((*last, None));
    }
    steps
}

fn mermaid(steps: &[(NodeName, Option<NodeName>)]) -> String {
    let mut text = format!("flowchart TD\n    START([START]) --> {ENTRY}\n");
    let mut taken = Vec::new();
    for (at, edge) in EDGES.iter().enumerate() {
        let to = edge.to.map_or("END([END])", NodeName::as_str);
        let times = steps
            .iter()
            .filter(|step| **step == (edge.from, edge.to))
            .count();
        let mut label = label(edge);
        if times > 0 {
            // Link 0 is the one from START.
            taken.push((at + 1).to_string());
        }
        if times > 1 {
            label.push_str(&format!(" ×{times}"));
        }
        let arrow = if label.is_empty() {
            "-->".to_owned()
        } else {
            format!("-->|\"{label}\"|")
        };
        text.push_str(&format!("    {} {arrow} {to}\n", edge.from));
    }
    if !taken.is_empty() {
        text.push_str(&format!(
            "    linkStyle 0,{} stroke-width:3px\n",
            taken.join(",")
        ));
    }
    text
}

/// The way as text: a line a node, and under it what it came to.
fn path(events: &[Event]) -> String {
    let mut text = String::new();
    // A node tells what it came to before it says that it is done.
    let mut open = None;
    let mut marks = String::new();
    let mut engine = Mode::Llm;
    for event in events {
        if let Some(mark) = mark(&event.body) {
            marks.push_str(&format!("    {mark}\n"));
        }
        match &event.body {
            EventBody::RunStarted {
                query,
                model,
                mode,
                rerun,
                ..
            } => {
                engine = *mode;
                text.push_str(&format!(
                    "{}  {}\n{}\n",
                    one_line(&event.run.0, 40),
                    one_line(model, 80),
                    one_line(query, 200)
                ));
                if let Some(rerun) = rerun {
                    text.push_str(&format!("{}\n", rerun.in_words()));
                }
            }
            EventBody::NodeEntered { node, .. } => open = Some(*node),
            EventBody::NodeFinished {
                node,
                ms,
                reasoning_calls,
                ..
            } => {
                let calls = engine.calls(*reasoning_calls);
                text.push_str(&format!("  {node:<NAMES$}  {ms:>9.1} ms  {calls}\n"));
                text.push_str(&std::mem::take(&mut marks));
                open = None;
            }
            EventBody::RouteDecided { to, reason, .. } => {
                text.push_str(&format!("    {} ─► {to}\n", reason.as_str()));
            }
            EventBody::RunFinished { .. } => {
                let Some(end) = RunEnd::from_body(&event.body) else {
                    continue;
                };
                let how = end.outcome.as_str();
                if let Some(node) = open.take() {
                    text.push_str(&format!("  {node:<NAMES$}  {how:>12}\n"));
                    text.push_str(&std::mem::take(&mut marks));
                }
                text.push_str(&format!(
                    "{how}  {}, {} saved, {:.0} ms\n",
                    engine.calls(end.calls),
                    end.saved,
                    end.ms
                ));
                if let Some(error) = end.error {
                    text.push_str(&format!("  {}\n", one_line(&error, 400)));
                }
            }
            _ => {}
        }
    }
    if let Some(node) = open {
        text.push_str(&format!("  {node:<NAMES$}  {:>12}\n{marks}", "at work"));
    }
    text
}

/// What a node came to, where it says so.
fn mark(body: &EventBody) -> Option<String> {
    match body {
        EventBody::FastPathHit {
            path_type,
            rule_name,
            ..
        } => Some(format!(
            "fast path: {} ({})",
            path_type.as_str(),
            one_line(rule_name, 40)
        )),
        EventBody::EvidenceGraded {
            scores,
            average,
            action,
            by,
        } => {
            let mut items = plural(scores.len(), "item");
            let not_looked_at = scores.iter().filter(|item| item.not_looked_at).count();
            if not_looked_at > 0 {
                items.push_str(&format!(", {not_looked_at} not looked at"));
            }
            let (by, action) = (by.as_str(), action.as_str());
            Some(format!("{items}, average {average:.2} by {by}: {action}"))
        }
        _ => None,
    }
}
