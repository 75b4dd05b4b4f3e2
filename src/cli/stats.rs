use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;
use unicode_width::UnicodeWidthStr;

use super::output::{CommandFailure, or_nothing, print_json, print_notice, print_text};
use super::output::{table_within, terminal_width};
use crate::audit::history;
use crate::config::Settings;
use crate::domain::dollars;
use crate::protocol::{FastPathHits, Hits, Latency, Outcomes, RunHistory, RunStatistics};
use crate::text::{one_line, plural, sparkline};
use crate::tui::TerminalLooks;

const FAST_PATHS: &str = "fast path|runs|hits|rate";
const LATENCIES: &str = "time of|count|median ms|p95 ms";

/// Fewer bars tell too little.
const LEAST_BARS: usize = 7;

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
pub(super) fn run(stats: &Stats, settings: &Settings) -> Result<(), CommandFailure> {
    let log = stats.log.as_ref().unwrap_or(&settings.audit_log);
    let shown = log.display();
    if stats.log.is_some() && !log.exists() {
        return Err(CommandFailure::failed(format!(
            "there is no audit log {shown}"
        )));
    }
    let history = history(log, &CancellationToken::new())?;
    let statistics = &history.total;
    if stats.json {
        return Ok(print_json(statistics)?);
    }
    if statistics.runs == 0 {
        print_notice(&format!("no runs are recorded in {shown}"));
        return Ok(());
    }
    let width = terminal_width();
    let Some((width, (first, last))) = width.zip(history.period()) else {
        return Ok(print_text(in_lines(statistics, width))?);
    };
    let (rates, times) = tables(statistics, Some(width));
    let (names, sums) = sums_by_day(&history);
    let text = format!(
        "{}\na bar a day, {first} to {last} (UTC)\n{}\n{}\n{}",
        summary(statistics),
        with_bars(&names, &sums, width),
        with_bars(&rates, &rates_by_day(&history), width),
        with_bars(&times, &latencies_by_day(&history), width),
    );
    let glyphs = TerminalLooks::of_environment().glyphs;
    Ok(print_text(glyphs.in_text(&text))?)
}

/// All of it without a bar, for lines of at most `width` cells.
fn in_lines(statistics: &RunStatistics, width: Option<usize>) -> String {
    let (rates, times) = tables(statistics, width);
    format!("{}\n{rates}\n{times}", summary(statistics))
}

/// The tables of short cuts and of times.
fn tables(statistics: &RunStatistics, width: Option<usize>) -> (String, String) {
    let rates = fast_paths(statistics);
    (
        table_within(width, FAST_PATHS, "hits|runs", &rates),
        table_within(width, LATENCIES, "count", &latencies(statistics)),
    )
}

/// Bars behind the lines that have some, one below the other; as many of the newest days as there is
/// room for.
fn with_bars(table: &str, bars: &[Vec<String>], width: usize) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let column = lines.iter().map(|line| line.width()).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        text.push_str(line);
        let bars: &[String] = bars.get(at).map_or(&[], Vec::as_slice);
        let each = width.saturating_sub(column + bars.len()) / bars.len().max(1);
        if each >= LEAST_BARS && bars.iter().any(|bars| !bars.is_empty()) {
            text.push_str(&" ".repeat(column - line.width()));
            let last = bars.iter().map(|bars| {
                let all = bars.chars().count();
                let newest: String = bars.chars().skip(all.saturating_sub(each)).collect();
                newest
            });
            text.push_str(&last.collect::<Vec<_>>().join(" "));
        }
        text.push('\n');
    }
    text
}

/// What is summed up, a line each, and its bars.
fn sums_by_day(history: &RunHistory) -> (String, Vec<Vec<String>>) {
    let bars =
        |of_day: &dyn Fn(&RunStatistics) -> Option<f64>| sparkline(&history.by_day(of_day), None);
    let count = |count: Option<u64>| count.map(|count| count as f64);
    let word = history.total.calls_word();
    let (made, not_needed) = (format!("{word} made"), format!("{word} saved"));
    let sums = [
        ("runs", bars(&|day| Some(day.runs as f64))),
        (&*made, bars(&|day| count(day.calls))),
        (&*not_needed, bars(&|day| count(day.saved))),
        ("tokens", bars(&|day| count(day.all_tokens()))),
        ("cost", bars(&|day| day.cost_usd)),
        ("tokens saved", bars(&|day| count(day.tokens_saved))),
        ("cost saved", bars(&|day| day.saved_usd)),
    ];
    let known = sums.into_iter().filter(|(_, bars)| !bars.is_empty());
    let (names, bars): (Vec<_>, Vec<_>) = known.map(|(name, bars)| (name, vec![bars])).unzip();
    (names.join("\n"), bars)
}

