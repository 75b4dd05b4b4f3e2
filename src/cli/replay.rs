use std::path::{Path, PathBuf};

use clap::Args;
use tokio::sync::watch;

use super::interruption::interruptible_screen;
use super::output::{CommandFailure, print_json};
use super::plain;
use super::runs;
use super::screen_files::{own_files, read_split};
use crate::audit::{Lookup, events_of_run};
use crate::config::Settings;
use crate::engine::channels;
use crate::protocol::{Event, JobModels, RunSummary};
use crate::report::markdown;
use crate::tui::{Setup, ThemeName, replay};

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// Another log than KB_AGENT_AUDIT_LOG, and a run: its id (any unique prefix or suffix)
    /// or 'last' [default: last]
    #[arg(value_name = "LOG|RUN", num_args = 0..=2)]
    names: Vec<String>,
    /// Print the runs, newest first
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Print the events of this run, one JSON object a line
    #[arg(long, value_name = "RUN")]
    json: Option<String>,
}

/// Opens a recorded run in the screen, step by step; no call is made.
pub(super) fn run(wanted: &ReplayArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let (log, run) = log_and_run(wanted, settings)?;
    if wanted.list {
        return runs::list(&log, None, false);
    }
    let lookup = Lookup::open(&log).map_err(CommandFailure::failed)?;
    if lookup.runs().is_empty() {
        let log = log.display();
        return Err(CommandFailure::failed(format!(
            "no runs are recorded in {log}"
        )));
    }
    let events = events_of_run(&log, run).map_err(CommandFailure::failed)?;
    if wanted.json.is_some() {
        for event in events {
            print_json(&event)?;
        }
        return Ok(());
    }
    if plain::is_needed() {
        return Err(CommandFailure::usage(
            "the screen needs a terminal that can be drawn on; 'kb-agent replay --json RUN' prints a run's events",
        ));
    }
    show(
        events,
        lookup.run(run).map_err(CommandFailure::failed)?,
        settings,
    )
}

/// The log, and what the run is called.
fn log_and_run<'a>(
    wanted: &'a ReplayArgs,
    settings: &Settings,
) -> Result<(PathBuf, &'a str), CommandFailure> {
    let (log, named) = match wanted.names.as_slice() {
        [] => (None, None),
        [one] if is_file_name(one) => (Some(one), None),
        [one] => (None, Some(one)),
        [log, run, ..] => (Some(log), Some(run)),
    };
    let run = match (named, &wanted.json) {
        (Some(named), Some(_)) => {
            let why = format!("--json names the run already; what is '{named}'?");
            return Err(CommandFailure::usage(why));
        }
        (named, json) => named.or(json.as_ref()).map_or("last", String::as_str),
    };
    let Some(log) = log.map(PathBuf::from) else {
        return Ok((settings.audit_log.clone(), run));
    };
    if log.is_file() {
        return Ok((log, run));
    }
    let log = log.display();
    Err(CommandFailure::failed(format!(
        "there is no audit log {log}"
    )))
}

/// Whether this names a log and no run: a file that is there, or what looks like one.
fn is_file_name(name: &str) -> bool {
    let path = Path::new(name);
    path.is_file() || path.components().count() > 1 || path.extension().is_some()
}

fn show(events: Vec<Event>, run: &RunSummary, settings: &Settings) -> Result<(), CommandFailure> {
    let setup = Setup {
        theme: ThemeName::parse(&settings.theme).unwrap_or_default(),
        no_color: settings.no_color,
        mode: run.mode,
        models: JobModels::same_for_all(&run.model),
        endpoint: None,
        limits: settings.limits,
        samples: Vec::new(),
        notices: Vec::new(),
        is_opening: false,
        resumed: None,
        own: own_files(settings),
        mouse: settings.mouse,
        split: watch::Sender::new(read_split(settings)),
        markdown,
        walk: Vec::new(),
    };
    interruptible_screen(async |cancel| {
        let ((commands, updates), ends) = channels();
        let reading = tokio::spawn(ends.read_documents(settings.clone()));
        let shown = replay(setup, events, commands, updates, cancel.clone()).await;
        reading.abort();
        if cancel.is_cancelled() {
            return Err(CommandFailure::interrupted());
        }
        shown.map_err(CommandFailure::failed)
    })
}
