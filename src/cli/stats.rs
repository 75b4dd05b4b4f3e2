use std::path::PathBuf;

use clap::Args;

use super::columns::{Column, Side, column, table, terminal_width};
use super::output::{Failure, NOTHING, complain, counted, say, say_json};
use crate::audit::statistics;
use crate::config::Settings;
use crate::domain::dollars;
use crate::protocol::{Hits, Latency, OfRule, Outcomes, Statistics};
use crate::text::one_line;

const FAST_PATHS: [Column; 4] = [
    column("fast path", Side::Left, 0),
    column("runs", Side::Right, 1),
    column("hits", Side::Right, 2),
    column("rate", Side::Right, 0),
];

const LATENCIES: [Column; 4] = [
    column("time of", Side::Left, 0),
    column("count", Side::Right, 1),
    column("median ms", Side::Right, 0),
    column("p95 ms", Side::Right, 0),
];

/// Arguments of `stats`.
#[derive(Debug, Args)]
pub(super) struct Stats {
    /// Another log than KB_AGENT_AUDIT_LOG
    #[arg(value_name = "LOG")]
    log: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints what the recorded runs came to.
pub(super) fn run(stats: &Stats, settings: &Settings) -> Result<(), Failure> {
    let log = stats.log.as_ref().unwrap_or(&settings.audit_log);
    let shown = log.display();
    if stats.log.is_some() && !log.exists() {
        return Err(Failure::failed(format!("there is no audit log {shown}")));
    }
    let statistics = statistics(log).map_err(Failure::failed)?;
    if stats.json {
        return Ok(say_json(&statistics)?);
    }
    if statistics.runs == 0 {
        complain(&format!("no runs are recorded in {shown}"));
        return Ok(());
    }
    let width = terminal_width();
    Ok(say(format!(
        "{}\n{}\n{}",
        summary(&statistics),
        table(&FAST_PATHS, &fast_paths(&statistics), width),
        table(&LATENCIES, &latencies(&statistics), width),
    ))?)
}

fn summary(statistics: &Statistics) -> String {
    let tokens = &statistics.tokens;
    let about = if tokens.estimated {
        ", partly estimated"
    } else {
        ""
    };
    format!(
        "{}: {}\ncalls: {} made, {} saved\ntokens: {} sent, {} received{about}\ncost: {}\n",
        counted(statistics.runs, "run"),
        outcomes(&statistics.outcomes),
        or_nothing(statistics.calls),
        or_nothing(statistics.saved),
        or_nothing(tokens.prompt),
        or_nothing(tokens.completion),
        statistics
            .cost_usd
            .map_or_else(|| NOTHING.to_owned(), dollars),
    )
}

fn outcomes(outcomes: &Outcomes) -> String {
    let named = [
        (outcomes.answered, "answered"),
        (outcomes.not_found, "not found"),
        (outcomes.cancelled, "cancelled"),
        (outcomes.failed, "failed"),
        (outcomes.unfinished, "without an end"),
    ];
    let told = named.iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, how)| format!("{count} {how}")).collect();
    told.join(", ")
}

fn fast_paths(statistics: &Statistics) -> Vec<Vec<String>> {
    let mut rows = vec![fast_path("all", &statistics.fast_path)];
    for of_type in &statistics.by_path_type {
        let name = of_type.path_type.as_str();
        let of_this_type = |of: &&OfRule| of.path_type == of_type.path_type;
        rows.push(fast_path(name, &of_type.hits));
        for of_rule in statistics.by_rule_name.iter().filter(of_this_type) {
            let name = format!("  {}", one_line(&of_rule.rule_name, 40));
            rows.push(fast_path(&name, &of_rule.hits));
        }
    }
    rows
}

fn fast_path(name: &str, hits: &Hits) -> Vec<String> {
    let rate = hits.rate.map(|rate| format!("{:.0} %", rate * 100.0));
    vec![
        name.to_owned(),
        hits.runs.to_string(),
        hits.hits.to_string(),
        or_nothing(rate),
    ]
}

fn latencies(statistics: &Statistics) -> Vec<Vec<String>> {
    let mut rows = vec![latency("runs", &statistics.latency)];
    for of_route in &statistics.latency_by_route {
        let name = format!("  {}", of_route.route.as_str());
        rows.push(latency(&name, &of_route.latency));
    }
    for of_node in &statistics.latency_by_node {
        rows.push(latency(of_node.node.as_str(), &of_node.latency));
    }
    rows
}

fn latency(name: &str, latency: &Latency) -> Vec<String> {
    let shown = |ms: Option<f64>| or_nothing(ms.map(|ms| format!("{ms:.1}")));
    vec![
        name.to_owned(),
        latency.count.to_string(),
        shown(latency.median_ms),
        shown(latency.p95_ms),
    ]
}

fn or_nothing(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), |figure| figure.to_string())
}
