//! Judged data of one JSON object a line, read so that what is wrong is said with its line.

use std::io::{self, IsTerminal};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget};

use super::collection::bad;
use super::lines::{bare, each_line};
use crate::cli::output::Failure;

/// The questions of a file, empty lines left out. `parse` says in a few words what is wrong with a
/// line; a file without any question is wrong too.
pub(super) fn read<T>(
    path: &Path,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Failure> {
    let mut questions = Vec::new();
    each_line(path, "not found", |number, line| {
        let line = bare(line);
        if !line.trim().is_empty() {
            let question = parse(line);
            questions.push(question.map_err(|what| bad(path, format!("line {number}: {what}")))?);
        }
        Ok(())
    })?;
    if questions.is_empty() {
        return Err(bad(path, "there is no question in it"));
    }
    Ok(questions)
}

/// Progress over so many questions, where a person can see it.
pub(super) fn bar(questions: usize) -> ProgressBar {
    let bar = ProgressBar::hidden();
    if io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.set_length(questions as u64);
    }
    bar
}
