use std::ffi::OsStr;

use super::figures::{AskedQuestion, NamedTrial, RunFigures, RunReport, Share};
use super::trial::{FoundPassage, Trial};
use crate::cli::output::{or_nothing, table_within, terminal_width};
use crate::cli::resumable::quote_for_shell;
use crate::domain::{Complexity, Outcome, dollars};
use crate::protocol::Mode;
use crate::text::one_line;

/// So much of an answer shows where two differ, in characters.
const ANSWER: usize = 160;
/// A longer question is cut, in characters.
const QUESTION: usize = 200;
/// So many differing passages are listed of each kind.
const MOST_PASSAGES: usize = 6;

/// What stands in a column of the summary.
type Cell = fn(&RunFigures) -> String;

/// The columns of the summary.
const COLUMNS: [(&str, Cell); 12] = [
    ("settings", |of| one_line(&of.settings, 80)),
    ("routes", |of| share(of.route)),
    ("sources", |of| share(of.sources)),
    ("answers", |of| share(of.answers)),
    ("answered", |of| of.answered.to_string()),
    ("not found", |of| of.not_found.to_string()),
    ("failed", |of| of.failed.to_string()),
    ("calls", |of| of.calls.to_string()),
    ("p50 ms", |of| rounded(of.p50_ms)),
    ("p95 ms", |of| rounded(of.p95_ms)),
    ("tokens", |of| {
        or_nothing(Some(of.tokens()).filter(|tokens| *tokens > 0))
    }),
    ("cost", |of| or_nothing(of.cost_usd.map(dollars))),
];
/// The columns that are left out first where there is no room.
const SPARE: &str = "not found|answered|failed|p50 ms|calls|cost|tokens";

fn share(share: Option<Share>) -> String {
    or_nothing(share.map(|it| format!("{}/{}", it.right, it.of)))
}

fn rounded(figure: Option<f64>) -> String {
    or_nothing(figure.map(|figure| format!("{figure:.0}")))
}

/// Every question with what differs between the settings, and what all came to.
pub(super) fn as_text(report: &RunReport) -> String {
    let mut text = String::new();
    for asked in &report.questions {
        text.push_str(&question(asked));
    }
    let row = |of: &RunFigures| COLUMNS.iter().map(|(_, cell)| cell(of)).collect();
    let rows: Vec<Vec<String>> = report.summary.iter().map(row).collect();
    let titles = COLUMNS.map(|(title, _)| title).join("|");
    let summary = table_within(terminal_width(), &titles, SPARE, &rows);
    text.push_str(&format!("\n{summary}\n"));
    for (log, settings) in report.logs() {
        let log = quote_for_shell(OsStr::new(log));
        let of = if settings.len() == report.summary.len() {
            String::new()
        } else {
            format!(" of {}", one_line(&settings.join(", "), 400))
        };
        text.push_str(&format!("kb-agent replay {log} RUN shows a run{of}\n"));
    }
    text
}

fn question(asked: &AskedQuestion) -> String {
    let id = one_line(&asked.expected.id, 80);
    let query = one_line(&asked.expected.query, QUESTION);
    let mut text = format!("{id}  {query}\n");
    let names = asked.results.iter().map(|of| of.settings.chars().count());
    let width = names.max().unwrap_or(0);
    let first = asked.results.first().map(|of| &of.trial);
    for (at, NamedTrial { settings, trial }) in asked.results.iter().enumerate() {
        let name = one_line(settings, 80);
        text.push_str(&format!("  {name:width$}  {}\n", run_summary(trial)));
        let mut notes: Vec<String> = trial.failures.clone();
        if let Some(first) = first.filter(|_| at > 0) {
            notes.extend(differences(first, trial));
        }
        if let (false, Some(run)) = (trial.failures.is_empty(), &trial.run) {
            notes.push(format!("run {}", short(&run.0)));
        }
        for note in notes {
            let note = one_line(&note, 400);
            text.push_str(&format!("  {:width$}    {note}\n", ""));
        }
    }
    text
}

/// The end of an id, which is enough to name the run.
fn short(id: &str) -> &str {
    let chars = id.char_indices().rev();
    chars.take(12).last().map_or(id, |(at, _)| &id[at..])
}

/// `simple, answered, 3 steps, 12 ms`.
pub(super) fn run_summary(trial: &Trial) -> String {
    let route = trial.route.map_or("undecided", Complexity::as_str);
    let outcome = trial.outcome.map_or("failed", Outcome::as_str);
    let cost = trial.cost;
    let mut words = format!(
        "{route}, {outcome}, {}, {:.0} ms",
        trial.mode.calls(cost.calls),
        cost.ms
    );
    if trial.mode == Mode::Llm && cost.tokens() > 0 {
        words.push_str(&format!(", {} tokens", cost.tokens()));
        let money = cost
            .cost_usd
            .map_or_else(|| "cost unknown".to_owned(), dollars);
        words.push_str(&format!(", {money}"));
    }
    words
}

/// Lists how a trial differs from the first, besides what its own line tells.
fn differences(first: &Trial, other: &Trial) -> Vec<String> {
    let mut notes = Vec::new();
    let lacks = |from: &Trial, found: &&FoundPassage| !from.evidence.contains(found);
    let more = other.evidence.iter().filter(|found| lacks(first, found));
    let less = first.evidence.iter().filter(|found| lacks(other, found));
    let (more, less): (Vec<_>, Vec<_>) = (more.collect(), less.collect());
    for (sign, passages) in [("+", &more), ("-", &less)] {
        notes.extend(listed(sign, passages));
    }
    if first.answer != other.answer {
        let answer = other.answer.as_deref().unwrap_or("none");
        notes.push(format!("answer: {}", one_line(answer, ANSWER)));
    }
    notes
}

fn listed(sign: &str, passages: &[&FoundPassage]) -> Option<String> {
    let shown = passages.iter().take(MOST_PASSAGES);
    let shown = shown.map(|found| format!("{sign}{}:{}", found.source, found.place));
    let mut shown: Vec<String> = shown.collect();
    if let Some(more) = passages
        .len()
        .checked_sub(MOST_PASSAGES)
        .filter(|more| *more > 0)
    {
        shown.push(format!("{sign}{more} more"));
    }
    (!shown.is_empty()).then(|| format!("evidence: {}", shown.join(" ")))
}
