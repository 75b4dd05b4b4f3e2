use clap::{Args, Command};
use clap_complete::Shell;

use super::output::{CommandFailure, print_text};

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

/// Prints the completion script of `command`.
pub(super) fn run(completions: &Completions, mut command: Command) -> Result<(), CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut command, "kb-agent", &mut script);
    Ok(print_text(String::from_utf8_lossy(&script))?)
}
