use std::iter;
use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;
use unicode_width::UnicodeWidthStr;

use super::output::{CommandFailure, or_nothing, print_json, print_notice, print_text};
use super::output::{table_within, terminal_width};
use super::runs::{LogArgs, with_log};
use crate::audit::history;
use crate::config::Settings;
use crate::domain::dollars;
use crate::protocol::{Hits, Latency, Outcomes, RunHistory, RunStatistics};
use crate::text::{one_line, plural, sparkline};
use crate::tui::TerminalLooks;

const FAST_PATHS: &str = "fast path|runs|hits|rate";
const LATENCIES: &str = "time of|count|median ms|p95 ms";

/// Fewer bars tell too little.
const LEAST_BARS: usize = 7;

/// Arguments of `stats`.
#[derive(Debug, Args)]
pub(super) struct Stats {
    #[command(flatten)]
    log: LogArgs,
    /// Another log than KB_AGENT_AUDIT_LOG
    #[arg(value_name = "LOG", conflicts_with = "log")]
    file: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints what the recorded runs came to.
pub(super) fn run(stats: &Stats, settings: &Settings) -> Result<(), CommandFailure> {
    let settings = with_log(stats.file.as_deref(), &stats.log.settings(settings)?)?;
    let history = history(&settings.audit_log, &CancellationToken::new())?;
    if stats.json {
        return Ok(print_json(&history.total)?);
    }
    if history.total.runs == 0 {
        let log = settings.audit_log.display();
        print_notice(&format!("no runs are recorded in {log}"));
        return Ok(());
    }
    let width = terminal_width();
    let bars = width.and_then(|_| history.period());
    let tables = [
        in_table(
            width,
            FAST_PATHS,
            "hits|runs",
            bars.is_some(),
            &fast_paths(&history),
        ),
        in_table(
            width,
            LATENCIES,
            "count",
            bars.is_some(),
            &latencies(&history),
        ),
    ];
    let mut text = summary(&history.total);
    if let Some((first, last)) = bars {
        text.push_str(&format!("\na bar a day, {first} to {last} (UTC)\n"));
        text.push_str(&in_table(width, "", "", true, &sums(&history)));
    }
    text.extend(tables.map(|table| format!("\n{table}")));
    let glyphs = TerminalLooks::of_environment().glyphs;
    let text = if bars.is_some() {
        glyphs.in_text(&text)
    } else {
        text
    };
    Ok(print_text(text)?)
}

/// A line of a table: its cells, and its figures day by day as bars.
struct Row {
    cells: Vec<String>,
    bars: Vec<String>,
}

/// A table, and behind its lines the bars, one below the other: as many of the newest days as there
/// is room for. Without titles the lines are the first cells.
fn in_table(
    width: Option<usize>,
    titles: &str,
    spare: &str,
    has_bars: bool,
    rows: &[Row],
) -> String {
    let cells: Vec<_> = rows.iter().map(|row| row.cells.clone()).collect();
    let table = table_within(width, titles, spare, &cells);
    let Some(width) = width.filter(|_| has_bars) else {
        return table;
    };
    let lines = table
        .lines()
        .zip(iter::once(&[][..]).chain(rows.iter().map(|row| &*row.bars)));
    let lines: Vec<_> = lines.filter(|(line, _)| !line.is_empty()).collect();
    let longest = lines.iter().map(|(line, _)| line.width()).max();
    let column = longest.unwrap_or(0) + 2;
    let with_bars = |(line, bars): &(&str, &[String])| {
        let each = width.saturating_sub(column + bars.len()) / bars.len().max(1);
        if each < LEAST_BARS || bars.iter().all(String::is_empty) {
            return format!("{line}\n");
        }
        let newest = bars.iter().map(|of_row| {
            let skipped = of_row.chars().count().saturating_sub(each);
            of_row.chars().skip(skipped).collect::<String>()
        });
        let gap = " ".repeat(column - line.width());
        format!("{line}{gap}{}\n", newest.collect::<Vec<_>>().join(" "))
    };
    lines.iter().map(with_bars).collect()
}

/// What is summed up, by the day.
fn sums(history: &RunHistory) -> Vec<Row> {
    let word = history.total.calls_word();
    let row = |name: String, of_day: &dyn Fn(&RunStatistics) -> Option<f64>| Row {
        cells: vec![name],
        bars: vec![sparkline(&history.by_day(of_day), None)],
    };
    let count = |count: Option<u64>| count.map(|count| count as f64);
    let rows = [
        row("runs".to_owned(), &|day| Some(day.runs as f64)),
        row(format!("{word} made"), &|day| count(day.calls)),
        row(format!("{word} saved"), &|day| count(day.saved)),
        row("tokens".to_owned(), &|day| count(day.all_tokens())),
        row("cost".to_owned(), &|day| day.cost_usd),
        row("tokens saved".to_owned(), &|day| count(day.tokens_saved)),
        row("cost saved".to_owned(), &|day| day.saved_usd),
    ];
    let is_known = |row: &Row| !row.bars[0].is_empty();
    rows.into_iter().filter(is_known).collect()
}

/// How often each short cut was taken.
fn fast_paths(history: &RunHistory) -> Vec<Row> {
    let row = |name: String, of: &dyn Fn(&RunStatistics) -> Hits| {
        let Hits { runs, hits, rate } = of(&history.total);
        let rate = rate.map(|rate| format!("{:.0} %", rate * 100.0));
        let by_day = history.by_day(|day| of(day).rate);
        Row {
            cells: vec![name, runs.to_string(), hits.to_string(), or_nothing(rate)],
            bars: vec![sparkline(&by_day, Some(1.0))],
        }
    };
    let mut rows = vec![row("all".to_owned(), &|runs| runs.fast_path)];
    for of_type in &history.total.by_path_type {
        let path_type = of_type.path_type;
        rows.push(row(path_type.as_str().to_owned(), &|runs| {
            runs.hits_of(path_type, None)
        }));
        let rules = history.total.by_rule_name.iter();
        for of_rule in rules.filter(|of| of.path_type == path_type) {
            let rule = of_rule.rule_name.as_deref();
            let name = format!("  {}", one_line(rule.unwrap_or_default(), 40));
            rows.push(row(name, &|runs| runs.hits_of(path_type, rule)));
        }
    }
    rows
}

/// How long runs and nodes took: medians, then the 95th of a hundred.
fn latencies(history: &RunHistory) -> Vec<Row> {
    let row = |name: String, of: &dyn Fn(&RunStatistics) -> Latency| {
        let Latency {
            count,
            median_ms,
            p95_ms,
        } = of(&history.total);
        let shown = |ms: Option<f64>| or_nothing(ms.map(|ms| format!("{ms:.1}")));
        let bars = |of_day: &dyn Fn(&RunStatistics) -> Option<f64>| {
            sparkline(&history.by_day(of_day), None)
        };
        Row {
            cells: vec![name, count.to_string(), shown(median_ms), shown(p95_ms)],
            bars: vec![bars(&|day| of(day).median_ms), bars(&|day| of(day).p95_ms)],
        }
    };
    let mut rows = vec![row("runs".to_owned(), &|runs| runs.latency)];
    let total = &history.total;
    for of in total.latency_by_route.iter().chain(&total.latency_by_node) {
        let indent = if of.route.is_some() { "  " } else { "" };
        let name = format!("{indent}{}", of.name());
        rows.push(row(name, &|runs| runs.latency_of(of)));
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
