//! Recorded runs as documents to keep or to pass on: clean text, and nothing in it has an effect.

mod html;
mod markdown;
mod why;
pub mod wording;

use crate::protocol::RunRecord;

pub use why::{lines as why_lines, summary as why_summary};

/// The runs as Markdown, one after the other.
pub fn markdown(runs: &[RunRecord]) -> String {
    markdown::document(runs)
}

/// A question and its answer as Markdown, with the sources that it cites.
pub fn note(run: &RunRecord) -> String {
    markdown::note(run)
}

/// One line of plain text as Markdown that reads the same.
pub fn markdown_text(line: &str) -> String {
    markdown::escaped(line)
}

/// The runs as one page that needs nothing else.
pub fn html(runs: &[RunRecord]) -> String {
    html::document(runs)
}
