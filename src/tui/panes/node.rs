//! One node on one line: its state, its time, its calls, what it did.

use crate::domain::{
    Complexity, Cue, DecidedBy, GradedBy, NodeName, QueryType, ToolCall, measures_in_words,
    spoken_reasons,
};
use crate::protocol::Mode;
use crate::text::{duration, one_line};
use crate::tui::fold::{NodeState, NodeView, RunView, ToolUse};
use crate::tui::ink::{Ink, Row, grouped, grouped_plural, pad};
use crate::tui::model::Model;
use crate::tui::pane_state::Rank;

use super::wording::{broken_off, reason_ink, route_ink, short_tool, spinner};

/// The longest name.
const NAME: usize = 17;
/// The least width at which the columns keep their places; below it an empty column takes no room.
const COLUMNS: usize = 52;

/// The node with all that fits, the most important first.
pub fn node_row(run: Option<&RunView>, name: NodeName, model: &Model, width: usize) -> Row {
    let view = run.map_or_else(NodeView::default, |run| run.node(name));
    let (sign, ink) = sign(view.state, model.frame);
    let text = match view.state {
        NodeState::Done => Ink::Text,
        _ => ink,
    };
    let mut row = Row::new(ink, format!("{sign} ")).add(text, pad(name.as_str(), NAME));
    match view.state {
        NodeState::Waiting => return row,
        NodeState::Skipped(why) => {
            row.push(Ink::Skipped, format!("  skipped: {why}"));
            return row.fit(width);
        }
        // How long it took would read as if it had come to its end.
        NodeState::Stopped | NodeState::Failed => {
            let last = run.and_then(|run| run.visits.iter().rfind(|visit| visit.node == name));
            let ms = last.and_then(|visit| visit.ms).unwrap_or(view.ms);
            row.push(ink, format!("  {}", broken_off(view.state, ms)));
        }
        NodeState::Running | NodeState::Done => {
            let since = view.since.map_or(0, |at| model.now.0.saturating_sub(at.0));
            let time = duration(view.ms + since as f64);
            row.push(text, format!("{time:>9}"));
        }
    }
    for column in columns(run, name, &view, model, width >= COLUMNS) {
        if row.width() + column.text().trim_end().chars().count() <= width {
            row = row.join(column);
        }
    }
    row.fit(width)
}

/// The node where there is a line for it alone: its time and what it decided.
pub fn compact_row(run: Option<&RunView>, name: NodeName, model: &Model, width: usize) -> Row {
    let state = run.map_or(NodeState::Waiting, |run| run.node(name).state);
    if matches!(state, NodeState::Skipped(_) | NodeState::Failed) {
        // Nothing was decided, and why fills the line.
        return node_row(run, name, model, width);
    }
    let row = node_row(run, name, model, NAME + 2 + 9);
    let last = run.and_then(|run| run.visits.iter().rfind(|visit| visit.node == name));
    match last.and_then(|visit| visit.left.as_ref()) {
        Some((reason, why)) => {
            let room = width.saturating_sub(row.width() + 2);
            // A number that is cut says something else.
            let fits = why.chars().count() <= room;
            let reason_text = if fits { why } else { reason.as_str() };
            row.add(reason_ink(Some(*reason)), format!("  {reason_text}"))
        }
        None => row,
    }
}

/// The sign of a state, and its ink.
pub fn sign(state: NodeState, frame: usize) -> (&'static str, Ink) {
    match state {
        NodeState::Waiting => ("○", Ink::Waiting),
        NodeState::Running => (spinner(frame), Ink::Running),
        NodeState::Done => ("●", Ink::Done),
        NodeState::Skipped(_) => ("·", Ink::Skipped),
        NodeState::Stopped => ("◼", Ink::Warning),
        NodeState::Failed => ("×", Ink::Failed),
    }
}

fn columns(
    run: Option<&RunView>,
    name: NodeName,
    view: &NodeView,
    model: &Model,
    aligned: bool,
) -> Vec<Row> {
    let calls = match run {
        Some(run) if run.mode == Mode::Llm && view.by == Some(DecidedBy::BuiltIn) => {
            match view.calls {
                0 => DecidedBy::BuiltIn.to_string(),
                calls => format!("{} + {}", DecidedBy::BuiltIn, run.mode.calls(calls)),
            }
        }
        Some(run) if view.calls > 0 => run.mode.calls(view.calls),
        _ => String::new(),
    };
    let loops = match view.visits {
        0 | 1 => String::new(),
        visits => format!("↺ {visits}"),
    };
    let cell = |ink: Ink, text: String, width: usize| match (aligned, text.is_empty()) {
        (true, _) => Row::new(ink, format!("  {}", pad(&text, width))),
        (false, true) => Row::default(),
        (false, false) => Row::new(ink, format!("  {text}")),
    };
    let mut columns = vec![cell(Ink::Dim, calls, 7), cell(Ink::Running, loops, 3)];
    if view.state == NodeState::Running {
        let dots = ["·  ", "·· ", "···"][model.frame / 2 % 3];
        columns.push(Row::new(Ink::Running, format!("  {dots}")));
    }
    columns.extend(run.and_then(|run| match name {
        NodeName::ToolExec => Some(tools(run)),
        NodeName::GradeEvidence => Some(verdicts(run)),
        _ => None,
    }));
    if let Some(tokens) = view.tokens.filter(|tokens| *tokens > 0) {
        columns.push(Row::new(Ink::Dim, format!("  {} tok", grouped(tokens))));
    }
    columns
}

