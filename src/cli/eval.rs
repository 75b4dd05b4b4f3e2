//! Quality, measured on judged data: one collection format a file.

mod beir;
mod collection;
mod confusion;
mod metrics;
mod routing;
mod small_talk;

use clap::{Args, Subcommand};

use super::output::Failure;
use crate::config::Settings;

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub(super) struct Eval {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Retrieval, on a folder in the BEIR format
    Beir(beir::Beir),
    /// Routing, on questions with the labels they should get
    Routing(routing::Routing),
}

/// Measures what the arguments name and prints the figures.
pub(super) fn run(eval: &Eval, settings: &Settings) -> Result<(), Failure> {
    match &eval.what {
        What::Beir(beir) => beir::run(beir, settings),
        What::Routing(routing) => routing::run(routing, settings),
    }
}
