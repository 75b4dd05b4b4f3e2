//! Quality, measured on judged data: one collection format a file.

mod beir;
mod calibration;
mod collection;
mod confusion;
mod graded_passages;
mod grades;
mod grading;
mod judged;
mod lines;
mod metrics;
mod overlap;
mod reading;
mod reading_set;
mod routing;
mod signals;
mod small_talk;

use std::path::Path;

use clap::{Args, Subcommand};

use super::output::CommandFailure;
use crate::config::Settings;

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
    /// What the built-in judge looks at, written out for a fit of its weights
    Signals(signals::SignalArgs),
    /// Reading, on questions with the sentences that answer them
    Reading(reading::ReadingScores),
}

impl Eval {
    /// The documents that are measured on, where those are not the knowledge base.
    pub(super) fn documents(&self) -> Option<&Path> {
        match &self.what {
            EvalCommand::Beir(beir) => Some(&beir.dir),
            EvalCommand::Routing(_)
            | EvalCommand::Grading(_)
            | EvalCommand::Reading(_)
            | EvalCommand::Signals(_) => None,
        }
    }
}

/// Measures what the arguments name and prints the figures.
pub(super) fn run(eval: &Eval, settings: &Settings) -> Result<(), CommandFailure> {
    match &eval.what {
        EvalCommand::Beir(beir) => beir::run(beir, settings),
        EvalCommand::Routing(routing) => routing::run(routing, settings),
        EvalCommand::Grading(grading) => grading::run(grading, settings),
        EvalCommand::Signals(signals) => signals::run(signals, settings),
        EvalCommand::Reading(reading) => reading::run(reading, settings),
    }
}
