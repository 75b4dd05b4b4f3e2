//! Recorded runs as a document to keep or to pass on.

use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::runtime::Runtime;

use super::chat::setup_of_run;
use super::labels::read_labels;
use super::output::{CommandFailure, print_json, print_text};
use super::runs::LogArgs;
use crate::audit::Lookup;
use crate::config::Settings;
use crate::engine::trace_sender;
use crate::protocol::{Event, RecordedRun, RunRecord, RunSummary, SCHEMA};
use crate::report;
use crate::telemetry::{TraceDetail, TraceForm, trace_request};
use crate::text::{one_line, plural};
use crate::tui::{LEAST, record_replay};

/// The longest part of a question that a cast is called by, in characters.
const TITLE: usize = 200;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    log: LogArgs,
    /// A run or a conversation from the audit log: its id (any unique prefix or suffix) or
    /// 'last'
    #[arg(value_name = "RUN|SESSION")]
    name: String,
    /// How to write it
    #[arg(long, value_enum, default_value_t = ExportFormat::Md)]
    format: ExportFormat,
    /// Send the traces to the collector of KB_AGENT_OTLP_ENDPOINT, and write nothing
    #[arg(long, conflicts_with = "format")]
    send: bool,
    /// Size of the terminal that a cast shows [default: 120x36]
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = size)]
    size: Option<(u16, u16)>,
}

/// Columns and rows of a cast of which no size is given.
const SIZE: (u16, u16) = (120, 36);
/// The most columns or rows of a cast; the least are those that the screen needs.
const MOST: u16 = 500;

fn size(text: &str) -> Result<(u16, u16), String> {
    let sides = text.split_once('x').and_then(|(columns, rows)| {
        let (columns, rows) = (columns.parse().ok()?, rows.parse().ok()?);
        let is_enough = (LEAST.0..=MOST).contains(&columns) && (LEAST.1..=MOST).contains(&rows);
        is_enough.then_some((columns, rows))
    });
    sides.ok_or_else(|| {
        let (columns, rows) = LEAST;
        format!("must be from {columns}x{rows} to {MOST}x{MOST}, such as 120x36")
    })
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
    if export.size.is_some() && !matches!(export.format, ExportFormat::Cast) {
        return Err(CommandFailure::usage("--size goes with --format cast"));
    }
    let settings = &export.log.settings(settings)?;
    let lookup = Lookup::open(&settings.audit_log)?;
    let wanted = lookup.run_or_session(&export.name)?;
    if export.send {
        let events = lookup.events(&wanted)?;
        let url = send_traces(&events, settings)?;
        return Ok(print_text(format!(
            "sent {} to {url}\n",
            plural(wanted.len(), "run")
        ))?);
    }
    let records = || -> Result<Vec<RunRecord>, CommandFailure> {
        let mut records = lookup.records(&wanted)?;
        read_labels(&settings.audit_log).attach_to(&mut records);
        Ok(records)
    };
    match export.format {
        ExportFormat::Md => print_text(report::markdown(&records()?))?,
        ExportFormat::Html => print_text(report::html(&records()?))?,
        ExportFormat::Json => print_json(&json!({"schema": SCHEMA, "runs": records()?}))?,
        ExportFormat::Otlp => {
            let events = lookup.events(&wanted)?;
            let form = TraceForm {
                detail: TraceDetail::from_audit_prompts(settings.audit_prompts),
                ..TraceForm::default()
            };
            print_json(&trace_request(&events, &form))?;
        }
        ExportFormat::Cast => {
            let size = export.size.unwrap_or(SIZE);
            print_cast(&lookup, &wanted, size, settings)?;
        }
    }
    Ok(())
}

/// Sends the trace of each of the runs, and returns where to.
fn send_traces(events: &[Event], settings: &Settings) -> Result<String, CommandFailure> {
    let runtime = Runtime::new().map_err(CommandFailure::failed)?;
    runtime.block_on(async {
        let sender = trace_sender(settings)?.ok_or_else(|| {
            CommandFailure::usage("no collector is set: set KB_AGENT_OTLP_ENDPOINT")
        })?;
        for run in events.chunk_by(|one, next| one.run == next.run) {
            sender.send_run(run).await.map_err(CommandFailure::failed)?;
        }
        Ok(sender.url())
    })
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
    let recorded = RecordedRun {
        events: lookup.events(wanted)?,
        labels: read_labels(&settings.audit_log).of_run(&run.id),
    };
    let setup = setup_of_run(run, settings);
    let outputs =
        record_replay(setup, recorded, (width, height).into()).map_err(CommandFailure::failed)?;
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
