//! The text of a converted document while it is being written, and its tables, links and paragraphs as Markdown.

use super::{Extraction, Mark, SkipReason, TextLayout};
use crate::domain::{Place, PlaceUnit};
use crate::text::{headings, one_line, plain_heading};

/// No document says more than this; what does was made to fill the memory.
pub(crate) const MAX_TEXT_BYTES: usize = 32 * 1024 * 1024;
/// Titles and the names of places are shown on one line.
const MAX_NAME_CHARS: usize = 200;
/// Nobody reads more lines about one document.
const MAX_MISSING: usize = 20;

/// Lines, and where places begin among them.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    lines: usize,
    places: Vec<Mark>,
    missing: Vec<String>,
    /// What came after the limit is not kept.
    full: bool,
}

impl Draft {
    /// Adds text as lines of its own.
    pub fn push(&mut self, text: &str) {
        if self.text.len() + text.len() > MAX_TEXT_BYTES {
            self.full = true;
        }
        if self.full {
            return;
        }
        for line in text.lines() {
            let clean = line.trim_end();
            self.text
                .extend(clean.chars().filter(|c| !c.is_control() || *c == '\t'));
            self.text.push('\n');
            self.lines += 1;
        }
    }

    /// Adds lines that stand apart from what is before them.
    pub fn push_apart(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.part();
        self.push(text.trim_matches('\n'));
    }

    /// One blank line, unless there is one.
    pub fn part(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.push("\n");
        }
    }

    /// What is added next is the `number`th of its kind.
    pub fn begin(&mut self, unit: PlaceUnit, name: Option<&str>, number: usize) {
        self.places.push(Mark {
            line: self.lines + 1,
            place: Place {
                unit,
                name: name.map(plain_name).filter(|name| !name.is_empty()),
                start: number,
                end: number,
            },
        });
    }

    /// Notes something that the document holds and its text does not.
    pub fn note_missing(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.missing.len() < MAX_MISSING && !self.missing.contains(&what) {
            self.missing.push(one_line(&what, MAX_NAME_CHARS));
        }
    }

    /// The text alone.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Whether the text says this somewhere.
    pub fn says(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// Whether anything was said.
    pub fn has_text(&self) -> bool {
        !self.text.trim().is_empty()
    }

    /// Whether nothing more is taken.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The document; an error when it says nothing, with `why`, or more than can be.
    pub fn finish(
        self,
        shape: TextLayout,
        title: Option<String>,
        why: &str,
    ) -> Result<Extraction, SkipReason> {
        if self.full {
            return Err(too_much_text());
        }
        if !self.has_text() {
            return Err(SkipReason::NoText(why.to_owned()));
        }
        Ok(Extraction {
            text: self.text,
            title: title.map(|t| plain_name(&t)).filter(|t| !t.is_empty()),
            shape,
            places: self.places,
            missing: self.missing,
        })
    }

    /// [`Draft::finish`] for Markdown whose headings are its places.
    pub fn finish_sections(
        self,
        title: Option<String>,
        why: &str,
    ) -> Result<Extraction, SkipReason> {
        let mut document = self.finish(TextLayout::Markdown, title, why)?;
        document.places = sections(&document.text);
        Ok(document)
    }
}

/// Why a document is not read that says more than [`MAX_TEXT_BYTES`].
pub(super) fn too_much_text() -> SkipReason {
    SkipReason::UnpacksTooMuch(format!(
        "over {} MB of text",
        MAX_TEXT_BYTES / (1024 * 1024)
    ))
}

/// A name on one line, without the marks of Markdown.
fn plain_name(name: &str) -> String {
    one_line(&plain_heading(name), MAX_NAME_CHARS)
}

/// A mark for each heading of a Markdown text; what stands before the first has none.
fn sections(text: &str) -> Vec<Mark> {
    let marks = (1..)
        .zip(headings(text))
        .map(|(number, (line, heading))| Mark {
            line: line + 1,
            place: Place {
                unit: PlaceUnit::Section,
                name: Some(plain_name(heading)).filter(|name| !name.is_empty()),
                start: number,
                end: number,
            },
        });
    marks.collect()
}

/// The tables that are open while a text is read, each within a cell of the one before it.
#[derive(Default)]
pub(crate) struct Tables(Vec<Vec<Vec<String>>>);

impl Tables {
    pub fn begin(&mut self) {
        self.0.push(Vec::new());
    }

    pub fn row(&mut self) {
        if let Some(table) = self.0.last_mut() {
            table.push(Vec::new());
        }
    }

