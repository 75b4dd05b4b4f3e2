//! Questions with what is expected of them, asked under one or several settings: what differs, and a
//! gate for changes.
//!
//! The runs are those that a person would get, over the same index. Their log is one of its own, so
//! that they are in no list of conversations and can still be replayed.

mod baseline;
mod expect;
mod junit;
mod limits;
mod named_settings;
mod report;
mod trial;

use std::path::{Path, PathBuf};

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::frame::ask_lines;
use crate::cli::catch_up::update_all;
use crate::cli::interruption::{interruptible, unless_cancelled};
use crate::cli::output::{CommandFailure, print_notice, print_notices, print_result};
use crate::config::{Overrides, Settings};
use crate::engine::{Engine, mask_of};
use baseline::Baseline;
use expect::{ExpectedRun, read_questions};
use junit::{check_folder, write_junit};
use limits::Limits;
use named_settings::NamedSettings;
use report::RunReport;
use trial::Trial;

/// Arguments of `eval run`.
#[derive(Debug, Args)]
pub(super) struct EvalRun {
    /// One JSON object a line: {"query", "id"?, "route"?, "sources"?, "answer_contains"?,
    /// "answer_lacks"?, "outcome"?, "query_type"?, "rule"?, "tools"?, "calls"?, "rounds"?}; route is
    /// chitchat, simple or complex ("complexity" is the same); sources are documents that must be among
    /// the evidence; outcome is answered or not_found; rule is the rule that approves the evidence, or
    /// none; tools must all be called; calls and rounds are numbers of reasoning calls and of rounds of
    /// retrieval. Of route, outcome, query_type, rule, calls and rounds a list names what is acceptable
    #[arg(value_name = "QUESTIONS.jsonl")]
    questions: PathBuf,
    /// Ask under the settings of this file, read as --env-file; may be given several times [default:
    /// the settings as they are]
    #[arg(long, value_name = "FILE")]
    settings: Vec<PathBuf>,
    /// Ask each question N times. A question is as expected if all its runs are: routes, sources,
    /// answers and paths count questions; everything else counts runs. Runs of a question agree if
    /// route, end and what is as expected are the same; 'agreed' counts those that go with the most
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    repeat: u8,
    /// Compare with FILE, the output of an earlier 'eval run --json': list the questions that are worse
    /// or better, and fail if one is worse. Results are compared under settings of the same name; where
    /// FILE has one of the settings only, with that one
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
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
    let variants = run.variants(settings, env_file, overrides)?;
    let questions = read_questions(&run.questions)?;
    run.limits.check(&questions, &run.questions)?;
    check_folder(run.junit.as_deref())?;
    let baseline = run.baseline.as_deref();
    let baseline = baseline
        .map(|file| Baseline::read(file, &questions))
        .transpose()?;
    let mut report = RunReport::begin(&questions);
    interruptible(async |cancel| {
        for variant in &variants {
            let trials = ask_under(variant, &questions, run.repeat, &cancel).await?;
            report.add(variant, &trials, &run.limits, baseline.as_ref());
        }
        Ok(())
    })?;
    if let Some(path) = &run.junit {
        let masks: Vec<_> = variants.iter().map(|of| mask_of(&of.settings)).collect();
        write_junit(path, &report, &masks)?;
    }
    print_result(run.json, &report, || report.as_text())?;
    if report.broken.is_empty() {
        return Ok(());
    }
    print_notices(&report.broken);
    Err(CommandFailure::reported())
}

/// Asks every question under one of the settings, so many times.
async fn ask_under(
    variant: &NamedSettings,
    questions: &[ExpectedRun],
    repeat: u8,
    cancel: &CancellationToken,
) -> Result<Vec<Trial>, CommandFailure> {
    let apart = variant.with_log_apart();
    let engine = unless_cancelled(cancel, Engine::open(&apart)).await??;
    let asked = async {
        for notice in engine.notices() {
            print_notice(&format!("{}: {notice}", variant.name));
        }
        update_all(&engine.knowledge(), cancel).await?;
        if engine.knowledge().status().documents == 0 {
            return Err(CommandFailure::failed(
                "the knowledge base is empty: name its folders with --kb",
            ));
        }
        // The first question also loads what every later one reads with, so it is asked once before
        // and not counted.
        Trial::run(&engine, &questions[0].query, cancel).await?;
        if cancel.is_cancelled() {
            return Err(CommandFailure::interrupted());
        }
        let mut trials = Vec::new();
        ask_lines(questions, cancel, async |expected| {
            for _ in 0..repeat {
                // A run that is interrupted ends as every run does.
                let mut trial = Trial::run(&engine, &expected.query, cancel).await?;
                trial.settings.clone_from(&variant.name);
                expected.check(&mut trial);
                trials.push(trial);
            }
            Ok(())
        })
        .await?;
        Ok(trials)
    };
    let trials = asked.await;
    // Traces of an interrupted run are sent too.
    engine.end().await;
    let trials = trials?;
    if let Some(line) = trials.iter().find_map(|trial| trial.complaint.as_ref()) {
        print_notice(&format!("{}: {line}", variant.name));
    }
    Ok(trials)
}
