//! The `kb-agent` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    kb_agent::cli::main()
}