/// Bars of the lines of [`fast_paths`], below its title.
fn rates_by_day(history: &RunHistory) -> Vec<Vec<String>> {
    let bars = |of_day: &dyn Fn(&RunStatistics) -> Hits| {
        vec![sparkline(
            &history.by_day(|day| of_day(day).rate),
            Some(1.0),
        )]
    };
    let mut rows = vec![Vec::new(), bars(&|day| day.fast_path)];
    for of_type in &history.total.by_path_type {
        let path_type = of_type.path_type;
        rows.push(bars(&|day| day.hits_of(path_type, None)));
        let rules = history.total.by_rule_name.iter();
        for of_rule in rules.filter(|of| of.path_type == path_type) {
            rows.push(bars(&|day| {
                day.hits_of(path_type, of_rule.rule_name.as_deref())
            }));
        }
    }
    rows
}

/// Bars of the lines of [`latencies`], below its title: medians, then the 95th of a hundred.
fn latencies_by_day(history: &RunHistory) -> Vec<Vec<String>> {
    let bars = |of_day: &dyn Fn(&RunStatistics) -> Latency| {
        vec![
            sparkline(&history.by_day(|day| of_day(day).median_ms), None),
            sparkline(&history.by_day(|day| of_day(day).p95_ms), None),
        ]
    };
    let mut rows = vec![Vec::new(), bars(&|day| day.latency)];
    let total = &history.total;
    for of in total.latency_by_route.iter().chain(&total.latency_by_node) {
        rows.push(bars(&|day| day.latency_of(of)));
    }
    rows
}

fn summary(statistics: &RunStatistics) -> String {
    let tokens = &statistics.tokens;
    let about = if tokens.estimated {
        ", partly estimated"
    } else {
        ""
    };
    let mut text = format!(
        "{}: {}\n{}: {} made, {} saved\ntokens: {} sent, {} received{about}\ncost: {}\n",
        plural(statistics.runs, "run"),
        outcomes(&statistics.outcomes),
        statistics.calls_word(),
        or_nothing(statistics.calls),
        or_nothing(statistics.saved),
        or_nothing(tokens.prompt),
        or_nothing(tokens.completion),
        or_nothing(statistics.cost_usd.map(dollars)),
    );
    if statistics.reruns > 0 {
        let reruns = plural(statistics.reruns, "run");
        text.push_str(&format!(
            "again from a node: {reruns}, of which calls, tokens and cost count here\n"
        ));
    }
    if let Some(saved) = statistics.tokens_saved {
        let cost = statistics
            .saved_usd
            .map(|cost| format!(", ~{}", dollars(cost)));
        let cost = cost.unwrap_or_default();
        text.push_str(&format!(
            "saved, at the mean of a call: ~{saved} tokens{cost}\n"
        ));
    }
    text
}

fn outcomes(outcomes: &Outcomes) -> String {
    let named = [
        (outcomes.answered, "answered"),
        (outcomes.not_found, "not found"),
        (outcomes.cancelled, "cancelled"),
        (outcomes.failed, "failed"),
        (outcomes.unfinished, "without an end"),
    ];
    let counted = named.iter().filter(|(count, _)| *count > 0);
    let outcomes: Vec<_> = counted
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    outcomes.join(", ")
}

fn fast_paths(statistics: &RunStatistics) -> Vec<Vec<String>> {
    let mut rows = vec![fast_path("all", &statistics.fast_path)];
    for of_type in &statistics.by_path_type {
        let name = of_type.path_type.as_str();
        let of_this_type = |of: &&FastPathHits| of.path_type == of_type.path_type;
        rows.push(fast_path(name, &of_type.hits));
        for of_rule in statistics.by_rule_name.iter().filter(of_this_type) {
            let name = format!(
                "  {}",
                one_line(of_rule.rule_name.as_deref().unwrap_or_default(), 40)
            );
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

fn latencies(statistics: &RunStatistics) -> Vec<Vec<String>> {
    let mut rows = vec![latency("runs", &statistics.latency)];
    let by_route = statistics.latency_by_route.iter();
    for of in by_route.chain(&statistics.latency_by_node) {
        let indent = if of.route.is_some() { "  " } else { "" };
        rows.push(latency(&format!("{indent}{}", of.name()), &of.latency));
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
