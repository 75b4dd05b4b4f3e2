//! The objects of a JSON file as rows, so that a value is quoted with its name.
//!
//! The knowledge base lays JSON out a member a line and cuts it anywhere, so the lines are read and
//! nothing is parsed: what is open where a passage begins is not known and not needed.

use super::units::{Unit, UnitKind, told};

/// An object with its plain members.
#[derive(Debug, Default)]
struct Record {
    /// The name of the list or object that it stands in; empty at the top.
    within: String,
    /// Whether it is one of a list.
    listed: bool,
    columns: Vec<String>,
    cells: Vec<String>,
}

/// The objects in the order in which they begin, each a row; at the top of the file each member an
/// item. `None` of anything but JSON.
pub(super) fn units(ending: &str, text: &str) -> Option<Vec<Unit>> {
    ["json", "jsonl", "ndjson", "geojson"]
        .contains(&ending)
        .then_some(())?;
    let mut reading = Reading {
        open: Vec::new(),
        found: vec![Record::default()],
    };
    for line in text.lines() {
        reading.line(line.trim());
    }
    let mut units: Vec<Unit> = Vec::new();
    let mut block = 0;
    for record in reading.found {
        let Record {
            within,
            listed,
            columns,
            cells,
        } = record;
        if columns.iter().all(String::is_empty) {
            continue;
        }
        block += usize::from(units.last().is_some_and(|unit| unit.heading != within));
        if listed || columns.first().is_some_and(String::is_empty) {
            let mut unit = Unit::new(told(&columns, &cells), UnitKind::Row, &within, block);
            unit.row = Some((columns, cells));
            units.push(unit);
        } else {
            let members = columns
                .iter()
                .zip(&cells)
                .map(|(column, cell)| format!("{column}: {cell}"));
            units.extend(members.map(|text| Unit::new(text, UnitKind::Item, &within, block)));
        }
    }
    (!units.is_empty()).then_some(units)
}

/// What has been opened: a list by its name, or an object by its place among those found.
enum Open {
    List(String),
    Object(usize),
}

struct Reading {
    open: Vec<Open>,
    found: Vec<Record>,
}

impl Reading {
    fn line(&mut self, line: &str) {
        let line = line.strip_suffix(',').unwrap_or(line);
        let (name, value) = member(line).unwrap_or(("", line));
        match value {
            "" | "{}" | "[]" => {}
            "{" => self.begin(name),
            "[" => self.open.push(Open::List(name.to_owned())),
            "}" | "]" => {
                self.open.pop();
            }
            _ => self.value(name, value),
        }
    }

    fn begin(&mut self, name: &str) {
        let list = match self.open.last() {
            Some(Open::List(list)) => Some(list.clone()),
            // A passage may begin below the bracket of its list.
            None if name.is_empty() && self.found.len() > 1 => Some(String::new()),
            _ => None,
        };
        let mut record = Record {
            listed: list.is_some(),
            within: list.unwrap_or_default(),
            ..Record::default()
        };
        if !name.is_empty() {
            // The name of an object is what its members speak of.
            record.columns.push(String::new());
            record.cells.push(name.to_owned());
        }
        self.open.push(Open::Object(self.found.len()));
        self.found.push(record);
    }

    fn value(&mut self, name: &str, value: &str) {
        let list = match self.open.last() {
            Some(Open::List(list)) if name.is_empty() => Some(list.clone()),
            _ => None,
        };
        let name = list.as_deref().unwrap_or(name);
        if name.is_empty() {
            return;
        }
        let object = self.open.iter().rev().find_map(|open| match open {
            Open::Object(at) => Some(*at),
            Open::List(_) => None,
        });
        let record = &mut self.found[object.unwrap_or(0)];
        let value = bare(value);
        match record.columns.iter().position(|column| column == name) {
            Some(at) if list.is_some() => {
                record.cells[at].push_str(", ");
                record.cells[at].push_str(&value);
            }
            _ => {
                record.columns.push(name.to_owned());
                record.cells.push(value);
            }
        }
    }
}

/// `"name": value`.
fn member(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix('"')?;
    let (name, value) = rest.split_once("\": ").or_else(|| rest.split_once("\":"))?;
    (!name.contains("\", \"")).then(|| (name, value.trim()))
}

/// Values without their quotation marks.
fn bare(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut escaped = false;
    for c in value.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '"' if !escaped => {}
            'n' | 't' | 'r' if escaped => text.push(' '),
            c => text.push(c),
        }
        escaped = false;
    }
    text
}
