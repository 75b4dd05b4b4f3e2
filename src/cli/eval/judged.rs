//! Judged data of one JSON object a line, read so that what is wrong is said with its line.

use std::io::{self, IsTerminal};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget};

use super::lines::bad;
use super::lines::{bare, each_line};
use crate::cli::output::CommandFailure;

/// The questions of a file, empty lines left out; `missing` is what to say where there is no such
/// file. A file without any question is wrong too.
pub(super) fn read<T>(
    path: &Path,
    missing: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, CommandFailure> {
    let questions = read_records(path, missing, parse)?;
    if questions.is_empty() {
        return Err(bad(path, "there is no question in it"));
    }
    Ok(questions)
}

/// What the lines of a file hold, empty ones left out. `parse` says in a few words what is wrong with
/// a line.
pub(super) fn read_records<T>(
    path: &Path,
    missing: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, CommandFailure> {
    let mut records = Vec::new();
    each_line(path, missing, |number, line| {
        let line = bare(line);
        if !line.trim().is_empty() {
            let record = parse(line);
            records.push(record.map_err(|what| bad(path, format!("line {number}: {what}")))?);
        }
        Ok(())
    })?;
    Ok(records)
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
