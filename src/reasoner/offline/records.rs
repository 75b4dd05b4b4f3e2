//! The objects of a JSON file as rows, so that a value is quoted with its name.
//!
//! The knowledge base lays JSON out a member a line and cuts it anywhere, so the lines are read and
//! nothing is parsed: what is open where a passage begins is not known and not needed.

use super::sentences::Row;

/// An object with its plain members.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// The name of the list or object that it stands in; empty at the top.
    pub(super) within: String,
    /// Whether it is one of a list.
    pub(super) listed: bool,
    pub(super) row: Row,
}

/// The objects in the order in which they begin; `None` of anything but JSON.
pub(super) fn records(source: &str, text: &str) -> Option<Vec<Record>> {
    let (_, ending) = source.rsplit_once('.')?;
    let json = ["json", "jsonl", "ndjson", "geojson"];
    json.contains(&ending.to_ascii_lowercase().as_str())
        .then_some(())?;
    let mut reading = Reading {
        open: Vec::new(),
        found: vec![Record::default()],
    };
    for line in text.lines() {
        reading.line(line.trim());
    }
    let mut found = reading.found;
    found.retain(|record| record.row.columns.iter().any(|column| !column.is_empty()));
    (!found.is_empty()).then_some(found)
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
            "{" | "{}" | "[" | "[]" if value.len() == 2 => {}
            "{" => self.begin(name),
            "[" => self.open.push(Open::List(name.to_owned())),
            "}" | "]" => {
                self.open.pop();
            }
            "" => {}
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
            row: Row::default(),
        };
        if !name.is_empty() {
            // The name of an object is what its members speak of.
            record.row.columns.push(String::new());
            record.row.cells.push(name.to_owned());
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
        let row = &mut self.found[object.unwrap_or(0)].row;
        let values = bare(value);
        match row.columns.iter().position(|column| column == name) {
            Some(at) if list.is_some() => {
                row.cells[at].push_str(", ");
                row.cells[at].push_str(&values);
            }
            _ => {
                row.columns.push(name.to_owned());
                row.cells.push(values);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, String)> {
        let records = records("a/b.json", text).unwrap_or_default();
        let told = records.into_iter().map(|r| (r.within, r.row.told()));
        told.collect()
    }

    #[test]
    fn r23_objects_are_rows_with_their_names() {
        let text = "{\n  \"owner\": \"Bo \\\"the\\\" Li\",\n  \"plants\": [\n    {\n      \"name\": \"fern\",\n      \
                    \"light\": [\n        \"low\", \"mid\"\n      ],\n      \"ml\": 200\n    },\n    {\n      \
                    \"name\": \"cactus\"\n    }\n  ],\n  \"pump\": {\n    \"watts\": 5\n  }\n}";
        let row = |within: &str, told: &str| (within.to_owned(), told.to_owned());
        assert_eq!(
            told(text),
            [
                row("", "owner: Bo \"the\" Li"),
                row("plants", "name: fern; light: low, mid; ml: 200"),
                row("plants", "name: cactus"),
                row("", "pump; watts: 5"),
            ]
        );
    }

    #[test]
    fn r23_json_that_begins_in_its_midst_is_read() {
        let text = "\"ml\": 200\n},\n{\n\"name\": \"cactus\",\n\"ml\": 20\n}\n]";
        let row = |told: &str| (String::new(), told.to_owned());
        assert_eq!(told(text), [row("ml: 200"), row("name: cactus; ml: 20")]);
        assert!(records("a.md", text).is_none());
        assert!(records("a.json", "{}").is_none());
    }
}
