use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use super::output::{Failure, say};

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

/// Prints the completion script.
pub(super) fn run(completions: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        completions.shell,
        &mut Cli::command(),
        "kb-agent",
        &mut script,
    );
    Ok(say(String::from_utf8_lossy(&script))?)
}
