//! What documents say of themselves in fields: `status: open` in front matter or on a line, a cell of a
//! table under its head, a box of a list of tasks.
//!
//! Fields are read when they are asked for, from the documents as they are now: a pattern finds the
//! lines that may hold such a value, and only documents with such lines are read. So the index needs no
//! place for them, and any name that documents use is one.

use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;

use super::base::KnowledgeBase;
use super::error::KbError;
use super::index::Within;
use crate::domain::{LineRange, Place};
use crate::text::Fences;

/// The value of a box that is not ticked, and of one that is.
pub(crate) const OPEN_BOX: &str = "[ ]";
pub(crate) const TICKED_BOX: &str = "[x]";

/// The documents of at most this many passages are read for one question.
const MAX_DOCUMENTS: usize = 200;
/// Longer names and values, in characters, are sentences.
const MAX_NAME: usize = 30;
const MAX_VALUE: usize = 60;
/// Fields at most this many lines apart are shown together.
const GAP: usize = 12;
/// The most lines of one field passage.
const MAX_LINES: usize = 80;

/// A field as a document writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// The name in lower case, without the marks around it; empty for a box.
    pub name: String,
    /// The value in lower case, without the marks around it.
    pub value: String,
    /// The line it stands on, from 1.
    pub line: usize,
    /// The line that says what it is called: the head of a table, else its own.
    pub named_on: usize,
}

/// Which fields are looked for: any of these names, or any name where none is given, with any of these
/// values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldFilter {
    names: Vec<String>,
    values: Vec<String>,
}

/// Lines of a document that hold such a field, with what names it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldPassage {
    pub source: String,
    pub lines: LineRange,
    pub place: Option<Place>,
    pub text: String,
    /// The values of the document's other fields.
    pub values: Vec<String>,
}

impl FieldFilter {
    /// Parses names and values, each with alternatives separated by `|`; `None` where no value is given.
    pub fn parse(names: Option<&str>, values: &str) -> Option<Self> {
        let parted = |text: &str| -> Vec<String> {
            let parts = text.split('|').map(bare);
            parts.filter(|part| !part.is_empty()).collect()
        };
        let values = parted(values);
        (!values.is_empty()).then(|| Self {
            names: names.map(parted).unwrap_or_default(),
            values,
        })
    }

    pub fn holds(&self, field: &Field) -> bool {
        self.values.contains(&field.value)
            && (self.names.is_empty() || self.names.contains(&field.name))
    }

    /// A pattern for the lines that may hold such a field, without capitals, which would make it exact.
    fn pattern(&self) -> String {
        let values: Vec<String> = self
            .values
            .iter()
            .map(|value| regex::escape(value).replace(' ', "[ _-]"))
            .collect();
        let values = values.join("|").replace(r"\[[ _-]\]", r"\[ \]");
        let names = if self.names.is_empty() {
            r"\w[^:：|]*".to_owned()
        } else {
            let names = self
                .names
                .iter()
                .map(|name| regex::escape(name).replace(' ', "[ _-]"));
            format!("(?:{})", names.collect::<Vec<_>>().join("|"))
        };
        format!(
            r"^[^\w|]*{names}[^\w:：]*[:：]\W*(?:{values})\W*$|\|\W*(?:{values})\W*\||^\s*[-*+]\s+(?:{values})\s|[:：]\s*(?:{values})\s*(?:;|$)"
        )
    }
}

impl KnowledgeBase {
    /// The passages that say such a field, by the names of their documents.
    pub(crate) fn with_fields(
        &self,
        filter: &FieldFilter,
        within: Within<'_>,
        cancel: &CancellationToken,
    ) -> Result<Vec<FieldPassage>, KbError> {
        let likely = self.grep(&filter.pattern(), MAX_DOCUMENTS, within)?;
        let sources: BTreeSet<String> = likely.into_iter().map(|passage| passage.source).collect();
        let mut found = Vec::new();
        for source in sources {
            if cancel.is_cancelled() {
                return Err(KbError::Stopped);
            }
            let read = self
                .resolve(&source)
                .and_then(|file| self.read_unless(&file, cancel));
            let Ok(document) = read else { continue };
            let (held, others): (Vec<_>, Vec<_>) = fields(&document.text)
                .into_iter()
                .partition(|field| filter.holds(field));
            let others: BTreeSet<String> = others.into_iter().map(|field| field.value).collect();
            let lines: Vec<&str> = document.text.lines().collect();
            for range in together(&held, &lines) {
                found.push(FieldPassage {
                    source: source.clone(),
                    place: document.place(range),
                    text: lines[range.start - 1..range.end].join("\n"),
                    lines: range,
                    values: others.iter().cloned().collect(),
                });
            }
        }
        Ok(found)
    }
}