    pub fn cell(&mut self) {
        if let Some(row) = self.0.last_mut().and_then(|table| table.last_mut()) {
            row.push(String::new());
        }
    }

    /// Says it in the open cell; whether there is one.
    pub fn push_text(&mut self, text: &str) -> bool {
        let row = self.0.last_mut().and_then(|table| table.last_mut());
        let Some(cell) = row.and_then(|row| row.last_mut()) else {
            return false;
        };
        cell.push_str(text);
        cell.push(' ');
        true
    }

    /// Ends the innermost table and gives it as Markdown. One within a cell is said there instead.
    pub fn end(&mut self) -> Option<String> {
        let rows = self.0.pop()?;
        let is_said = rows
            .iter()
            .fold(false, |_, row| self.push_text(&row.join(" ")));
        (!is_said).then(|| markdown_table(&rows))
    }
}

/// Rows as a Markdown table; the first row is its header. Every row is as wide as the widest, so
/// few bytes can ask for very many: what is over the limit of a document's text is not written.
pub(crate) fn markdown_table(rows: &[Vec<String>]) -> String {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        text.push('|');
        for column in 0..width {
            let cell = row.get(column).map_or("", String::as_str);
            let words: Vec<&str> = cell.split_whitespace().collect();
            text.push(' ');
            text.push_str(&words.join(" ").replace('|', "\\|"));
            text.push_str(" |");
        }
        text.push('\n');
        if at == 0 {
            text.push('|');
            text.push_str(&" --- |".repeat(width));
            text.push('\n');
        }
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
    }
    text
}

/// Text that leads somewhere.
pub(crate) fn link(text: &str, target: Option<&str>) -> String {
    match target {
        Some(target)
            if !text.trim().is_empty() && !target.is_empty() && !target.starts_with('#') =>
        {
            let target = target
                .replace(' ', "%20")
                .replace('(', "%28")
                .replace(')', "%29");
            format!("[{}]({target})", text.trim())
        }
        _ => text.to_owned(),
    }
}

/// A paragraph as one block of Markdown that is no heading by accident and holds no tags: `<name>` is text.
pub(crate) fn escaped(paragraph: &str) -> String {
    let mut escaped = String::with_capacity(paragraph.len());
    if paragraph.starts_with('#') {
        escaped.push('\\');
    }
    let mut characters = paragraph.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek();
        if c == '<' && next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
        {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_places_and_fences_are_not() {
        let mut draft = Draft::default();
        draft.push_apart("before\n\n# [One](a.md) and *two*\n\n```\n# no\n```\n\n## Three\n");
        let document = draft.finish_sections(None, "").unwrap();
        let names: Vec<_> = document
            .places
            .iter()
            .map(|mark| (mark.line, mark.place.to_string()))
            .collect();
        assert_eq!(
            names,
            [(3, "§ One and two".to_owned()), (9, "§ Three".to_owned())]
        );
    }

    #[test]
    fn a_document_without_words_has_no_text() {
        let mut draft = Draft::default();
        draft.begin(PlaceUnit::Page, None, 1);
        draft.push(" \n\n");
        let reason = draft
            .finish(TextLayout::Plain, None, "only pictures")
            .unwrap_err();
        assert_eq!(reason.to_string(), "no text in it: only pictures");
    }
}

#[cfg(test)]
mod tests_of_tables {
    use super::*;

    #[test]
    fn a_table_within_a_cell_is_said_within_that_cell() {
        let mut tables = Tables::default();
        assert!(!tables.push_text("before any table"));
        for outer in ["Gate", "Door"] {
            if outer == "Gate" {
                tables.begin();
            }
            tables.row();
            tables.cell();
            assert!(tables.push_text(outer));
        }
        tables.begin();
        for inner in ["opens", "closes"] {
            tables.row();
            tables.cell();
            assert!(tables.push_text(inner));
        }
        assert_eq!(tables.end(), None);
        let table = tables.end().unwrap();
        assert_eq!(table, "| Gate |\n| --- |\n| Door opens closes |\n");
        assert_eq!(tables.end(), None);
    }

    #[test]
    fn a_table_as_wide_as_it_is_long_ends_at_the_limit() {
        let mut rows = vec![Vec::new(); 100_000];
        rows.push(vec![String::new(); 100_000]);
        let text = markdown_table(&rows);
        assert!(text.len() > MAX_TEXT_BYTES && text.len() < MAX_TEXT_BYTES * 2);
    }
}
