//! Why the screen could not be shown.

use crate::text::one_line;

/// Why the screen could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The terminal failed.
    #[error("terminal: {0}")]
    Terminal(#[from] std::io::Error),
    /// Something panicked; the message has been printed.
    #[error("stopped by a panic; its message stands above")]
    Panicked,
    /// A replay was asked for, and the events hold no `run_started`.
    #[error("what is recorded of this run does not hold its beginning")]
    NoBeginning,
    /// A file that is part of the program is wrong.
    #[error("{name}: {reason}")]
    Asset {
        /// Which file.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What is wrong with a TOML file, and in which line.
pub fn toml_error(source: &str, error: &toml::de::Error) -> String {
    let message = one_line(error.message(), 160);
    let before = error.span().and_then(|span| source.get(..span.start));
    match before {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message,
    }
}
