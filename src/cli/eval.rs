//! Quality, measured on judged data: one collection format a file.

mod beir;
mod docs;
mod figures;
mod frame;
mod grading;
mod routing;
mod run;
mod text;

pub(super) use figures::confuse;
pub(super) use text::figures_as_text;

use std::path::Path;

use clap::{Args, Subcommand};

use super::output::CommandFailure;
use crate::config::{Overrides, Settings};

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub(super) struct Eval {
    #[command(subcommand)]
    what: EvalCommand,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// Retrieval, on a folder in the BEIR format; with KB_AGENT_STORE_URL over the store, in a space of
    /// its own
    Beir(beir::Beir),
    /// Routing, on questions with the labels they should get
    Routing(routing::Routing),
    /// Grading, on questions with passages that do or do not answer them
    Grading(grading::GradingArgs),
    /// Answers over a folder of documentation, on questions with the lines that answer them
    Docs(docs::DocsArgs),
    /// Whole runs, on questions with what is expected of them: a gate for changes of settings
    Run(run::EvalRun),
}

/// Measures what the arguments name and prints the figures. `env_file` and `overrides` are what the
/// command line says besides the settings of files.
pub(super) fn run(
    eval: &Eval,
    settings: &Settings,
    env_file: Option<&Path>,
    overrides: &Overrides,
) -> Result<(), CommandFailure> {
    match &eval.what {
        EvalCommand::Beir(beir) => beir::run(beir, settings),
        EvalCommand::Routing(routing) => routing::run(routing, settings),
        EvalCommand::Grading(grading) => grading::run(grading, settings),
        EvalCommand::Docs(docs) => docs::run(docs, settings),
        EvalCommand::Run(wanted) => run::run(wanted, settings, env_file, overrides),
    }
}
