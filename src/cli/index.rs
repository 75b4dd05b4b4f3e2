use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::catch_up::{Part, update};
use super::interruption::interruptible;
use super::output::{Failure, complain, say, say_json};
use crate::config::Settings;
use crate::engine::{open_knowledge, open_knowledge_for_rebuild};
use crate::kb::UpdateReport;
use crate::text::sanitize;

/// Arguments of `index`.
#[derive(Debug, Args)]
pub(super) struct Index {
    /// Start from nothing instead of updating
    #[arg(long)]
    rebuild: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Builds or updates the index and says what is in it.
pub(super) fn run(index: &Index, settings: &Settings) -> Result<(), Failure> {
    settings
        .without_effect
        .iter()
        .for_each(|line| complain(line));
    let knowledge = if index.rebuild {
        open_knowledge_for_rebuild(settings)?
    } else {
        open_knowledge(settings)?
    };
    let started = Instant::now();
    let knowledge = Arc::new(knowledge);
    let report = interruptible(async |cancel| {
        let part = if index.rebuild {
            Part::Afresh
        } else {
            Part::Words
        };
        let words = update(knowledge.clone(), part, &cancel).await?;
        let mut report = words.map_err(Failure::failed)?;
        let status = knowledge.status();
        if status.pending > 0 {
            complain(&format!(
                "the words of {} documents can be searched; embedding {} passages",
                status.documents, status.pending
            ));
            let meaning = update(knowledge.clone(), Part::Meaning, &cancel).await?;
            report.embedded += meaning.map_err(Failure::failed)?.embedded;
        }
        Ok(report)
    })?;
    let name = knowledge.status().name;
    if index.json {
        say_json(&as_json(&name, &report, started.elapsed()))?;
    } else {
        say(as_text(&name, &report, started.elapsed()))?;
    }
    Ok(())
}

fn as_text(name: &str, report: &UpdateReport, took: Duration) -> String {
    let mut text = format!(
        "{}: {} documents, {} chunks; {} added, {} changed, {} moved, {} removed, {} unchanged; {} embedded in {:.1} s\n",
        sanitize(name),
        report.documents,
        report.chunks,
        report.added,
        report.changed,
        report.moved,
        report.removed,
        report.unchanged,
        report.embedded,
        took.as_secs_f64()
    );
    for skipped in &report.skipped {
        text.push_str(&format!(
            "left out: {}: {}\n",
            sanitize(&skipped.path),
            skipped.reason
        ));
    }
    text
}

fn as_json(name: &str, report: &UpdateReport, took: Duration) -> serde_json::Value {
    let skipped: Vec<_> = report
        .skipped
        .iter()
        .map(|skipped| json!({"path": skipped.path, "reason": skipped.reason.to_string()}))
        .collect();
    json!({
        "name": name,
        "documents": report.documents,
        "chunks": report.chunks,
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "embedded": report.embedded,
        "skipped": skipped,
        "ms": took.as_millis() as u64,
    })
}
