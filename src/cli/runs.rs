use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::output::{Column, Side, column, table, terminal_width};
use super::output::{CommandFailure, NOTHING, print_json, print_notice, print_text};
use crate::audit::{LogVerification, Lookup, verify};
use crate::config::Settings;
use crate::domain::{Complexity, Outcome};
use crate::protocol::{Mode, RunSummary, SCHEMA};
use crate::report;
use crate::text::{one_line, plural};

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
}

/// Prints the recorded runs, newest first.
pub(super) fn run(runs: &Runs, settings: &Settings) -> Result<(), CommandFailure> {
    list(&settings.audit_log, runs.session.as_deref(), runs.json)
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
pub(super) fn in_table(
    listed: &[&RunSummary],
    names: &BTreeMap<&str, &str>,
    width: Option<usize>,
) -> String {
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

// Recorded runs as a document to keep or to pass on.

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// A run or a conversation from the audit log: its id (any unique prefix or suffix) or
    /// 'last'
    #[arg(value_name = "RUN|SESSION")]
    name: String,
    /// How to write it
    #[arg(long, value_enum, default_value_t = ExportFormat::Md)]
    format: ExportFormat,
}

/// How an exported run is written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ExportFormat {
    /// Markdown
    Md,
    /// One page that needs nothing else
    Html,
    /// One JSON object
    Json,
}

/// Prints what is recorded of a run, or of all runs of a conversation.
pub(super) fn run_export(export: &Export, settings: &Settings) -> Result<(), CommandFailure> {
    let lookup = Lookup::open(&settings.audit_log).map_err(CommandFailure::failed)?;
    let wanted = lookup
        .run_or_session(&export.name)
        .map_err(CommandFailure::failed)?;
    let records = lookup.records(&wanted).map_err(CommandFailure::failed)?;
    let said = match export.format {
        ExportFormat::Md => print_text(report::markdown(&records)),
        ExportFormat::Html => print_text(report::html(&records)),
        ExportFormat::Json => print_json(&json!({"schema": SCHEMA, "runs": records})),
    };
    Ok(said?)
}

/// Arguments of `audit`.
#[derive(Debug, Args)]
pub(super) struct Audit {
    #[command(subcommand)]
    what: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Check that no line of the audit log was changed, removed or added
    Verify {
        /// Another log than KB_AGENT_AUDIT_LOG
        #[arg(value_name = "LOG")]
        log: Option<PathBuf>,
    },
}

/// Says whether the log is as it was written.
pub(super) fn run_audit(audit: &Audit, settings: &Settings) -> Result<(), CommandFailure> {
    let AuditCommand::Verify { log } = &audit.what;
    let path = log.as_ref().unwrap_or(&settings.audit_log);
    let shown = path.display();
    let found = verify(path).map_err(CommandFailure::failed)?;
    if let Some(fault) = found.fault() {
        return Err(CommandFailure::failed(fault));
    }
    if found.files > 0 {
        return Ok(print_text(format!("{shown}: {}\n", summary(&found)))?);
    }
    match log {
        Some(_) => Err(CommandFailure::failed(format!(
            "there is no audit log {shown}"
        ))),
        None => Ok(print_text(format!(
            "no audit log yet: the first question makes {shown}\n"
        ))?),
    }
}

/// What holds, and what cannot be known.
fn summary(found: &LogVerification) -> String {
    let lines = plural(found.lines as usize, "line");
    let mut text = match found.files {
        0 | 1 => lines,
        files => format!("{lines} in {files} parts"),
    };
    text.push_str(&match found.chained_from() {
        None if found.lines == 0 => ", nothing to check".to_owned(),
        None => ", none of them chained, as in logs of older versions: nothing can be said of them"
            .to_owned(),
        Some(1) => ", the chain holds".to_owned(),
        Some(first) => format!(", the chain holds from line {first} on; those before have none"),
    });
    if found.unreadable > 0 {
        let cut = plural(found.unreadable as usize, "line");
        text.push_str(&format!("; {cut} cut short or too long to be read"));
    }
    if let Some((first, last)) = found.chained_times {
        text.push_str(&format!("\nevents of the chain: {first} to {last}"));
    }
    if let Some(last) = &found.last {
        text.push_str(&format!("\nlast line: {last}"));
    }
    text
}
