//! The recorded runs as a list, whole or searched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::output::{CommandFailure, NOTHING, or_nothing, print_json, print_notice, print_text};
use super::output::{table_within, terminal_width};
use crate::audit::{Lookup, check_is_log};
use crate::config::Settings;
use crate::domain::{Complexity, Outcome};
use crate::protocol::{Mode, RunSummary};
use crate::text::{excerpt_around, one_line};

/// The longest part of a question that a table shows, in characters.
const QUESTION: usize = 200;

/// Which audit log a command reads.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Read this audit log instead of KB_AGENT_AUDIT_LOG, such as one of 'eval run'
    #[arg(long, value_name = "FILE", global = true)]
    log: Option<PathBuf>,
}

impl LogArgs {
    /// The settings, with the log that the command line names.
    pub(super) fn settings(&self, settings: &Settings) -> Result<Settings, CommandFailure> {
        with_log(self.log.as_deref(), settings)
    }
}

/// The settings with another log, which must be there.
pub(super) fn with_log(
    log: Option<&Path>,
    settings: &Settings,
) -> Result<Settings, CommandFailure> {
    let mut settings = settings.clone();
    if let Some(log) = log {
        if !log.is_file() {
            let why = format!("there is no audit log {}", log.display());
            return Err(CommandFailure::failed(why));
        }
        // Who names a link means the file.
        let file = log.canonicalize().unwrap_or_else(|_| log.to_owned());
        check_is_log(&file).map_err(|error| error.trouble())?;
        log.clone_into(&mut settings.audit_log);
    }
    Ok(settings)
}

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub(super) struct Runs {
    #[command(flatten)]
    log: LogArgs,
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
    let settings = runs.log.settings(settings)?;
    match &runs.grep {
        Some(words) => search(&settings, runs, words),
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

/// Prints the runs whose question or answer holds each of these words, newest first, with the words
/// around the first of them.
fn search(settings: &Settings, runs: &Runs, words: &str) -> Result<(), CommandFailure> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Err(CommandFailure::usage("--grep needs a word to look for"));
    }
    let lookup = Lookup::open(&settings.audit_log)?;
    let among: Vec<&RunSummary> = match &runs.session {
        Some(session) => lookup.session(session)?,
        None => lookup.runs().iter().collect(),
    };
    let answers = lookup.answers()?;
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
    let titles = "id|time|question|answer";
    let text = table_within(terminal_width(), titles, "time|answer", &rows);
    Ok(print_text(text)?)
}

/// Prints the runs of a log, newest first, or those of one of its sessions.
pub(super) fn list(log: &Path, session: Option<&str>, json: bool) -> Result<(), CommandFailure> {
    let lookup = Lookup::open(log)?;
    let mut listed: Vec<&RunSummary> = match session {
        Some(session) => lookup.session(session)?,
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
    let rows: Vec<_> = listed.iter().map(|run| row(run, &names)).collect();
    let is_offline = listed.iter().all(|run| run.mode == Mode::Offline);
    let calls = if is_offline { "steps" } else { "calls" };
    let titles = format!("id|time|route|outcome|{calls}|saved|question");
    let spare = format!("saved|{calls}|route|time|outcome");
    let text = table_within(terminal_width(), &titles, &spare, &rows);
    Ok(print_text(text)?)
}

/// A line for a run, called by its name where it has one.
fn row(run: &RunSummary, names: &BTreeMap<&str, &str>) -> Vec<String> {
    let id = &*run.id.0;
    let again = run.rerun.as_ref().map(|rerun| rerun.in_words() + ": ");
    let question = again.unwrap_or_default() + &run.question;
    vec![
        one_line(names.get(id).unwrap_or(&id), 64),
        run.time.minute(),
        run.route.map_or(NOTHING, Complexity::as_str).to_owned(),
        outcome(run),
        or_nothing(run.calls),
        or_nothing(run.saved),
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
