//! "Which tickets are open?": the fields, rows and boxes that say so.

use crate::domain::ToolName;

use super::found::Found;
use super::quoting::quoted;

/// A line for each field, row and box with one of these values, in the order of the items; nothing where
/// none has one.
pub(super) fn in_state(values: &[String], found: Found<'_>) -> Option<String> {
    if values.is_empty() {
        return None;
    }
    let mut lines: Vec<String> = Vec::new();
    for (at, (item, passage)) in found.items.iter().zip(found.passages).enumerate() {
        if item.tool != ToolName::LocalFileQa {
            continue;
        }
        let rows = passage.units.iter().filter(|unit| {
            let cells = unit.row.as_ref().map(|(_, cells)| cells);
            cells.is_some_and(|cells| cells.iter().any(|cell| is_one_of(cell, values)))
        });
        let mut told: Vec<String> = rows.map(|unit| unit.text.clone()).collect();
        // Rows of data are told as such, not once more by their lines.
        let is_data = passage.units.iter().all(|unit| unit.row.is_some());
        let lines_of_text = item
            .text
            .lines()
            .filter(|_| !is_data || passage.units.is_empty());
        for line in lines_of_text.map(str::trim) {
            if let Some(task) = task_with(line, values) {
                told.push(task);
            } else if line
                .split_once([':', '：'])
                .is_some_and(|(_, value)| is_one_of(value, values))
            {
                let field = line.replace("**", "");
                let field = field.trim_start_matches(['-', '*', '+', '#', ' ']);
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

#[cfg(test)]
mod tests {
    use super::super::samples::{Sample, passage};
    use super::*;
    use crate::domain::Evidence;

    #[test]
    fn r11_fields_rows_and_boxes_tell_states() {
        let mut items = vec![
            passage("t1.md", "# T-1: Paint\n\n**Status:** in-progress\n"),
            passage("list.md", "# Jobs\n\n- [ ] sweep\n- [x] mow"),
            passage(
                "table.md",
                "| job | state |\n|---|---|\n| dig | open |\n| cut | done |",
            ),
        ];
        for item in &mut items {
            item.tool = ToolName::LocalFileQa;
        }
        items.push(Evidence {
            tool: ToolName::LocalFileQa,
            ..passage("jobs.json", r#"[{"job": "rake", "state": "open"}]"#)
        });
        let sample = Sample::of(&items);
        let told = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            in_state(&values, sample.found())
        };
        assert_eq!(
            told(&["in progress"]).as_deref(),
            Some("- `t1.md`: T-1: Paint – Status: in-progress [1]")
        );
        assert_eq!(
            told(&["open", "[ ]"]).as_deref(),
            Some("- `list.md`: ☐ sweep [2]\n- `table.md`: job: dig; state: open [3]")
        );
        assert_eq!(told(&["lost"]), None);
        assert_eq!(told(&[]), None);
    }
}
