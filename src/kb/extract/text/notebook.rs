//! Jupyter notebooks: prose as it is, code in fences, what the code printed after it.

use std::path::Path;

use serde_json::Value;

use super::{html, markdown};
use crate::domain::PlaceUnit;
use crate::kb::extract::draft::Draft;
use crate::kb::extract::{Extraction, SkipReason, TextLayout};
use crate::text::plural;

/// Most lines of one cell's output; a note tells how many are left out.
const MAX_OUTPUT_LINES: usize = 1000;
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Reads a notebook of any version since 3.
pub(crate) fn document(_: &Path, json: &str) -> Result<Extraction, SkipReason> {
    let notebook: Value = serde_json::from_str(json)
        .map_err(|error| SkipReason::Damaged(format!("it is not a notebook ({error})")))?;
    let older = &notebook["worksheets"][0]["cells"];
    let Some(cells) = notebook["cells"].as_array().or(older.as_array()) else {
        return Err(SkipReason::Damaged(
            "it is a notebook without cells".to_owned(),
        ));
    };
    let language = notebook["metadata"]["kernelspec"]["language"]
        .as_str()
        .or(notebook["metadata"]["language_info"]["name"].as_str())
        .unwrap_or_default();
    let mut draft = Draft::default();
    for (at, cell) in cells.iter().enumerate() {
        let source = text(&cell["source"]);
        let source = if source.is_empty() {
            text(&cell["input"])
        } else {
            source
        };
        let (outputs, left_out) = outputs(cell);
        if left_out > 0 {
            let lines = plural(left_out, "line");
            draft.note_missing(format!("cell {}: {lines} of its output", at + 1));
        }
        if source.trim().is_empty() && outputs.is_empty() {
            continue;
        }
        draft.part();
        draft.begin(PlaceUnit::Cell, None, at + 1);
        match cell["cell_type"].as_str() {
            Some("code") => {
                draft.push(&fenced(language, &source));
                if !outputs.is_empty() {
                    draft.push_apart(&fenced("text", &outputs));
                }
            }
            _ => draft.push(markdown::readable(&source).trim_matches('\n')),
        }
    }
    let title = notebook["metadata"]["title"].as_str().map(str::to_owned);
    draft.finish(TextLayout::Markdown, title, "its cells are empty")
}

fn fenced(language: &str, code: &str) -> String {
    let fence = if code.contains("```") { "~~~~" } else { "```" };
    format!("{fence}{language}\n{}\n{fence}", code.trim_matches('\n'))
}

/// A string, or a list of lines.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// What a cell returned: as text, or as a page where the text only names its kind.
fn cell_result(data: &Value) -> String {
    let plain = text(&data["text/plain"]);
    let page = text(&data["text/html"]);
    if !page.is_empty() && (plain.is_empty() || plain.starts_with('<')) {
        return html::to_markdown(&page).map_or(plain, |(markdown, _)| markdown);
    }
    if plain.is_empty() {
        return text(&data["text/markdown"]);
    }
    plain
}

/// A line without the codes that colour it in a terminal.
fn without_colours(line: &str) -> String {
    let mut pieces = line.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_digit() && c != ';');
        let rest = end.and_then(|end| piece.get(end + 1..));
        plain.push_str(rest.unwrap_or_default());
    }
    plain
}

/// What the cell printed and returned, as far as it is text, and how many lines of it are left out.
fn outputs(cell: &Value) -> (String, usize) {
    let mut said = String::new();
    for output in cell["outputs"].as_array().into_iter().flatten() {
        let printed = match output["output_type"].as_str() {
            Some("stream") => text(&output["text"]),
            Some("error" | "pyerr") => format!(
                "{}: {}",
                output["ename"].as_str().unwrap_or("error"),
                output["evalue"].as_str().unwrap_or_default()
            ),
            _ => cell_result(&output["data"]),
        };
        // What was written over is gone.
        for line in printed.trim_end().split('\n') {
            let states = line.trim_end_matches('\r').rsplit('\r');
            let last = states.into_iter().next().unwrap_or_default();
            said.push_str(&without_colours(last));
            said.push('\n');
        }
        said.pop();
        said.push('\n');
    }
    let said = said.trim();
    let lines = said.split_inclusive('\n').take(MAX_OUTPUT_LINES);
    let kept = lines.map(str::len).sum::<usize>().min(MAX_OUTPUT_BYTES);
    let (kept, rest) = said.split_at(said.floor_char_boundary(kept));
    (kept.trim().to_owned(), rest.lines().count())
}
