//! What the measuring commands share: they load a judged file, ask one line after the other, and print
//! figures.
//!
//! A command reads its lines with [`load_lines`], implements [`Measure`] and calls [`print_measured`].
//! Collections are large, so a line is bounded; what is wrong with it is said as `FILE:LINE: why`.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::text::figures_as_text;
use crate::cli::interruption::interruptible;
use crate::cli::output::{CommandFailure, print_result};
use crate::files;

/// No document of a collection is nearly as long.
const LONGEST: u64 = 64 << 20;

/// Something that is measured line by line.
pub(super) trait Measure {
    /// A line of the judged file.
    type Line;

    /// Asks what a line holds, and counts what comes of it.
    async fn add(
        &mut self,
        line: &Self::Line,
        cancel: &CancellationToken,
    ) -> Result<(), CommandFailure>;

    /// What all lines came to, as the object that `--json` prints.
    async fn figures(self) -> Result<Value, CommandFailure>;
}

/// Measures every line and prints the figures. `open` makes ready what is measured.
pub(super) fn print_measured<M: Measure>(
    lines: &[M::Line],
    json: bool,
    open: impl AsyncFnOnce(&CancellationToken) -> Result<M, CommandFailure>,
) -> Result<(), CommandFailure> {
    let figures = interruptible(async |cancel| {
        let mut measure = open(&cancel).await?;
        ask_lines(lines, &cancel, async |line| {
            measure.add(line, &cancel).await
        })
        .await?;
        measure.figures().await
    })?;
    Ok(print_result(json, &figures, || figures_as_text(&figures))?)
}

/// Asks one line after the other, with a progress bar where a person can see it.
pub(super) async fn ask_lines<T>(
    lines: &[T],
    cancel: &CancellationToken,
    mut ask: impl AsyncFnMut(&T) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    let bar = ProgressBar::hidden();
    if io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.set_length(lines.len() as u64);
    }
    for line in lines {
        ask(line).await?;
        if cancel.is_cancelled() {
            return Err(CommandFailure::interrupted());
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Reads a file of JSON objects, one a line. `read` makes a record of the object, or says what is wrong
/// with it; `form` is an example of a line. A file without any object is wrong too.
pub(super) fn load_lines<R: DeserializeOwned, T>(
    path: &Path,
    form: &str,
    mut read: impl FnMut(R) -> Result<T, String>,
) -> Result<Vec<T>, CommandFailure> {
    let mut records = Vec::new();
    for_each_line(path, |_, line| {
        records.push(read(parse_object(line, form)?)?);
        Ok(())
    })?;
    if records.is_empty() {
        return Err(CommandFailure::of_file(path, "there is no line in it"));
    }
    Ok(records)
}

/// Calls `read` with the number of every line that is not empty, from 1 on, and the line.
pub(super) fn for_each_line(
    path: &Path,
    mut read: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), CommandFailure> {
    let file = files::open_regular(path).map_err(|error| {
        let missing = error.is_missing().then(|| "not found".to_owned());
        CommandFailure::of_file(path, missing.unwrap_or_else(|| error.to_string()))
    })?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut bounded = reader.by_ref().take(LONGEST + 1);
        let bytes = bounded.read_until(b'\n', &mut line);
        if bytes.map_err(|error| CommandFailure::of_file(path, error))? == 0 {
            break;
        }
        let mut read_line = || {
            if line.len() as u64 > LONGEST {
                return Err(format!("the line is longer than {} MB", LONGEST >> 20));
            }
            let text = str::from_utf8(&line).map_err(|_| "the line is not UTF-8")?;
            let mark = if number == 1 { "\u{feff}" } else { "" };
            match text
                .strip_prefix(mark)
                .unwrap_or(text)
                .trim_end_matches(['\n', '\r'])
            {
                text if text.trim().is_empty() => Ok(()),
                text => read(number, text),
            }
        };
        read_line()
            .map_err(|why| CommandFailure::failed(format!("{}:{number}: {why}", path.display())))?;
    }
    Ok(())
}

/// The record that a line holds; `form` is an example of such a line.
pub(super) fn parse_object<T: DeserializeOwned>(line: &str, form: &str) -> Result<T, String> {
    let object: Map<String, Value> = serde_json::from_str(line).map_err(|error| {
        let what = match error.classify() {
            Category::Eof => "the JSON object is cut off",
            Category::Syntax | Category::Io => "this is no JSON",
            Category::Data => "this is no JSON object",
        };
        let column = error.column();
        format!("{what} (column {column}); a line looks like {form}")
    })?;
    serde_json::from_value(Value::Object(object))
        .map_err(|error| format!("{error}; a line looks like {form}"))
}

/// Refuses a text of white space alone.
pub(super) fn refuse_blank(name: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err(format!("the {name} is empty"));
    }
    Ok(())
}

/// Refuses an id that an earlier line has.
pub(super) fn refuse_known(known: &mut BTreeSet<String>, id: &str) -> Result<(), String> {
    if known.insert(id.to_owned()) {
        return Ok(());
    }
    Err(format!("the id '{id}' occurs twice"))
}

/// The values of a field that holds one or a list; none where it is missing or null.
pub(super) fn one_or_many<T: DeserializeOwned>(
    field: &str,
    value: Value,
) -> Result<Vec<T>, String> {
    let values = match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values,
        one => vec![one],
    };
    let read = |value| serde_json::from_value(value).map_err(|error| format!("{field}: {error}"));
    values.into_iter().map(read).collect()
}
