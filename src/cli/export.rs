//! Recorded runs as a document to keep or to pass on.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::output::{CommandFailure, print_json, print_text};
use crate::audit::Lookup;
use crate::config::Settings;
use crate::protocol::SCHEMA;
use crate::report;

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
pub(super) fn run(export: &Export, settings: &Settings) -> Result<(), CommandFailure> {
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
