//! "Which tickets are open?": the fields, rows and boxes that say so.

use crate::domain::{Evidence, ToolName};

use super::super::evidence::Passage;
use super::quoting::quoted;

/// A line for each field, row and box with one of these values, in the order of the items; nothing where
/// none has one.
pub(super) fn in_state(
    values: &[String],
    items: &[Evidence],
    passages: &[Passage],
) -> Option<String> {
    if values.is_empty() {
        return None;
    }
    let mut lines: Vec<String> = Vec::new();
    for (at, (item, passage)) in items.iter().zip(passages).enumerate() {
        if item.tool != ToolName::LocalFileQa {
            continue;
        }
        let rows = passage.units.iter().filter(|unit| {
            let cells = unit.row.as_ref().map(|(_, cells)| cells);
            cells.is_some_and(|cells| cells.iter().any(|cell| is_one_of(cell, values)))
        });
        let mut told: Vec<String> = rows.map(|unit| unit.text.clone()).collect();
        for line in item.text.lines().map(str::trim) {
            if let Some(task) = task_with(line, values) {
                told.push(task);
            } else if line
                .split_once([':', '：'])
                .is_some_and(|(_, value)| is_one_of(value, values))
            {
                let field = line.trim_start_matches(['-', '*', '+', '#', ' ']);
                told.push(match passage.title.as_str() {
                    "" => field.to_owned(),
                    title if title == field => field.to_owned(),
                    title => format!("{title} – {field}"),
                });
            }
        }
        for text in told {
            let line = format!("- `{}`: {}", item.source, quoted(&text, at + 1));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn is_one_of(text: &str, values: &[String]) -> bool {
    let text = text.trim().to_lowercase();
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    let bare = bare.replace(['_', '-'], " ");
    values.iter().any(|value| *value == bare || *value == text)
}

/// The task of a line `- [x] task` whose box is one of the values, with its box.
fn task_with(line: &str, values: &[String]) -> Option<String> {
    let item = line.strip_prefix(['-', '*', '+'])?.trim_start();
    let (mark, task) = (item.get(..3)?, item.get(3..)?);
    let is_box = mark.starts_with('[') && mark.ends_with(']');
    let sign = if mark == "[ ]" { '☐' } else { '☑' };
    (is_box && is_one_of(mark, values) && !task.trim().is_empty())
        .then(|| format!("{sign} {}", task.trim()))
}
