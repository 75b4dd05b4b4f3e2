//! JSON that was written for programs, laid out for people.
//!
//! The text is laid out as it stands, character by character: nothing is parsed, so neither depth
//! nor a mistake in it matters, and all of it can be found.

use std::path::Path;

use crate::kb::extract::draft::Draft;
use crate::kb::extract::{Extraction, SkipReason, TextLayout};

/// Lists of short values go on until here.
const MAX_WIDTH: usize = 100;
/// Deeper levels are not indented further.
const MAX_INDENT: usize = 12;

/// Reads JSON that has no lines.
pub(crate) fn document(_: &Path, json: &str) -> Result<Extraction, SkipReason> {
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
