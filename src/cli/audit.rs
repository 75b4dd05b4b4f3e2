//! The audit log, checked.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::output::{CommandFailure, print_text};
use crate::audit::{LogVerification, verify};
use crate::config::Settings;
use crate::text::plural;

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
pub(super) fn run(audit: &Audit, settings: &Settings) -> Result<(), CommandFailure> {
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
