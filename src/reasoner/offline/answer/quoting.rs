//! Chosen units as the text of an answer, each with its source.
//!
//! What is quoted is shown as it was: sentences run on, items keep their numbers, rows of one table
//! are a table again and code stays in its fence. A row alone tells its cells by their columns,
//! because a table of one row says less and a narrow screen cuts it.

use unicode_width::UnicodeWidthStr;

use crate::domain::Language;

use super::super::evidence::{Unit, UnitKind};
use super::found::{Choice, Found};

/// Tables up to this width, in characters, are padded so that they line up as plain text.
const WIDEST: usize = 100;

/// What stands at the end of a text, so that it is known how the next piece goes on.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Shape {
    Prose,
    List,
    Table,
    Code,
}

/// A row of a table and the number of its source.
struct Row<'a> {
    columns: &'a [String],
    cells: &'a [String],
    number: usize,
}

/// The units in order; as items of a list where they are one.
pub(super) fn written(chosen: &[Choice], found: Found<'_>, is_list: bool) -> String {
    let unit = |choice: &Choice| &found.passages[choice.item].units[choice.unit];
    let mut text = String::new();
    let mut last = None;
    for group in groups(chosen, found) {
        let (shape, piece) = match &group[..] {
            [first, _, ..] if unit(first).row.is_some() => {
                let rows: Vec<Row<'_>> = group
                    .iter()
                    .filter_map(|choice| {
                        let (columns, cells) = unit(choice).row.as_ref()?;
                        let number = choice.item + 1;
                        Some(Row {
                            columns,
                            cells,
                            number,
                        })
                    })
                    .collect();
                (Shape::Table, table(&rows))
            }
            [choice, ..] => {
                // A number alone says nothing: "1." needs its "2.".
                let in_run = chosen.iter().any(|other| {
                    other != choice
                        && other.item == choice.item
                        && unit(other).number.is_some()
                        && unit(other).heading == unit(choice).heading
                });
                single(unit(choice), choice.item + 1, is_list, in_run)
            }
            [] => continue,
        };
        text.push_str(match (last, shape) {
            (None, _) => "",
            (Some(Shape::Prose), Shape::Prose) => " ",
            (Some(Shape::Prose), Shape::List | Shape::Code) | (Some(Shape::List), Shape::List) => {
                "\n"
            }
            _ => "\n\n",
        });
        text.push_str(&piece);
        last = Some(shape);
    }
    text
}

/// An answer to a part below its label; what stands alone begins on a line of its own.
pub(super) fn led(label: &str, body: &str, language: Language) -> String {
    let stands_alone = body.starts_with("- ")
        || body.starts_with("```")
        || body.starts_with('|')
        || numbered(body) && body.lines().skip(1).any(numbered);
    let joint = match (stands_alone, language == Language::Zh) {
        (true, true) => "：\n",
        (true, false) => ":\n",
        (false, true) => "：",
        (false, false) => ": ",
    };
    // A table needs an empty line before it.
    let gap = if body.starts_with('|') { "\n" } else { "" };
    format!("**{label}**{joint}{gap}{body}")
}

/// Whether a line begins with the number of an item.
fn numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with(". ")
}

