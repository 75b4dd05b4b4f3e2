//! `doctor`: what is wrong, and what to do about it.
//!
//! The parts examine themselves, behind [`crate::engine::doctor`]; the terminal is this room's own
//! and is looked at here. Checks are shown as they come, because a slow server is one of the things
//! that people run this for.

mod report;
mod terminal;

use std::io;
use std::path::Path;

use clap::Args;

use super::interruption::interruptible;
use super::output::CommandFailure;
use super::screen_files::own_files;
use crate::config::{Overrides, Settings, Survey, survey_of};
use crate::engine::doctor::{Check, ExaminationProgress, Status, examine};
use crate::text::plural;
use crate::tui::{check_keymap, check_theme};
use report::{DoctorReport, as_json};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What the command line says beside the arguments of `doctor` itself.
pub(super) struct CommandLine<'a> {
    /// `--env-file`.
    pub env_file: Option<&'a Path>,
    /// `--kb`, `--data-dir` and `-v`.
    pub overrides: Overrides,
}

/// Examines everything and says how it is.
pub(super) fn run(doctor: &Doctor, given: &CommandLine<'_>) -> Result<(), CommandFailure> {
    let survey = survey_of(given.env_file, &given.overrides);
    let _diagnostics = survey.settings.as_ref().and_then(super::diagnostics::start);
    let mut report = DoctorReport::new(!doctor.json);
    report.settings(&survey.listed);
    let checks = interruptible(async |cancel| {
        let mut checks = Vec::new();
        let mut written = Ok(());
        let mut show = |progress: ExaminationProgress| {
            if written.is_ok() {
                written = report.progress(&progress);
            }
            if let ExaminationProgress::Checked(check) = progress {
                checks.push(check);
            }
        };
        tokio::select! {
            () = examine(&survey, &mut show) => {}
            () = cancel.cancelled() => {
                report.erase_waiting();
                return Err(CommandFailure::interrupted());
            }
        }
        let own = survey.settings.as_ref().map(check_own_files);
        for check in own.into_iter().flatten().chain(terminal::checks()) {
            show(ExaminationProgress::Checked(check));
        }
        written?;
        Ok(checks)
    })?;
    let result = if doctor.json {
        super::output::print_json(&as_json(&survey.listed, &checks))
    } else {
        report.summary(&checks)
    };
    end(&survey, &checks, result)
}

/// A setting that cannot be used ends every command in the same way; else what is broken does.
fn end(survey: &Survey, checks: &[Check], written: io::Result<()>) -> Result<(), CommandFailure> {
    written?;
    if let Some(error) = survey.refused.first() {
        return Err(CommandFailure::usage(error));
    }
    let is_broken = |check: &&Check| check.status == Status::Broken;
    let broken: Vec<&Check> = checks.iter().filter(is_broken).collect();
    match broken.first() {
        None => Ok(()),
        Some(first) => Err(CommandFailure::failed(format!(
            "{} found broken, the first: {}, {}",
            plural(broken.len(), "thing"),
            first.area,
            first.name
        ))),
    }
}

/// One check for each file of themes and keys that is wrong, and one for those that are read.
fn check_own_files(settings: &Settings) -> Vec<Check> {
    let own = own_files(settings);
    let wrong = |what: String| Check::note("unused", what, "correct that file, or remove it");
    let mut checks: Vec<Check> = own.unreadable.into_iter().map(wrong).collect();
    let (mut read, mut mistakes) = (Vec::new(), Vec::new());
    for (name, source) in &own.themes {
        match check_theme(source) {
            Ok(()) => read.push(format!("themes/{name}.toml")),
            Err(why) => mistakes.push(format!("themes/{name}.toml: {why}")),
        }
    }
    match own.keymap.as_deref().map(check_keymap) {
        Some(Ok(())) => read.push("keymap.toml".to_owned()),
        Some(Err(why)) => mistakes.push(why),
        None => {}
    }
    checks.extend(mistakes.into_iter().map(wrong));
    if !read.is_empty() {
        checks.push(Check::ok("read", read.join(", ")));
    }
    let checks = checks.into_iter();
    checks.map(|check| check.in_area("own files")).collect()
}
