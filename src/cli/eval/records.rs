//! What the measurements share: the records of a judged file, one on a line, progress, and the end
//! that the user gives them. What is wrong with a file is said with its line, and what is read must
//! end, whatever stands behind the name, because collections are large.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::error::Category;

use crate::cli::interruption::{interruptible, unless_cancelled};
use crate::cli::output::CommandFailure;
use crate::files;

/// No document of a collection is nearly as long.
const LONGEST: u64 = 64 << 20;

/// What the measurement comes to, unless the user stops it.
pub(super) fn measured<T>(
    work: impl Future<Output = Result<T, CommandFailure>>,
) -> Result<T, CommandFailure> {
    interruptible(async |cancel| unless_cancelled(&cancel, work).await?)
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

/// Rows for who looks into single ones, behind what stands above them; nothing where there is none.
pub(super) fn listed(head: &str, rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!("{head}\n{}\n", rows.concat())
}

/// The questions of a file. `parse` says in a few words what is wrong with a line; a file without any
/// question is wrong too.
pub(super) fn read<T>(
    path: &Path,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, CommandFailure> {
    let questions = read_lines(path, "not found", |_, line| parse(line))?;
    if questions.is_empty() {
        return Err(CommandFailure::of_file(path, "there is no question in it"));
    }
    Ok(questions)
}

/// What the lines of a file hold, empty ones left out. `parse` gets the number of a line, from 1 on,
/// and the line with its end, as UTF-8 and without a byte order mark. `missing` is what to say where
/// there is no such file.
pub(super) fn read_lines<T>(
    path: &Path,
    missing: &str,
    mut parse: impl FnMut(usize, &str) -> Result<T, String>,
) -> Result<Vec<T>, CommandFailure> {
    let file = files::open_regular(path).map_err(|error| {
        if error.is_missing() {
            CommandFailure::of_file(path, missing)
        } else {
            CommandFailure::of_file(path, error)
        }
    })?;
    let mut reader = BufReader::new(file);
    let (mut read, mut line) = (Vec::new(), Vec::new());
    for number in 1.. {
        let wrong = |what: &str| CommandFailure::of_file(path, format!("line {number}{what}"));
        line.clear();
        let mut bounded = reader.by_ref().take(LONGEST + 1);
        let bytes = bounded.read_until(b'\n', &mut line);
        if bytes.map_err(|error| CommandFailure::of_file(path, error))? == 0 {
            break;
        }
        if line.len() as u64 > LONGEST {
            return Err(wrong(&format!(" is longer than {} MB", LONGEST >> 20)));
        }
        let text = std::str::from_utf8(&line).map_err(|_| wrong(" is not UTF-8"))?;
        let mark = if number == 1 { "\u{feff}" } else { "" };
        let text = text.strip_prefix(mark).unwrap_or(text);
        if !text.trim().is_empty() {
            let parsed = parse(number, text).map_err(|what| wrong(&format!(": {what}")))?;
            read.push(parsed);
        }
    }
    Ok(read)
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
    let line = line.trim_end_matches(['\n', '\r']);
    let is_object = line.trim_start().starts_with('{');
    if !is_object && serde_json::from_str::<IgnoredAny>(line).is_ok() {
        return Err(format!("this is no JSON object; a line looks like {form}"));
    }
    serde_json::from_str(line).map_err(|error| wrong(&error))
}

/// A value of a field, or a list of them; nothing where the field is missing.
pub(super) fn one_or_many<T: DeserializeOwned>(
    field: &str,
    value: &Value,
) -> Result<Vec<T>, String> {
    let values = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    let one = |value: &Value| {
        serde_json::from_value(value.clone()).map_err(|error| format!("{field}: {error}"))
    };
    values.iter().map(one).collect()
}
