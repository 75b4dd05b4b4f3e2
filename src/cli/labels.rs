//! What people said of recorded runs: listed, held against what was decided, written as test sets.

mod agreement;
mod export;
mod judged;

use clap::{Args, Subcommand};
use serde_json::json;

use super::eval::figures_as_text;
use super::output::{CommandFailure, print_json, print_notice, print_text};
use super::output::{table_within, terminal_width};
use super::runs::LogArgs;
use crate::config::Settings;
use crate::domain::LabelTarget;
use crate::protocol::Label;
use crate::text::{one_line, plural};
use judged::{JudgedRuns, NOTHING_LABELLED};

pub(super) use judged::read_labels;

/// The longest part of a question or a path that a table shows, in characters.
const LONGEST: usize = 200;

const COLUMNS: &str = "run|time|what|verdict|question or passage";

/// Arguments of `labels`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct LabelsArgs {
    #[command(flatten)]
    log: LogArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    what: Option<LabelsCommand>,
}

#[derive(Debug, Subcommand)]
enum LabelsCommand {
    /// Write test sets for 'eval routing', 'eval grading' and 'eval run'
    Export(export::ExportLabels),
}

/// Lists the labels, or writes them as test sets.
pub(super) fn run(args: &LabelsArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let settings = &args.log.settings(settings)?;
    let judged = JudgedRuns::read(settings)?;
    match &args.what {
        Some(LabelsCommand::Export(export)) => export::run(export, &judged, settings),
        None => list(&judged, args.json, settings),
    }
}

fn list(judged: &JudgedRuns, json: bool, settings: &Settings) -> Result<(), CommandFailure> {
    let mut report = agreement::compare(judged, settings)?;
    if json {
        report["labels"] = json!(judged.labels);
        report["runs_not_in_the_log"] = json!(judged.missing);
        return Ok(print_json(&report)?);
    }
    if judged.labels.is_empty() {
        print_notice(NOTHING_LABELLED);
        return Ok(());
    }
    let rows = judged.labels.iter().map(|label| row(judged, label));
    let rows: Vec<Vec<String>> = rows.collect();
    let listed = table_within(terminal_width(), COLUMNS, "run|time", &rows);
    let agreement = figures_as_text(&report);
    print_text(format!("{listed}\n{}", agreement.trim_start()))?;
    if settings.llm.is_some() && !report["routes_taken"].is_null() {
        print_notice(
            "today's router is a model: 'kb-agent labels export' and 'kb-agent eval routing' ask it",
        );
    }
    if judged.missing > 0 {
        let runs = plural(judged.missing, "judged run");
        print_notice(&format!(
            "{runs} not in {} any more: what was asked there is not known",
            settings.audit_log.display()
        ));
    }
    Ok(())
}

/// A line of the list.
fn row(judged: &JudgedRuns, label: &Label) -> Vec<String> {
    let run = judged.run(&label.run);
    let question = run.map_or("not in the log", |run| run.summary.question.as_str());
    let verdict = label.verdict.in_words();
    let (what, verdict, subject) = match &label.target {
        LabelTarget::Answer => ("answer", verdict, question.to_owned()),
        LabelTarget::Route => {
            let taken = run.and_then(|run| run.summary.route);
            let verdict = taken.map_or(verdict.clone(), |taken| {
                let join = if label.verdict.is_good() { " is" } else { "" };
                format!("{taken}{join} {verdict}")
            });
            ("route", verdict, question.to_owned())
        }
        LabelTarget::Passage { id } => {
            let items = run.into_iter().flat_map(|run| &run.evidence);
            let item = items.map(|known| &known.item).find(|item| item.id == *id);
            let place = item.map(|item| format!("{}:{}", item.source, item.location()));
            (
                "passage",
                verdict,
                place.unwrap_or_else(|| question.to_owned()),
            )
        }
    };
    vec![
        one_line(judged.name(&label.run), 64),
        label.ts.minute(),
        what.to_owned(),
        verdict,
        one_line(&subject, LONGEST),
    ]
}
