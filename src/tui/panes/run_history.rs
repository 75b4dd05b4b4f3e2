//! What all recorded runs came to: figures, each with a bar a day.

use crate::domain::dollars;
use crate::protocol::{Hits, Latency, RunHistory, RunStatistics};
use crate::text::{duration, one_line, sparkline};
use crate::tui::ink::{Ink, Row, grouped, grouped_plural, pad, wrap, wrap_plain};

/// Columns before what a line says.
const LABEL: usize = 22;
/// Below this width of the window a value follows its label directly.
const NARROW: usize = 48;
/// Fewer bars beside a figure tell too little; they stand beneath it then.
const LEAST_BARS: usize = 10;

/// A line of the window.
enum StatisticsRow {
    /// What is not counted.
    Words(Row),
    Figure {
        label: String,
        value: String,
        /// None, one, or two of the same length.
        bars: Vec<String>,
    },
}

/// Lays out all rows of the window.
pub fn rows(read: Option<&Result<Box<RunHistory>, String>>, width: usize) -> Vec<Row> {
    let (ink, words) = match read {
        None => (Ink::Dim, "reading the audit log …".to_owned()),
        Some(Err(why)) => (Ink::Warning, format!("⚠ {why}")),
        Some(Ok(history)) if history.total.runs == 0 => {
            let words = "Nothing has been asked yet: the audit log holds no run.";
            (Ink::Dim, words.to_owned())
        }
        Some(Ok(history)) => return figures(history, width),
    };
    wrap_plain(&Row::new(ink, words), width)
}

fn figures(history: &RunHistory, width: usize) -> Vec<Row> {
    let lines = lines(history);
    let end = |line: &StatisticsRow| match line {
        StatisticsRow::Figure { label, value, bars } if !bars.is_empty() => {
            pad(label, LABEL).chars().count() + value.chars().count()
        }
        _ => 0,
    };
    let column = lines.iter().map(end).max().unwrap_or(0) + 2;
    let rows = lines.iter().flat_map(|line| line.rows(column, width));
    rows.collect()
}

impl StatisticsRow {
    fn rows(&self, column: usize, width: usize) -> Vec<Row> {
        let is_narrow = width < NARROW;
        let indent = if is_narrow { 2 } else { LABEL };
        let blank = Row::new(Ink::Text, " ".repeat(indent));
        let (label, value, bars) = match self {
            Self::Words(row) => return wrap_plain(row, width),
            Self::Figure { label, value, bars } => (label, value, bars),
        };
        let mut row = match (label.as_str(), is_narrow) {
            ("", true) => blank.clone(),
            (label, true) => Row::new(Ink::Dim, format!("{label}  ")),
            (label, false) => Row::new(Ink::Dim, pad(label, LABEL)),
        };
        row.push(Ink::Text, value.as_str());
        let count = bars.len();
        let beside = width.saturating_sub(column + count.saturating_sub(1)) / count.max(1);
        let all = bars.first().map_or(0, |bars| bars.chars().count());
        if beside >= all.min(LEAST_BARS) {
            for bars in bars {
                let is_short = row.width() < column;
                let gap = if is_short { column } else { row.width() + 1 };
                row = row.pad_to(gap).add(Ink::Info, last(bars, beside));
            }
            return wrap(&row, &Row::default(), &blank, width);
        }
        let mut rows = wrap(&row, &Row::default(), &blank, width);
        let room = width.saturating_sub(indent);
        if count * (all + 1) <= room + 1 {
            let both = bars.join(" ");
            rows.push(blank.add(Ink::Info, both));
        } else {
            let each = bars.iter().map(|bars| last(bars, room));
            rows.extend(each.map(|bars| blank.clone().add(Ink::Info, bars)));
        }
        rows
    }
}

/// The newest days.
fn last(bars: &str, count: usize) -> String {
    let all = bars.chars().count();
    bars.chars().skip(all.saturating_sub(count)).collect()
}

