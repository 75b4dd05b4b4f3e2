//! The records of a judged file, one on a line: what is wrong is said with its line, and what is read must end, whatever
//! stands behind the name, because collections are large.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use crate::cli::output::CommandFailure;
use crate::files;

/// No document of a collection is nearly as long.
const LONGEST: u64 = 64 << 20;

/// The questions of a file, empty lines left out; `missing` is what to say where there is no such
/// file. `parse` says in a few words what is wrong with a line; a file without any question is wrong
/// too.
pub(super) fn read<T>(
    path: &Path,
    missing: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, CommandFailure> {
    let mut questions = Vec::new();
    each_line(path, missing, |number, line| {
        let line = without_end(line);
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
pub(super) fn progress_bar(questions: usize) -> ProgressBar {
    let bar = ProgressBar::hidden();
    if io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.set_length(questions as u64);
    }
    bar
}

/// The record that a line holds, or what is wrong with it in a few words. `form` is what such a
/// line looks like.
pub(super) fn record<T: DeserializeOwned>(line: &str, form: &str) -> Result<T, String> {
    let wrong = |error: &serde_json::Error| {
        let what = match error.classify() {
            Category::Eof => "the JSON object is cut off".to_owned(),
            Category::Syntax | Category::Io => "this is no JSON".to_owned(),
            // Of a record on one line only the column is worth saying.
            Category::Data => match error.to_string().split_once(" at line ") {
                Some((what, _)) => what.to_owned(),
                None => error.to_string(),
            },
        };
        format!(
            "{what} (column {}); a line looks like {form}",
            error.column()
        )
    };
    let is_object = line.trim_start().starts_with('{');
    if !is_object && serde_json::from_str::<IgnoredAny>(line).is_ok() {
        return Err(format!("this is no JSON object; a line looks like {form}"));
    }
    serde_json::from_str(line).map_err(|error| wrong(&error))
}

/// Hands over every line with its end and its number, from 1 on, as UTF-8 and without a byte order
/// mark. `missing` is what to say where there is no such file.
pub(super) fn each_line(
    path: &Path,
    missing: &str,
    mut take: impl FnMut(usize, &str) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    let file = files::open_regular(path).map_err(|error| {
        if error.is_missing() {
            bad(path, missing)
        } else {
            bad(path, error)
        }
    })?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut bounded = reader.by_ref().take(LONGEST + 1);
        let read = bounded.read_until(b'\n', &mut line);
        if read.map_err(|error| bad(path, error))? == 0 {
            break;
        }
        if line.len() as u64 > LONGEST {
            let what = format!("line {number} is longer than {} MB", LONGEST >> 20);
            return Err(bad(path, what));
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            return Err(bad(path, format!("line {number} is not UTF-8")));
        };
        let mark = if number == 1 { "\u{feff}" } else { "" };
        take(number, text.strip_prefix(mark).unwrap_or(text))?;
    }
    Ok(())
}

/// A line without its end.
pub(super) fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// What cannot be used of a file.
pub(super) fn bad(path: &Path, what: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::failed(format!("{}: {what}", path.display()))
}
