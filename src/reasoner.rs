//! The two thinking engines behind [`crate::agent::ports::Reasoner`].
//!
//! They share how a question is read and the tables of words that this takes, and nothing else: the
//! offline engine must stay understandable without knowing what a chat endpoint is, and the other
//! way round.

pub mod llm;
pub mod offline;

use regex::Regex;

/// Compiles a pattern that is part of the program.
#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, and tests use each"
)]
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of the program")
}