fn lines(history: &RunHistory) -> Vec<StatisticsRow> {
    let total = &history.total;
    let mut lines = sums(history);
    let rate = |label: &str, hits: &Hits, of_day: &dyn Fn(&RunStatistics) -> Hits| {
        let bars = sparkline(&history.by_day(|day| of_day(day).rate), Some(1.0));
        figure(label, of_hits(hits), [bars])
    };
    lines.extend(heading("Fast paths"));
    lines.push(rate("any", &total.fast_path, &|day| day.fast_path));
    for kind in &total.by_path_type {
        let path_type = kind.path_type;
        let of_day = |day: &RunStatistics| day.hits_of(path_type, None);
        lines.push(rate(path_type.as_str(), &kind.hits, &of_day));
        let rules = total.by_rule_name.iter();
        for rule in rules.filter(|rule| rule.path_type == path_type) {
            let rule_name = rule.rule_name.as_deref();
            let name = one_line(rule_name.unwrap_or_default(), 40);
            if name != path_type.as_str() {
                let of_day = |day: &RunStatistics| day.hits_of(path_type, rule_name);
                lines.push(rate(&format!("  {name}"), &rule.hits, &of_day));
            }
        }
    }
    let time = |label: &str, taken: &Latency, of_day: &dyn Fn(&RunStatistics) -> Latency| {
        let medians = sparkline(&history.by_day(|day| of_day(day).median_ms), None);
        let p95s = sparkline(&history.by_day(|day| of_day(day).p95_ms), None);
        figure(label, of_latency(taken), [medians, p95s])
    };
    lines.extend(heading("Time"));
    lines.push(time("whole runs", &total.latency, &|day| day.latency));
    for of in total.latency_by_route.iter().chain(&total.latency_by_node) {
        let indent = if of.route.is_some() { "  " } else { "" };
        let label = format!("{indent}{}", of.name());
        lines.push(time(&label, &of.latency, &|day| day.latency_of(of)));
    }
    if let Some((first, last)) = history.period() {
        let words = format!(
            "A bar a day, {first} to {last} (UTC); · has no figure. Hit rates up to 100 %, all else up to its \
             highest day; times: median, then p95."
        );
        lines.extend([
            StatisticsRow::Words(Row::default()),
            StatisticsRow::Words(Row::new(Ink::Dim, words)),
        ]);
    }
    lines
}

/// Runs, calls, tokens and money.
fn sums(history: &RunHistory) -> Vec<StatisticsRow> {
    let total = &history.total;
    let known = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), grouped);
    let bars = |of_day: &dyn Fn(&RunStatistics) -> Option<u64>| {
        let counts = history.by_day(|day| of_day(day).map(|count| count as f64));
        sparkline(&counts, None)
    };
    let runs = bars(&|day| Some(day.runs as u64));
    let [made, spared] = ["made", "saved"].map(|what| format!("{} {what}", total.calls_word()));
    let mut lines = vec![
        figure("runs", grouped(total.runs as u64), [runs]),
        figure("", outcomes(total), []),
        figure(&made, known(total.calls), [bars(&|day| day.calls)]),
        figure(&spared, known(total.saved), [bars(&|day| day.saved)]),
    ];
    if total.reruns > 0 {
        let again = format!("{} from a node", grouped(total.reruns as u64));
        lines.push(figure("again", again, []));
    }
    let tokens = &total.tokens;
    if tokens.runs == 0 {
        return lines;
    }
    let about = if tokens.estimated { "~" } else { "" };
    let (sent, got) = (known(tokens.prompt), known(tokens.completion));
    let both = format!("{about}{sent} sent · {about}{got} received");
    lines.push(figure("tokens", both, [bars(&RunStatistics::all_tokens)]));
    let cost = total.cost_usd;
    let money = cost.map_or_else(|| "unknown".to_owned(), dollars);
    let bars_of_cost = sparkline(&history.by_day(|day| day.cost_usd), None);
    lines.push(figure("cost", money, [bars_of_cost]));
    if let Some(saved) = total.tokens_saved {
        let saved = format!("~{} · at the mean of a call", grouped(saved));
        let bars = bars(&|day| day.tokens_saved);
        lines.push(figure("tokens saved", saved, [bars]));
    }
    if let Some(saved) = total.saved_usd {
        let bars = sparkline(&history.by_day(|day| day.saved_usd), None);
        let saved = format!("~{} · at the mean of a call", dollars(saved));
        lines.push(figure("money saved", saved, [bars]));
    }
    lines
}

fn figure<const N: usize>(label: &str, value: String, bars: [String; N]) -> StatisticsRow {
    StatisticsRow::Figure {
        label: label.to_owned(),
        value,
        bars: bars.into_iter().filter(|bars| !bars.is_empty()).collect(),
    }
}

fn heading(text: &str) -> [StatisticsRow; 2] {
    [Row::default(), Row::new(Ink::Heading, text)].map(StatisticsRow::Words)
}

fn outcomes(statistics: &RunStatistics) -> String {
    let outcomes = &statistics.outcomes;
    let counts = [
        (outcomes.answered, "answered"),
        (outcomes.not_found, "not found"),
        (outcomes.cancelled, "cancelled"),
        (outcomes.failed, "failed"),
        (outcomes.unfinished, "without an end"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = counts
        .map(|(count, how)| format!("{} {how}", grouped(*count as u64)))
        .collect();
    texts.join(" · ")
}

fn of_hits(hits: &Hits) -> String {
    let runs = grouped_plural(hits.runs, "run");
    match hits.rate {
        Some(rate) => format!("{runs} · {:.0} %", rate * 100.0),
        None => runs,
    }
}

fn of_latency(latency: &Latency) -> String {
    match (latency.median_ms, latency.p95_ms) {
        (Some(median), Some(p95)) => {
            let (median, p95) = (duration(median), duration(p95));
            let count = grouped(latency.count as u64);
            format!("median {median} · p95 {p95} · {count} measured")
        }
        _ => "not measured".to_owned(),
    }
}
