//! Recorded runs as a document to keep or to pass on.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::chat::setup_of_run;
use super::labels::read_labels;
use super::output::{CommandFailure, print_json, print_text};
use crate::audit::Lookup;
use crate::config::Settings;
use crate::protocol::{RunSummary, SCHEMA};
use crate::report;
use crate::telemetry::{TraceDetail, trace_request};
use crate::text::one_line;
use crate::tui::record_replay;

/// The longest part of a question that a cast is called by, in characters.
const TITLE: usize = 200;

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
    /// Size of the terminal that a cast shows
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "120x36", value_parser = size)]
    size: (u16, u16),
}

/// The smallest and the largest number of columns or rows of a cast.
const CELLS: std::ops::RangeInclusive<u16> = 10..=500;

fn size(text: &str) -> Result<(u16, u16), String> {
    let sides = text.split_once('x').and_then(|(columns, rows)| {
        let (columns, rows) = (columns.parse().ok()?, rows.parse().ok()?);
        (CELLS.contains(&columns) && CELLS.contains(&rows)).then_some((columns, rows))
    });
    sides.ok_or_else(|| "must be columns and rows from 10 to 500, such as 120x36".to_owned())
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
    /// OpenTelemetry traces (OTLP as JSON), with texts where KB_AGENT_AUDIT_PROMPTS=1
    Otlp,
    /// A recording of the screen for asciinema, of one run
    Cast,
}

/// Prints what is recorded of a run, or of all runs of a conversation.
pub(super) fn run(export: &Export, settings: &Settings) -> Result<(), CommandFailure> {
    let lookup = Lookup::open(&settings.audit_log).map_err(CommandFailure::failed)?;
    let wanted = lookup
        .run_or_session(&export.name)
        .map_err(CommandFailure::failed)?;
    match export.format {
        ExportFormat::Cast => return print_cast(&lookup, &wanted, export.size, settings),
        ExportFormat::Otlp => {
            let events = lookup.events(&wanted).map_err(CommandFailure::failed)?;
            let detail = TraceDetail::from_audit_prompts(settings.audit_prompts);
            return Ok(print_json(&trace_request(&events, detail))?);
        }
        ExportFormat::Md | ExportFormat::Html | ExportFormat::Json => {}
    }
    let mut records = lookup.records(&wanted).map_err(CommandFailure::failed)?;
    read_labels(&settings.audit_log).put_on(&mut records);
    let said = match export.format {
        ExportFormat::Md => print_text(report::markdown(&records)),
        ExportFormat::Html => print_text(report::html(&records)),
        ExportFormat::Json => print_json(&json!({"schema": SCHEMA, "runs": records})),
        ExportFormat::Cast | ExportFormat::Otlp => Ok(()),
    };
    Ok(said?)
}

/// Prints the replay of a run as asciinema records a terminal (asciicast v2).
fn print_cast(
    lookup: &Lookup<'_>,
    wanted: &[&RunSummary],
    (width, height): (u16, u16),
    settings: &Settings,
) -> Result<(), CommandFailure> {
    let [run] = wanted else {
        let why = format!(
            "a cast shows one run, and this conversation has {}",
            wanted.len()
        );
        return Err(CommandFailure::usage(why));
    };
    let events = lookup.events(wanted).map_err(CommandFailure::failed)?;
    let setup = setup_of_run(run, settings);
    let outputs =
        record_replay(setup, events, (width, height).into()).map_err(CommandFailure::failed)?;
    let outputs = outputs.ok_or_else(|| CommandFailure::failed("this run has no beginning"))?;
    print_json(&json!({
        "version": 2,
        "width": width,
        "height": height,
        "timestamp": run.time.0 / 1000,
        "title": one_line(&run.question, TITLE),
        "env": {"TERM": "xterm-256color"},
    }))?;
    for (seconds, written) in outputs {
        print_json(&json!([seconds, "o", written]))?;
    }
    Ok(())
}
