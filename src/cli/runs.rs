//! The recorded runs as a list, whole or searched.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::output::{Column, Side, column, table, terminal_width};
use super::output::{CommandFailure, NOTHING, print_json, print_notice, print_text};
use crate::audit::Lookup;
use crate::config::Settings;
use crate::domain::{Complexity, Outcome};
use crate::protocol::{Mode, RunSummary};
use crate::text::{excerpt_around, one_line};

/// The longest part of a question that a table shows, in characters.
const QUESTION: usize = 200;

/// Columns that are left out first where there is no room have the largest numbers.
const COLUMNS: [Column; 7] = [
    column("id", Side::Left, 0),
    column("time", Side::Left, 2),
    column("route", Side::Left, 3),
    column("outcome", Side::Left, 1),
    column("calls", Side::Right, 4),
    column("saved", Side::Right, 5),
    column("question", Side::Left, 0),
];

/// The column of the calls; where no model is asked they are steps.
const CALLS: usize = 4;

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub(super) struct Runs {
    /// Print one JSON object a run
    #[arg(long)]
    json: bool,
    /// Only the runs of this conversation: its id (any unique prefix or suffix)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only the runs whose question or answer holds these words, in either case
    #[arg(long, value_name = "WORDS")]
    grep: Option<String>,
}

/// Prints the recorded runs, newest first.
pub(super) fn run(runs: &Runs, settings: &Settings) -> Result<(), CommandFailure> {
    match &runs.grep {
        Some(words) => search(settings, runs, words),
        None => list(&settings.audit_log, runs.session.as_deref(), runs.json),
    }
}

/// A run that holds the words; its serde form is a line of `runs --grep --json`.
#[derive(Debug, Serialize)]
struct FoundRun<'r> {
    #[serde(flatten)]
    run: &'r RunSummary,
    /// What stands around the first of the words in the answer.
    excerpt: String,
}

/// The columns of a search.
const FOUND: [Column; 4] = [
    column("id", Side::Left, 0),
    column("time", Side::Left, 2),
    column("question", Side::Left, 0),
    column("answer", Side::Left, 1),
];

/// Prints the runs whose question or answer holds each of these words, newest first, with the words
/// around the first of them.
fn search(settings: &Settings, runs: &Runs, words: &str) -> Result<(), CommandFailure> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Err(CommandFailure::usage("--grep needs a word to look for"));
    }
    let lookup = Lookup::open(&settings.audit_log).map_err(CommandFailure::failed)?;
    let among: Vec<&RunSummary> = match &runs.session {
        Some(session) => lookup.session(session).map_err(CommandFailure::failed)?,
        None => lookup.runs().iter().collect(),
    };
    let answers = lookup.answers().map_err(CommandFailure::failed)?;
    let answer = |run: &RunSummary| answers.get(&run.id).map_or("", String::as_str);
    let holds_all = |run: &&&RunSummary| {
        let text = format!("{}\n{}", run.question, answer(run)).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let found: Vec<&RunSummary> = among.iter().rev().filter(holds_all).copied().collect();
    let excerpt =
        |run: &RunSummary| excerpt_around(answer(run), words.iter().map(String::as_str), QUESTION);
    if runs.json {
        for run in found {
            let excerpt = excerpt(run);
            print_json(&FoundRun { run, excerpt })?;
        }
        return Ok(());
    }
    if found.is_empty() {
        print_notice("no recorded question or answer holds these words");
        return Ok(());
    }
    let names = lookup.short_names();
    let row = |run: &&RunSummary| {
        let id = &*run.id.0;
        vec![
            one_line(names.get(id).unwrap_or(&id), 64),
            run.time.minute(),
            one_line(&run.question, QUESTION / 2),
            excerpt(run),
        ]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    Ok(print_text(table(&FOUND, &rows, terminal_width()))?)
}

/// Prints the runs of a log, newest first, or those of one of its sessions.
pub(super) fn list(log: &Path, session: Option<&str>, json: bool) -> Result<(), CommandFailure> {
    let lookup = Lookup::open(log).map_err(CommandFailure::failed)?;
    let mut listed: Vec<&RunSummary> = match session {
        Some(session) => lookup.session(session).map_err(CommandFailure::failed)?,
        None => lookup.runs().iter().collect(),
    };
    listed.reverse();
    if json {
        for run in listed {
            print_json(run)?;
        }
        return Ok(());
    }
    if listed.is_empty() {
        let log = log.display();
        print_notice(&format!(
            "no runs yet: the first question makes the audit log {log}"
        ));
        return Ok(());
    }
    let names = lookup.short_names();
    Ok(print_text(in_table(&listed, &names, terminal_width()))?)
}

/// A line for each run, called by its name where it has one, for lines of at most `width` cells.
fn in_table(listed: &[&RunSummary], names: &BTreeMap<&str, &str>, width: Option<usize>) -> String {
    let rows: Vec<_> = listed.iter().map(|run| row(run, names)).collect();
    let mut columns = COLUMNS;
    if listed.iter().all(|run| run.mode == Mode::Offline) {
        columns[CALLS].title = "steps";
    }
    table(&columns, &rows, width)
}

fn row(run: &RunSummary, names: &BTreeMap<&str, &str>) -> Vec<String> {
    let id = &*run.id.0;
    let again = run.rerun.as_ref().map(|rerun| rerun.in_words() + ": ");
    let question = again.unwrap_or_default() + &run.question;
    vec![
        one_line(names.get(id).unwrap_or(&id), 64),
        run.time.minute(),
        run.route.map_or(NOTHING, Complexity::as_str).to_owned(),
        outcome(run),
        number(run.calls),
        number(run.saved),
        one_line(&question, QUESTION),
    ]
}

/// How it ended, and how sure its answer is.
fn outcome(run: &RunSummary) -> String {
    let outcome = run.outcome.map_or(NOTHING, Outcome::as_str);
    match run.confidence_level {
        Some(level) => format!("{outcome}, {}", level.advice()),
        None => outcome.to_owned(),
    }
}

fn number(figure: Option<u32>) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), |figure| figure.to_string())
}
