use clap::Args;

use super::output::{CommandFailure, or_nothing, print_text};
use super::runs::LogArgs;
use crate::audit::Lookup;
use crate::config::Settings;
use crate::domain::{EDGES, ENTRY, Edge, NodeName, Outcome, measures_in_words};
use crate::protocol::{RunRecord, Step};
use crate::text::{one_line, plural};

/// Cells of a column of nodes.
const NAMES: usize = 17;

/// Arguments of `graph`.
#[derive(Debug, Args)]
pub(super) struct Graph {
    #[command(flatten)]
    log: LogArgs,
    /// Print Mermaid source
    #[arg(long)]
    mermaid: bool,
    /// A run from the audit log: its id (any unique prefix or suffix) or 'last'
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

/// Prints the topology, or the way one run took through it.
pub(super) fn run(graph: &Graph, settings: &Settings) -> Result<(), CommandFailure> {
    let settings = graph.log.settings(settings)?;
    let run = match &graph.run {
        Some(name) => {
            let lookup = Lookup::open(&settings.audit_log)?;
            let records = lookup.records(&[lookup.run(name)?])?;
            records.into_iter().next()
        }
        None => None,
    };
    let text = match (graph.mermaid, &run) {
        (true, run) => mermaid(&run.as_ref().map(steps_of).unwrap_or_default()),
        (false, Some(run)) => path(run),
        (false, None) => topology(),
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

/// The edges that were taken, in order.
fn steps_of(run: &RunRecord) -> Vec<(NodeName, Option<NodeName>)> {
    let from = run.path.iter().map(|step| step.node);
    let to = from.clone().skip(1).map(Some);
    let end = run.answer.is_some().then_some(None);
    from.zip(to.chain(end)).collect()
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
fn path(run: &RunRecord) -> String {
    let summary = &run.summary;
    let mode = summary.mode;
    let mut text = format!(
        "{}  {}\n{}\n",
        one_line(&summary.id.0, 40),
        one_line(&summary.model, 80),
        one_line(&summary.question, 200)
    );
    if let Some(rerun) = &summary.rerun {
        text.push_str(&format!("{}\n", rerun.in_words()));
    }
    let end = summary.outcome.map(Outcome::as_str);
    for step in &run.path {
        let (node, how) = (step.node, end.unwrap_or("at work"));
        text.push_str(&match (step.ms, step.calls) {
            (Some(ms), Some(calls)) => {
                format!("  {node:<NAMES$}  {ms:>9.1} ms  {}\n", mode.calls(calls))
            }
            _ => format!("  {node:<NAMES$}  {how:>12}\n"),
        });
        let marks = marks(step).into_iter();
        text.extend(marks.map(|mark| format!("    {mark}\n")));
    }
    if let Some(end) = end {
        text.push_str(&format!(
            "{end}  {}, {} saved, {:.0} ms\n",
            mode.calls(summary.calls.unwrap_or_default()),
            summary.saved.unwrap_or_default(),
            summary.ms.unwrap_or_default()
        ));
    }
    if let Some(error) = &summary.error {
        text.push_str(&format!("  {}\n", one_line(error, 400)));
    }
    text
}

/// What a node went by and came to, and where the run went next.
fn marks(step: &Step) -> Vec<String> {
    let measured = measures_in_words(&step.because).map(|words| one_line(&words, 200));
    let short = step.fast_path.as_ref().map(|short| {
        let rule = one_line(&short.rule_name, 40);
        format!("fast path: {} ({rule})", short.path_type.as_str())
    });
    let verdict = step.verdict.as_ref().map(|verdict| {
        let mut items = plural(verdict.items, "item");
        if verdict.not_looked_at > 0 {
            items.push_str(&format!(", {} not looked at", verdict.not_looked_at));
        }
        let average = verdict.average.map(|average| format!("{average:.2}"));
        let (by, action) = (verdict.by.as_str(), verdict.action.as_str());
        format!("{items}, average {} by {by}: {action}", or_nothing(average))
    });
    let route = step.route;
    let route = route.map(|route| format!("{} ─► {}", route.reason.as_str(), route.to));
    [measured, short, verdict, route]
        .into_iter()
        .flatten()
        .collect()
}
