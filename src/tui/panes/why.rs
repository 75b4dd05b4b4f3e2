//! What stands under a node: why the route is what it is, the parts, the tool calls.

use crate::domain::{Cue, NodeName, QueryType, ToolCall, spoken_reasons};
use crate::protocol::Mode;
use crate::text::{duration, one_line};
use crate::tui::fold::{RunView, ToolUse};
use crate::tui::ink::{Ink, Row, grouped_count};
use crate::tui::path_line::Rank;

use super::wording::short_tool;

/// The rows below a node, each with how much it matters.
pub fn why_rows(run: &RunView, name: NodeName, width: usize) -> Vec<(Rank, Row)> {
    let mut rows = Vec::new();
    match name {
        NodeName::AnalyzeAndRoute => {
            rows.extend(because(run).map(|row| (Rank::Cue, row)));
            rows.extend(planned(run).map(|row| (Rank::Plan, row)));
            let parts = run.plan.iter().flat_map(|plan| &plan.sub_questions);
            rows.extend(parts.enumerate().map(|(at, part)| {
                let row = Row::new(Ink::Dim, format!("  {} ", at + 1))
                    .add(Ink::Text, one_line(part, 400));
                (Rank::Extra, row)
            }));
        }
        NodeName::ToolExec => {
            let calls = run.tools.iter().map(|used| (Rank::Extra, tool_row(used)));
            rows.extend(calls);
        }
        NodeName::Plan | NodeName::GradeEvidence | NodeName::Synthesize => {}
    }
    rows.into_iter()
        .map(|(rank, row)| (rank, row.fit(width)))
        .collect()
}

/// What decided the route, in words; what weighed how much is in the node's detail.
fn because(run: &RunView) -> Option<Row> {
    let plan = run.plan.as_ref()?;
    if run.forced.is_some() {
        let row = Row::new(Ink::Dim, "forced: you chose ");
        return Some(row.add(Ink::Text, plan.complexity.as_str()));
    }
    if run.because.is_empty() {
        let own = Row::new(Ink::Dim, "the model's own plan");
        return (run.mode == Mode::Llm).then_some(own);
    }
    let reasons: Vec<&str> = spoken_reasons(&run.because).collect();
    let reasons = one_line(&reasons.join("; "), 200);
    Some(Row::new(Ink::Dim, "because ").add(Ink::Text, reasons))
}

/// A sentence or a rule as it stands, a measure with its weight, a word with what it adds.
pub fn cue_words(cue: &Cue) -> Row {
    let row = Row::new(Ink::Text, one_line(&cue.cue, 80));
    match cue.weight {
        None => row,
        Some(weight) if cue.cue.starts_with('"') => row.add(Ink::Dim, format!(" +{weight:.2}")),
        Some(weight) => row.add(Ink::Dim, format!(" {weight:.2}")),
    }
}

/// Query type, tools and keywords.
fn planned(run: &RunView) -> Option<Row> {
    let plan = run.plan.as_ref()?;
    let kind = match plan.query_type {
        QueryType::Exact => "exact",
        QueryType::Conceptual => "conceptual",
        QueryType::Relational => "relational",
        QueryType::FileDiscovery => "file discovery",
        QueryType::Chitchat => return None,
    };
    let mut row = Row::new(Ink::Dim, kind);
    let tools: Vec<_> = plan
        .suggested_tools
        .iter()
        .copied()
        .map(short_tool)
        .collect();
    if !tools.is_empty() {
        row.push(Ink::Dim, format!(" · {}", tools.join(", ")));
    }
    if !plan.grep_keywords.is_empty() {
        row.push(Ink::Dim, " · words ");
        row.push(Ink::Text, one_line(&plan.grep_keywords.join(", "), 200));
    }
    Some(row)
}

/// A tool call: what was asked for, how much came back, how long it took.
pub fn tool_row(used: &ToolUse) -> Row {
    let mut row = Row::new(Ink::Dim, format!("  {} ", short_tool(used.call.tool())));
    row.push(Ink::Text, one_line(&asked_for(&used.call), 200));
    match (&used.error, used.items) {
        (Some(error), _) => row.push(Ink::Warning, format!("  ⚠ {error}")),
        (None, Some(items)) => {
            let items = grouped_count(items as u64, "item", "items");
            row.push(Ink::Dim, format!("  {items}"));
            if let Some(ms) = used.ms {
                row.push(Ink::Dim, format!(" · {}", duration(ms)));
            }
        }
        (None, None) => row.push(Ink::Running, "  at work"),
    }
    row
}

/// The arguments of a call, as a person reads them.
pub fn asked_for(call: &ToolCall) -> String {
    match call {
        ToolCall::HybridSearch {
            semantic_query,
            exact_keywords,
        } if !exact_keywords.is_empty() => {
            format!("\"{semantic_query}\" with {}", exact_keywords.join(", "))
        }
        _ => format!("\"{}\"", call.subject()),
    }
}
