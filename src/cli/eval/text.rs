//! Figures as a person reads them: made from the object that `--json` prints, so the names are the same.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::cli::output::{NOTHING, table_within, terminal_width};
use crate::text::{one_line, sanitize};

/// Names in the order in which they are shown; others follow by the alphabet.
const ORDER: &str = "dataset tool engine judged_by from to threshold settings n relevant right of \
    route path sources answers agreed answered not_found failed calls p50_ms p95_ms prompt_tokens \
    completion_tokens cost_usd id kind questions accuracy mean precision recall good bad confusion";
/// Characters of a text.
const LONGEST: usize = 200;

/// A line for each single figure, then a table for each group of them.
pub(crate) fn figures_as_text(figures: &Value) -> String {
    let (groups, singles): (Vec<_>, Vec<_>) = in_order(figures)
        .into_iter()
        .partition(|(_, figure)| figure.is_object() || figure.is_array());
    let mut text = String::new();
    for (name, figure) in singles {
        text += &format!("{name}  {}\n", cell(figure));
    }
    for (name, group) in groups {
        let rows: Vec<(&str, &Value)> = match group {
            Value::Array(rows) => rows.iter().map(|row| ("", row)).collect(),
            group if group.as_object().is_some_and(|it| it.values().all(is_row)) => in_order(group),
            group if is_row(group) => vec![("", group)],
            group => {
                text += &format!("\n{name}\n{}", figures_as_text(group));
                continue;
            }
        };
        if !rows.is_empty() {
            text += &format!("\n{name}\n{}", figures_as_table(&rows, ""));
        }
    }
    text
}

/// A row for each object, which may have a name, and a column for each figure that one of them has.
/// Columns are left out in the order of `spare` where the terminal is narrow.
pub(super) fn figures_as_table(rows: &[(&str, &Value)], spare: &str) -> String {
    let figures = rows.iter().flat_map(|(_, row)| in_order(row));
    let known: BTreeSet<(usize, &str)> = figures
        .filter(|(_, figure)| !figure.is_null())
        .map(|(name, _)| (place_of(name), name))
        .collect();
    let columns: Vec<&str> = known.into_iter().map(|(_, name)| name).collect();
    let has_names = rows.iter().any(|(name, _)| !name.is_empty());
    let cells = |(name, row): &(&str, &Value)| {
        let figures = columns.iter().map(|column| cell(&row[*column]));
        let name = has_names.then(|| one_line(name, LONGEST));
        name.into_iter().chain(figures).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let titles = has_names.then_some(" ").into_iter().chain(columns.clone());
    let titles: Vec<&str> = titles.collect();
    table_within(terminal_width(), &titles.join("|"), spare, &rows)
}

fn in_order(figures: &Value) -> Vec<(&str, &Value)> {
    let figures = figures.as_object().into_iter().flat_map(Map::iter);
    let mut figures: Vec<_> = figures
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    figures.sort_by_key(|(name, _)| (place_of(name), *name));
    figures
}

fn place_of(name: &str) -> usize {
    let place = ORDER.split_whitespace().position(|known| known == name);
    place.unwrap_or(usize::MAX)
}

/// Whether a figure is an object whose figures each fit in a cell.
fn is_row(figure: &Value) -> bool {
    let is_small = |it: &Value| match it {
        Value::Object(parts) => parts.len() == 2 && parts.contains_key("of"),
        it => !it.is_array(),
    };
    let figures = figure.as_object();
    figures.is_some_and(|it| !it.is_empty() && it.values().all(is_small))
}

/// A figure in one cell; a small group is `right/of`.
fn cell(figure: &Value) -> String {
    match figure {
        Value::Null => NOTHING.to_owned(),
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            let digits = if number.abs() < 10.0 { 3 } else { 0 };
            format!("{number:.digits$}")
        }
        Value::String(text) => one_line(&sanitize(text), LONGEST),
        Value::Object(_) => {
            let parts = in_order(figure).into_iter().map(|(_, part)| cell(part));
            parts.collect::<Vec<_>>().join("/")
        }
        other => other.to_string(),
    }
}
