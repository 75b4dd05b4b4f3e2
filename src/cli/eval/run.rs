//! Questions with what is expected of them, asked under one or several settings: what differs, and a
//! gate for changes.
//!
//! The runs are those that a person would get, over the same index. Their log is one of its own, so
//! that they are in no list of conversations and can still be replayed.

mod expect;
mod figures;
mod junit;
mod named_settings;
mod print;
mod trial;

use std::path::{Path, PathBuf};

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::records::progress_bar;
use crate::cli::catch_up::update_all;
use crate::cli::interruption::{interruptible, unless_cancelled};
use crate::cli::output::{CommandFailure, print_notice, print_notices, print_result};
use crate::config::{Overrides, Settings};
use crate::engine::{Engine, mask_of};
use crate::protocol::Mode;
use expect::read_questions;
use figures::{AskedQuestion, Limits, RunReport};
use junit::{JunitFile, check_folder};
use named_settings::NamedSettings;
use trial::Trial;

/// Arguments of `eval run`.
#[derive(Debug, Args)]
pub(super) struct EvalRun {
    /// One JSON object a line: {"query", "id"?, "route"?, "sources"?, "answer_contains"?,
    /// "answer_lacks"?, "outcome"?}; route is chitchat, simple or complex, or a list of acceptable
    /// ones ("complexity" is the same); sources are documents that must be among the evidence; outcome
    /// is answered or not_found
    #[arg(value_name = "QUESTIONS.jsonl")]
    questions: PathBuf,
    /// Ask under the settings of this file, read as --env-file; may be given several times [default:
    /// the settings as they are]
    #[arg(long, value_name = "FILE")]
    settings: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
}

impl EvalRun {
    /// The settings of the files that are named, else those in effect.
    fn variants(
        &self,
        settings: &Settings,
        env_file: Option<&Path>,
        overrides: &Overrides,
    ) -> Result<Vec<NamedSettings>, CommandFailure> {
        if self.settings.is_empty() {
            return Ok(vec![NamedSettings::current(settings)]);
        }
        if let (Some(env_file), [first, ..]) = (env_file, &self.settings[..]) {
            return Err(CommandFailure::usage(format!(
                "--settings {} stands for --env-file {}: give one of them",
                first.display(),
                env_file.display()
            )));
        }
        let mut variants = Vec::new();
        for file in &self.settings {
            let mut variant = NamedSettings::read(file, overrides)?;
            variant
                .settings
                .own_program
                .clone_from(&settings.own_program);
            variants.push(variant);
        }
        Ok(variants)
    }
}

/// Asks, prints what came of it, and fails where a limit is broken.
pub(super) fn run(
    run: &EvalRun,
    settings: &Settings,
    env_file: Option<&Path>,
    overrides: &Overrides,
) -> Result<(), CommandFailure> {
    let variants = &run.variants(settings, env_file, overrides)?;
    let questions = read_questions(&run.questions)?;
    run.limits.check(&questions, &run.questions)?;
    check_folder(run.junit.as_deref())?;
    let mut report = RunReport::begin(questions);
    interruptible(async |cancel| measure(&mut report, variants, &run.limits, &cancel).await)?;
    if let Some(path) = &run.junit {
        let masks = variants.iter().map(|of| mask_of(&of.settings)).collect();
        let report = &report;
        JunitFile { report, masks }.write(path)?;
    }
    print_result(run.json, &report, || print::as_text(&report))?;
    if report.broken.is_empty() {
        return Ok(());
    }
    print_notices(&report.broken);
    Err(CommandFailure::reported())
}

/// Asks every question under each of the settings.
async fn measure(
    report: &mut RunReport,
    variants: &[NamedSettings],
    limits: &Limits,
    cancel: &CancellationToken,
) -> Result<(), CommandFailure> {
    for variant in variants {
        let apart = variant.with_log_apart();
        let engine = unless_cancelled(cancel, Engine::open(&apart)).await??;
        for notice in engine.notices() {
            print_notice(&format!("{}: {notice}", variant.name));
        }
        let trials = ask_all(&report.questions, &engine, cancel).await;
        // Traces of an interrupted run are sent too.
        engine.end().await;
        let trials = trials?;
        if let Some(line) = trials.iter().find_map(|trial| trial.complaint.as_ref()) {
            print_notice(&format!("{}: {line}", variant.name));
        }
        report.add(variant, trials, limits);
    }
    Ok(())
}

/// Asks every question under one of the settings.
async fn ask_all(
    questions: &[AskedQuestion],
    engine: &Engine,
    cancel: &CancellationToken,
) -> Result<Vec<Trial>, CommandFailure> {
    update_all(&engine.knowledge(), cancel).await?;
    if engine.knowledge().status().documents == 0 {
        return Err(CommandFailure::failed(
            "the knowledge base is empty: name its folders with --kb",
        ));
    }
    // The first question of a process also loads what the built-in engine reads with, which is not
    // what is measured; a model would be asked for nothing.
    let is_offline = engine.identity().mode == Mode::Offline;
    if let Some(first) = questions.first().filter(|_| is_offline) {
        Trial::run(engine, &first.expected.query, cancel).await?;
    }
    let bar = progress_bar(questions.len());
    let mut trials = Vec::new();
    for AskedQuestion { expected, .. } in questions {
        // A run that is interrupted ends as every run does.
        let mut trial = Trial::run(engine, &expected.query, cancel).await?;
        if cancel.is_cancelled() {
            return Err(CommandFailure::interrupted());
        }
        expected.check(&mut trial);
        trials.push(trial);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(trials)
}