/// A line for each unit with its file.
pub(super) fn listed(chosen: &[Choice], found: Found<'_>) -> String {
    let lines = chosen.iter().map(|choice| {
        let unit = &found.passages[choice.item].units[choice.unit];
        let source = &found.items[choice.item].source;
        match unit.kind {
            UnitKind::Code => format!("- `{source}`:\n{}\n[{}]", unit.text, choice.item + 1),
            _ => format!("- `{source}`: {}", quoted(&unit.text, choice.item + 1)),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A quoted text on one line with its source.
pub(super) fn quoted(text: &str, number: usize) -> String {
    format!("{} [{number}]", plain(text))
}

/// Rows of one table that are neighbours in the answer stay together.
fn groups(chosen: &[Choice], found: Found<'_>) -> Vec<Vec<Choice>> {
    let table = |choice: &Choice| {
        let unit = &found.passages[choice.item].units[choice.unit];
        let row = unit.row.as_ref().filter(|(columns, _)| !columns.is_empty());
        row.map(|(columns, _)| (&found.passages[choice.item].source, columns))
    };
    let mut groups: Vec<Vec<Choice>> = Vec::new();
    for choice in chosen {
        match groups.last_mut() {
            Some(group) if table(choice).is_some() && table(&group[0]) == table(choice) => {
                group.push(*choice);
            }
            _ => groups.push(vec![*choice]),
        }
    }
    groups
}

fn single(unit: &Unit, number: usize, is_list: bool, in_run: bool) -> (Shape, String) {
    match unit.kind {
        UnitKind::Sentence if !is_list => (Shape::Prose, quoted(&unit.text, number)),
        UnitKind::Code => (Shape::Code, format!("{}\n[{number}]", unit.text)),
        UnitKind::Sentence | UnitKind::Item | UnitKind::Row => {
            let mark = unit.number.filter(|_| in_run);
            let mark = mark.map_or("-".to_owned(), |n| format!("{n}."));
            (
                Shape::List,
                format!("{mark} {}", quoted(&unit.text, number)),
            )
        }
    }
}

/// A Markdown table; the source stands in a narrow column of its own, which no screen cuts.
fn table(rows: &[Row<'_>]) -> String {
    let columns = rows
        .iter()
        .map(|row| row.columns.len().max(row.cells.len()));
    let columns = columns.max().unwrap_or(0);
    let cell = |cells: &[String], at: usize| {
        cells
            .get(at)
            .map_or(String::new(), |text| plain(text).replace('|', "\\|"))
    };
    let line = |cells: &[String], last: String| {
        let mut line: Vec<String> = (0..columns).map(|at| cell(cells, at)).collect();
        line.push(last);
        line
    };
    let mut lines = vec![line(rows[0].columns, String::new())];
    lines.extend(
        rows.iter()
            .map(|row| line(row.cells, format!("[{}]", row.number))),
    );
    let wide = |line: &[String], at: usize| line[at].width();
    let mut widths: Vec<usize> = (0..=columns)
        .map(|at| {
            lines
                .iter()
                .map(|line| wide(line, at))
                .max()
                .unwrap_or(0)
                .max(3)
        })
        .collect();
    if widths.iter().sum::<usize>() > WIDEST {
        widths.fill(3);
    }
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths);
        let filled = |(cell, width): (&String, &usize)| {
            let blanks = width.saturating_sub(cell.width());
            format!("{cell}{}", " ".repeat(blanks))
        };
        let cells = cells.map(filled);
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text: Vec<String> = lines.iter().map(padded).collect();
    text.insert(1, padded(&rule));
    text.join("\n")
}

/// The text so that its own marks are not taken for the answer's: a reference `[2]` of the
/// document is no citation, and a backtick without a partner would hide those that follow.
pub(super) fn plain(text: &str) -> String {
    let balanced = is_balanced(text);
    let mut plain = String::with_capacity(text.len());
    // How many backticks opened the code that is being read; code is closed by as many.
    let mut open = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut end = c.len_utf8();
        if c == '`' {
            end = rest.len() - rest.trim_start_matches('`').len();
            if open == 0 {
                open = end;
            } else if open == end {
                open = 0;
            }
            if balanced {
                plain.push_str(&rest[..end]);
            }
        } else if let Some(closing) = reference(rest).filter(|_| open == 0 || !balanced) {
            plain.push('(');
            plain.push_str(&rest[1..closing]);
            plain.push(')');
            end = closing + 1;
        } else {
            plain.push(c);
        }
        rest = &rest[end..];
    }
    plain
}

/// Whether each run of backticks is closed by one of its length.
fn is_balanced(text: &str) -> bool {
    let mut open = 0;
    let mut run = 0;
    for c in text.chars().chain([' ']) {
        if c == '`' {
            run += 1;
        } else if run > 0 {
            if open == 0 {
                open = run;
            } else if open == run {
                open = 0;
            }
            run = 0;
        }
    }
    open == 0
}

/// Where the bracket closes of a text that begins with a list of numbers in brackets.
fn reference(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('[')?;
    let end = inside.find(']')?;
    let numbers = &inside[..end];
    let only = numbers
        .chars()
        .all(|c| c.is_ascii_digit() || " ,，、".contains(c));
    (only && numbers.contains(|c: char| c.is_ascii_digit())).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Sample, passage};
    use super::*;

    fn all(text: &str, is_list: bool) -> String {
        let sample = Sample::of(&[passage("a.md", text)]);
        let units: Vec<Choice> = (0..sample.passages[0].units.len())
            .map(|unit| Choice { item: 0, unit })
            .collect();
        written(&units, sample.found(), is_list)
    }

    #[test]
    fn r23_columns_of_a_table_stand_below_each_other_in_any_script() {
        let columns = ["名称", "what"].map(str::to_owned);
        let cells = [["检索工具", "a"], ["x", "说明"]].map(|cells| cells.map(str::to_owned));
        let rows: Vec<Row<'_>> = (1..)
            .zip(&cells)
            .map(|(number, cells)| Row {
                columns: &columns,
                cells,
                number,
            })
            .collect();
        let table = table(&rows);
        let widths: Vec<usize> = table.lines().map(UnicodeWidthStr::width).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
    }

    #[test]
    fn r23_what_is_quoted_keeps_its_form() {
        assert_eq!(
            all(
                "Do this:\n\n1. first\n2. second\n\nThen rest. Twice.",
                false
            ),
            "Do this: [1]\n1. first [1]\n2. second [1]\n\nThen rest. [1] Twice. [1]"
        );
        assert_eq!(
            all(
                "| key | does |\n|---|---|\n| a | x \\| y |\n| b | z |",
                false
            ),
            "| key | does   |     |\n| --- | ------ | --- |\n| a   | x \\| y | [1] |\n| b   | z      | [1] |"
        );
        assert_eq!(
            all("| key | does |\n|---|---|\n| a | x |", false),
            "- key: a; does: x [1]"
        );
        assert_eq!(all("One is. Two is.", true), "- One is. [1]\n- Two is. [1]");
        assert_eq!(
            all("Run:\n\n```sh\na\nb\n```", false),
            "Run: [1]\n```sh\na\nb\n```\n[1]"
        );
    }

    #[test]
    fn r23_marks_of_the_document_are_not_the_answers() {
        for (text, expected) in [
            ("As Smith says [2].", "As Smith says (2). [7]"),
            (
                "As said [1, 3] and `x[0]` is",
                "As said (1, 3) and `x[0]` is [7]",
            ),
            ("A lone ` here [4]", "A lone  here (4) [7]"),
            ("Uses ``a`b`` as in [2]", "Uses ``a`b`` as in (2) [7]"),
            ("``fence[0]``", "``fence[0]`` [7]"),
            ("[a] [ ] []", "[a] [ ] [] [7]"),
        ] {
            assert_eq!(quoted(text, 7), expected);
        }
    }

    #[test]
    fn r23_a_list_below_a_label_begins_on_its_own_line() {
        for (body, joint) in [
            ("3. third [1]\n4. fourth [1]", ":\n"),
            ("4. of May is a holiday. [1]", ": "),
            ("- one [1]", ":\n"),
            ("| a |\n| - |", ":\n\n"),
            ("One is. [1]", ": "),
        ] {
            assert_eq!(
                led("part", body, Language::En),
                format!("**part**{joint}{body}")
            );
        }
    }
}
