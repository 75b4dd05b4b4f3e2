use std::sync::Arc;

use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::output::{CommandFailure, print_json, print_text};
use super::runs::LogArgs;
use crate::config::Settings;
use crate::engine::{AskedPassage, explain_passage, open_knowledge};
use crate::protocol::SCHEMA;
use crate::report;
use crate::text::sanitize;

/// Arguments of `why`.
#[derive(Debug, Args)]
pub(super) struct Why {
    #[command(flatten)]
    log: LogArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// A run from the audit log: its id (any unique prefix or suffix) or 'last'
    #[arg(value_name = "RUN")]
    run: String,
    /// A document of the knowledge base, and a line of the passage; without a line the passage that comes
    /// nearest to the question
    #[arg(value_name = "FILE[:LINE]")]
    place: String,
}

/// Prints why a passage is or is not in what a run found.
pub(super) fn run(why: &Why, settings: &Settings) -> Result<(), CommandFailure> {
    let settings = why.log.settings(settings)?;
    let (file, line) = parted(&why.place);
    let base = Arc::new(open_knowledge(&settings)?);
    let asked = AskedPassage {
        run: why.run.clone(),
        file: file.to_owned(),
        line,
    };
    let report = explain_passage(
        &base,
        &settings.audit_log,
        &asked,
        &CancellationToken::new(),
    )?;
    if why.json {
        let mut value = json!(report);
        value["schema"] = json!(SCHEMA);
        value["summary"] = json!(report::why_summary(&report));
        return Ok(print_json(&value)?);
    }
    let lines = report::why_lines(&report);
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("{}\n", sanitize(line)))
        .collect();
    Ok(print_text(lines.concat())?)
}

/// A file and its line.
fn parted(place: &str) -> (&str, Option<usize>) {
    let parted = place.rsplit_once(':');
    let parted = parted.and_then(|(file, line)| Some((file, line.parse().ok()?)));
    match parted {
        Some((file, line)) if !file.is_empty() => (file, Some(line)),
        _ => (place, None),
    }
}
