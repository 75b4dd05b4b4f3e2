//! The `kb-agent` command.

fn main() {}