fn tools(run: &RunView) -> Row {
    let mut row = Row::default();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for used in &run.tools {
        let tool = short_tool(used.call.tool());
        match counts.iter_mut().find(|(known, _)| *known == tool) {
            Some((_, count)) => *count += 1,
            None => counts.push((tool, 1)),
        }
    }
    let words = counts.iter().map(|(tool, count)| match count {
        1 => (*tool).to_owned(),
        _ => format!("{tool}×{count}"),
    });
    let words: Vec<_> = words.collect();
    if !words.is_empty() {
        row.push(Ink::Dim, format!("  {}", words.join(" ")));
    }
    let failed = run.tools.iter().filter(|used| used.error.is_some()).count();
    if failed > 0 {
        row.push(Ink::Warning, format!("  ⚠ {failed} failed"));
    }
    row
}

/// The averages, round by round; of a verdict that was not measured, who gave it.
fn verdicts(run: &RunView) -> Row {
    let mut row = Row::default();
    let gradings = run.visits.iter().filter_map(|visit| visit.graded.as_ref());
    for (at, grading) in gradings.enumerate() {
        row.push(Ink::Dim, if at > 0 { " ▸ " } else { "  " });
        let measured = grading.average.filter(|_| grading.by.is_measured());
        match (grading.by, measured) {
            (_, Some(average)) => row.push(super::wording::band(average), grading.measured()),
            (GradedBy::Grader | GradedBy::Hand, None) => row.push(Ink::Dropped, "none left"),
            (GradedBy::Rule(_), _) => {
                row.push(Ink::Unmeasured, format!("no {}: a rule", run.mode.call()));
            }
            (GradedBy::NoEvidence, _) => {
                let words = format!("no {}: no evidence", run.mode.call());
                row.push(Ink::Unmeasured, words);
            }
            (GradedBy::Fallback, _) => row.push(Ink::Unmeasured, "reply unreadable"),
        }
    }
    row
}

/// The rows below a node, each with how much it matters.
pub fn why_rows(run: &RunView, name: NodeName, width: usize) -> Vec<(Rank, Row)> {
    let mut rows = Vec::new();
    match name {
        NodeName::AnalyzeAndRoute => {
            let opinion = run.two_routes;
            let opinion = opinion.map(|(of_model, built_in)| {
                second_opinion(of_model, built_in, &run.built_in_because)
            });
            rows.extend(opinion.map(|row| (Rank::Cue, row)));
            rows.extend(because(run).into_iter().map(|row| (Rank::Cue, row)));
            let plan = run.plan.as_ref();
            rows.extend(plan.and_then(|plan| plan.rewritten.as_ref()).map(|text| {
                let row = Row::new(Ink::Dim, "searched as ");
                (Rank::Cue, row.add(Ink::Text, one_line(text, 400)))
            }));
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
    let rows = rows.into_iter();
    rows.map(|(rank, row)| (rank, row.fit(width))).collect()
}

/// What decided the route: the sentences, and what was held against thresholds. What each word weighed is in the
/// node's detail.
fn because(run: &RunView) -> Vec<Row> {
    let Some(plan) = &run.plan else {
        return Vec::new();
    };
    if run.forced.is_some() {
        let row = Row::new(Ink::Dim, "forced: you chose ");
        return vec![row.add(Ink::Text, plan.complexity.as_str())];
    }
    if run.because.is_empty() {
        let own = match &run.reason {
            Some(reason) => Row::new(Ink::Dim, "the model: ").add(Ink::Text, one_line(reason, 200)),
            None => Row::new(Ink::Dim, "the model's own plan"),
        };
        return Some(own)
            .filter(|_| run.mode == Mode::Llm)
            .into_iter()
            .collect();
    }
    let reasons: Vec<&str> = spoken_reasons(&run.because).collect();
    let reasons = Some(one_line(&reasons.join("; "), 200)).filter(|reasons| !reasons.is_empty());
    let lines = reasons.into_iter().chain(measured_line(&run.because));
    let because = |(at, line): (usize, String)| {
        let before = if at == 0 { "because " } else { "        " };
        Row::new(Ink::Dim, before).add(Ink::Text, line)
    };
    lines.enumerate().map(because).collect()
}

/// What the built-in router says beside the route of a model; marked where the two disagree.
pub fn second_opinion(of_model: Complexity, built_in: Complexity, because: &[Cue]) -> Row {
    let row = if built_in == of_model {
        Row::new(Ink::Dim, "the built-in router agrees")
    } else {
        let row = Row::new(Ink::Warning, "≠ the built-in router: ");
        row.add(route_ink(built_in), built_in.as_str())
    };
    let measured = measured_line(because).map(|words| format!(" · {words}"));
    row.add(Ink::Dim, measured.unwrap_or_default())
}

fn measured_line(because: &[Cue]) -> Option<String> {
    Some(one_line(&measures_in_words(because)?, 200))
}

/// A sentence or a rule as it stands, a measure with its threshold, a word with what it adds.
pub fn cue_words(cue: &Cue) -> Row {
    let figure = cue.figure().map(|figure| format!(" {figure}"));
    Row::new(Ink::Text, one_line(&cue.cue, 80)).add(Ink::Dim, figure.unwrap_or_default())
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
    let tools = plan.suggested_tools.iter().copied();
    let tools: Vec<_> = tools.map(short_tool).collect();
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
            let items = grouped_plural(items, "item");
            row.push(Ink::Dim, format!("  {items}"));
            if let Some(ms) = used.ms {
                row.push(Ink::Dim, format!(" · {}", duration(ms)));
            }
        }
        (None, None) => row.push(Ink::Running, "  at work"),
    }
    if used.by == Some(DecidedBy::BuiltIn) {
        row.push(Ink::Dim, format!(" · {}", DecidedBy::BuiltIn));
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
