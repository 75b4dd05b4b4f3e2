//! Windows that only show: what the conversation came to, what is indexed, which engine answers.

use crate::domain::dollars;
use crate::protocol::{Counting, Hits, Latency, Mode, Statistics};

use super::ink::{Ink, Row, counted, duration, grouped, pad};
use super::model::Model;
use super::overlay::Page;
use super::wrap::wrap;

/// Columns before what a line says.
const LABEL: usize = 22;

/// What the window is called.
pub fn title(page: Page) -> &'static str {
    match page {
        Page::Stats => "Statistics of this conversation",
        Page::Index => "Index",
        Page::Sources => "Knowledge base",
        Page::Model => "Engine",
    }
}

/// All rows.
pub fn rows(model: &Model, page: Page, width: usize) -> Vec<Row> {
    let rows = match page {
        Page::Stats => statistics(model),
        Page::Index | Page::Sources => index(model),
        Page::Model => engine(model),
    };
    let broken = |row: &Row| {
        let indent = Row::of(Ink::Text, " ".repeat(LABEL.min(width / 2)));
        wrap(row, &Row::default(), &indent, width)
    };
    rows.iter().flat_map(broken).collect()
}

fn line(label: &str, value: impl Into<String>) -> Row {
    Row::of(Ink::Dim, pad(label, LABEL)).with(Ink::Text, value)
}

fn heading(text: &str) -> [Row; 2] {
    [Row::default(), Row::of(Ink::Heading, text)]
}

fn statistics(model: &Model) -> Vec<Row> {
    let mut counting = Counting::default();
    for row in model.turns.iter().flat_map(|turn| &turn.trail) {
        counting.apply(row.event());
    }
    let statistics = counting.result();
    if statistics.runs == 0 {
        let words = "Nothing has been asked yet. 'kb-agent stats' counts all recorded runs.";
        return vec![Row::of(Ink::Dim, words)];
    }
    let mut rows = vec![line("runs", runs(&statistics))];
    let known = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), grouped);
    rows.push(line(
        "reasoning calls",
        format!(
            "{} made · {} saved",
            known(statistics.calls),
            known(statistics.saved)
        ),
    ));
    let tokens = &statistics.tokens;
    if tokens.runs > 0 {
        let about = if tokens.estimated { "~" } else { "" };
        let (sent, got) = (known(tokens.prompt), known(tokens.completion));
        rows.push(line(
            "tokens",
            format!("{about}{sent} sent · {about}{got} received"),
        ));
        let cost = statistics.cost_usd;
        let cost = cost.map_or_else(|| "unknown".to_owned(), dollars);
        rows.push(line("cost", cost));
    }
    rows.extend(heading("Fast paths"));
    rows.push(line("any", hits(&statistics.fast_path)));
    for kind in &statistics.by_path_type {
        rows.push(line(kind.path_type.as_str(), hits(&kind.hits)));
        let rules = statistics.by_rule_name.iter();
        for rule in rules.filter(|rule| rule.path_type == kind.path_type) {
            let name = crate::text::one_line(&rule.rule_name, 40);
            if name != kind.path_type.as_str() {
                rows.push(line(&format!("  {name}"), hits(&rule.hits)));
            }
        }
    }
    rows.extend(heading("Time"));
    rows.push(line("whole runs", latency(&statistics.latency)));
    for route in &statistics.latency_by_route {
        let name = format!("  {}", route.route.as_str());
        rows.push(line(&name, latency(&route.latency)));
    }
    for node in &statistics.latency_by_node {
        rows.push(line(node.node.as_str(), latency(&node.latency)));
    }
    rows.push(Row::default());
    let words = "'kb-agent stats' counts all recorded runs.";
    rows.push(Row::of(Ink::Dim, words));
    rows
}

fn runs(statistics: &Statistics) -> String {
    let outcomes = &statistics.outcomes;
    let told = [
        (outcomes.answered, "answered"),
        (outcomes.not_found, "not found"),
        (outcomes.cancelled, "cancelled"),
        (outcomes.failed, "failed"),
        (outcomes.unfinished, "going on"),
    ];
    let told = told.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, how)| format!("{count} {how}")).collect();
    format!("{} · {}", grouped(statistics.runs as u64), told.join(", "))
}

fn hits(hits: &Hits) -> String {
    let runs = counted(hits.runs as u64, "run", "runs");
    match hits.rate {
        Some(rate) => format!("{runs} · {:.0} %", rate * 100.0),
        None => runs,
    }
}

fn latency(latency: &Latency) -> String {
    match (latency.median_ms, latency.p95_ms) {
        (Some(median), Some(p95)) => format!(
            "median {} · p95 {} · {}",
            duration(median),
            duration(p95),
            counted(latency.count as u64, "measured", "measured")
        ),
        _ => "not measured".to_owned(),
    }
}

fn index(model: &Model) -> Vec<Row> {
    let knowledge = &model.knowledge;
    let state = match (knowledge.indexing, knowledge.pending) {
        (true, 0) => "looking for changes".to_owned(),
        (true, pending) => format!("embedding, {} to come", grouped(pending as u64)),
        (false, 0) => "up to date".to_owned(),
        (false, pending) => format!("{} not embedded", grouped(pending as u64)),
    };
    vec![
        line("name", crate::text::one_line(&knowledge.name, 200)),
        line("documents", grouped(knowledge.documents as u64)),
        line("chunks", grouped(knowledge.chunks as u64)),
        line("state", state),
        line(
            "watching",
            if knowledge.watching {
                "yes: saved files are searchable at once"
            } else {
                "no"
            },
        ),
    ]
}

fn engine(model: &Model) -> Vec<Row> {
    let limits = model.shown_run().map_or(model.limits, |run| run.limits);
    let mut rows = match model.mode {
        Mode::Offline => vec![
            line("engine", "offline, built in"),
            line("answers", "extractive: quoted from the documents"),
        ],
        Mode::Llm => vec![line("engine", "chat endpoint")],
    };
    rows.push(line("model", model.engine.clone()));
    if let Some(endpoint) = &model.endpoint {
        rows.push(line("endpoint", endpoint.clone()));
    }
    let route = model.route.map_or("auto", |route| route.as_str());
    rows.push(line("route", format!("{route} (/route)")));
    rows.extend(heading("Settings that route"));
    rows.push(line("gradings at most", limits.max_iterations.to_string()));
    rows.push(line(
        "vector threshold",
        format!("{:.2}", limits.vector_score_threshold),
    ));
    rows.push(line(
        "auto-approve up to",
        counted(limits.auto_approve_max_items as u64, "item", "items"),
    ));
    rows.push(Row::default());
    let words = "Engine, model and settings are set by KB_AGENT_… variables; 'kb-agent doctor' \
                 checks them.";
    rows.push(Row::of(Ink::Dim, words));
    rows
}
