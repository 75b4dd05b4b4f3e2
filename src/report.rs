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

/// The runs as one page that needs nothing else.
pub fn html(runs: &[RunRecord]) -> String {
    html::document(runs)
}
