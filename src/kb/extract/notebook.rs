//! JSON: Jupyter notebooks, and what programs wrote for programs.
//!
//! Of a notebook, prose as it is, code in fences, what the code printed after it.

use std::path::Path;

use serde_json::Value;

use super::draft::Draft;
use super::{Extraction, SkipReason, TextLayout, html, markdown};
use crate::domain::PlaceUnit;
use crate::text::plural;

/// Most lines of one cell's output; a note tells how many are left out.
const MAX_OUTPUT_LINES: usize = 1000;
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Reads a notebook of any version since 3.
pub(crate) fn read_notebook(_: &Path, json: &str) -> Result<Extraction, SkipReason> {
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

// JSON that was written for programs, laid out for people.
//
// The text is laid out as it stands, character by character: nothing is parsed, so neither depth
// nor a mistake in it matters, and all of it can be found.

/// Lists of short values go on until here.
const MAX_WIDTH: usize = 100;
/// Deeper levels are not indented further.
const MAX_INDENT: usize = 12;

/// Reads JSON that has no lines.
pub(crate) fn read_packed_json(_: &Path, json: &str) -> Result<Extraction, SkipReason> {
    let mut draft = Draft::default();
    draft.push(&laid_out(json));
    draft.finish(TextLayout::Data, None, "the file is empty")
}

/// The same JSON, a member a line.
fn laid_out(json: &str) -> String {
    let mut out = Layout {
        text: String::with_capacity(json.len() + json.len() / 4),
        line: 0,
        open: Vec::new(),
    };
    let mut in_string = false;
    let mut escaped = false;
    for c in json.chars() {
        if in_string {
            out.push(c);
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                out.open.push(c);
                out.line_break();
            }
            '}' | ']' => {
                out.open.pop();
                out.line_break();
                out.push(c);
            }
            ',' => {
                out.push(c);
                let in_list = out.open.last() == Some(&'[');
                if in_list && out.width() < MAX_WIDTH {
                    out.push(' ');
                } else {
                    out.line_break();
                }
            }
            ':' => {
                out.push(c);
                out.push(' ');
            }
            c if c.is_whitespace() => {}
            c => out.push(c),
        }
    }
    out.text
}

struct Layout {
    text: String,
    /// Where the line that is being written begins.
    line: usize,
    open: Vec<char>,
}

impl Layout {
    fn push(&mut self, c: char) {
        self.text.push(c);
    }

    fn width(&self) -> usize {
        self.text.len() - self.line
    }

    fn line_break(&mut self) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        self.text.push('\n');
        self.line = self.text.len();
        let indent = self.open.len().min(MAX_INDENT);
        self.text.extend(std::iter::repeat_n("  ", indent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_a_line_and_lists_together() {
        let text = laid_out(r#"{"name":"a: \"b\", {c}","sizes":[1,2,3],"in":{"x":null}}"#);
        assert_eq!(
            text,
            "{\n  \"name\": \"a: \\\"b\\\", {c}\",\n  \"sizes\": [\n    1, 2, 3\n  ],\n  \"in\": {\n    \"x\": null\n  }\n}"
        );
    }
}