/// The fields of a text; what stands in a code block is an example.
pub(crate) fn fields(text: &str) -> Vec<Field> {
    let mut found = Vec::new();
    let mut heads: Option<(usize, Vec<String>)> = None;
    let mut fences = Fences::default();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let bare_line = line.trim();
        if fences.hold(bare_line) {
            continue;
        }
        if !bare_line.starts_with('|') {
            heads = None;
            match task(bare_line, number) {
                Some(field) => found.push(field),
                None => found.extend(labelled_on(bare_line, number)),
            }
            continue;
        }
        let cells: Vec<String> = bare_line.trim_matches('|').split('|').map(bare).collect();
        let Some((named_on, names)) = &heads else {
            heads = Some((number, cells));
            continue;
        };
        for (name, value) in names
            .iter()
            .zip(cells)
            .filter(|(_, value)| !value.is_empty())
        {
            found.push(Field {
                name: name.clone(),
                value,
                line: number,
                named_on: *named_on,
            });
        }
    }
    found
}

/// `- [x] Call the plumber`.
fn task(line: &str, number: usize) -> Option<Field> {
    let item = line.strip_prefix(['-', '*', '+'])?.trim_start();
    let ticked = item.get(..3)?.to_lowercase();
    (item.len() > 3 && [OPEN_BOX, TICKED_BOX].contains(&ticked.as_str())).then(|| Field {
        name: String::new(),
        value: ticked,
        line: number,
        named_on: number,
    })
}

/// A field on a line, or those of the row of a sheet, which is written as `task: Paint; status: open`.
fn labelled_on(line: &str, number: usize) -> Vec<Field> {
    let cells: Vec<&str> = line.split("; ").collect();
    if cells.len() > 1 && cells.iter().all(|cell| cell.contains(": ")) {
        cells
            .into_iter()
            .filter_map(|cell| labelled(cell, number))
            .collect()
    } else {
        labelled(line, number).into_iter().collect()
    }
}

/// `- **Status**: open`.
fn labelled(line: &str, number: usize) -> Option<Field> {
    let (name, value) = line.split_once([':', '：'])?;
    let (name, value) = (bare(name), bare(value));
    let short = |text: &str, most: usize| !text.is_empty() && text.chars().count() <= most;
    (short(&name, MAX_NAME) && short(&value, MAX_VALUE)).then_some(Field {
        name,
        value,
        line: number,
        named_on: number,
    })
}

/// Lowers the case and removes the marks around a name or value; a box stays a box.
fn bare(text: &str) -> String {
    let text = text.trim().to_lowercase();
    if [OPEN_BOX, TICKED_BOX].contains(&text.as_str()) {
        return text;
    }
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    bare.replace(['_', '-'], " ")
}

/// The lines of fields with what names them, those near each other together, from the heading that they
/// stand under where it is near.
fn together(fields: &[Field], lines: &[&str]) -> Vec<LineRange> {
    let mut ranges: Vec<LineRange> = Vec::new();
    for field in fields {
        let (start, end) = (field.named_on, field.line);
        if let Some(open) = ranges.last_mut()
            && start <= open.end + GAP
            && end - open.start < MAX_LINES
        {
            open.end = end;
            continue;
        }
        let above = start.saturating_sub(GAP).max(1)..start;
        let heading = above
            .rev()
            .find(|number| lines[number - 1].starts_with(['#', '=']));
        let start = if end - start < MAX_LINES {
            heading.unwrap_or(start)
        } else {
            end
        };
        ranges.push(LineRange { start, end });
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(text: &str, names: Option<&str>, values: &str) -> Vec<usize> {
        let filter = FieldFilter::parse(names, values).unwrap();
        let fields = fields(text).into_iter().filter(|field| filter.holds(field));
        fields.map(|field| field.line).collect()
    }

    #[test]
    fn r12_fields_stand_in_front_matter_lines_tables_and_boxes() {
        let text = "---\nstatus: Open\npriority: \"high\"\n---\n# A\n\n- **Status**: in progress\n\
                    状态：打开\n\n| Ticket | State |\n|---|---|\n| P-1 | open |\n| P-2 | done |\n\n\
                    - [ ] call\n- [X] write\nid: T-1; status: held\n\n```\nstatus: open\n```\nThe status: it is open.\n";
        assert_eq!(held(text, None, "open"), [2, 12]);
        assert_eq!(held(text, Some("state"), "open"), [12]);
        assert_eq!(held(text, None, "high"), [3]);
        assert_eq!(held(text, None, "in progress|打开"), [7, 8]);
        assert_eq!(held(text, None, "[ ]"), [15]);
        assert_eq!(held(text, None, "done|[x]"), [13, 16]);
        assert_eq!(held(text, Some("status"), "held"), [17]);
        assert!(FieldFilter::parse(Some("status"), " | ").is_none());
    }

    #[test]
    fn r12_fields_near_each_other_are_shown_with_their_heading() {
        let text: Vec<&str> = "# T\n\n| a | b |\n|---|---|\n| x | open |\n| y | open |"
            .lines()
            .collect();
        let filter = FieldFilter::parse(None, "open").unwrap();
        let mut found = fields(&text.join("\n"));
        found.retain(|field| filter.holds(field));
        assert_eq!(together(&found, &text), [LineRange { start: 1, end: 6 }]);
    }
}
