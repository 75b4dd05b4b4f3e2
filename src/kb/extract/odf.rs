//! OpenDocument: texts as Markdown, presentations slide by slide, spreadsheets row by row.
//!
//! All three are one `content.xml` with the same paragraphs, lists and tables in it, so one
//! reading serves them. Cells and rows say how often they repeat; a repetition is a number from
//! outside and is bounded here.

use std::collections::HashMap;

use super::archive::{Archive, Events, Tag, XmlEvent};
use super::draft::{Draft, Tables, escaped, link};
use super::sheet::Workbook;
use super::{Extraction, SkipReason, TextLayout, archive};
use crate::domain::PlaceUnit;

/// A value that fills more neighbouring cells or rows than this is a format, not data.
const MAX_REPEATED: usize = 64;
/// Objects that are read of one document.
const MAX_OBJECTS: usize = 100;

/// Reads a text, a presentation or a spreadsheet.
pub(crate) fn document(archive: &mut Archive<'_>) -> Result<Extraction, SkipReason> {
    let manifest = archive.text("META-INF/manifest.xml")?.unwrap_or_default();
    if manifest.contains("encryption-data") {
        return Err(SkipReason::Encrypted);
    }
    let content = archive.required("content.xml")?;
    let meta = archive.text("meta.xml")?;
    let title = meta.and_then(|meta| archive::first_text(&meta, "title"));
    let mut reading = OdfReader {
        objects: embedded(archive, &content)?,
        ..OdfReader::default()
    };
    reading.read(&content)?;
    if reading.is_workbook {
        return reading.workbook.document(title);
    }
    let title = title.or(reading.title);
    if reading.slides > 0 {
        return reading.draft.finish(
            TextLayout::Markdown,
            title,
            "its slides are empty or pictures",
        );
    }
    reading
        .draft
        .finish_sections(title, "its pages are empty or pictures")
}

/// What charts and other objects within the document say, by their address in it.
fn embedded(
    archive: &mut Archive<'_>,
    content: &str,
) -> Result<HashMap<String, String>, SkipReason> {
    let mut objects = HashMap::new();
    for rest in content.split("href=\"./").skip(1).take(MAX_OBJECTS) {
        let name = rest.split('"').next().unwrap_or_default();
        if let Some(content) = archive.text(&format!("{name}/content.xml"))? {
            let mut reading = OdfReader::default();
            reading.read(&content)?;
            objects.insert(format!("./{name}"), reading.draft.into_text());
        }
    }
    Ok(objects)
}

#[derive(Default)]
struct OdfReader {
    objects: HashMap<String, String>,
    draft: Draft,
    title: Option<String>,
    /// What is being said, and the heading level it has; 0 for the title of the whole.
    paragraph: String,
    heading: Option<usize>,
    /// Open paragraphs: notes hold paragraphs within paragraphs.
    depth: usize,
    links: Vec<(usize, Option<String>)>,
    lists: usize,
    tables: Tables,
    slides: usize,
    slide_has_heading: bool,
    in_notes: bool,
    is_workbook: bool,
    workbook: Workbook,
    row: usize,
    next_row: usize,
    next_column: usize,
    cell: OdfCell,
    /// For each column, the last row that a merged cell covers and the text of that cell.
    covering: HashMap<usize, (usize, String)>,
}

/// A cell of a spreadsheet.
#[derive(Default)]
struct OdfCell {
    text: String,
    repeated: usize,
    /// How many rows it covers.
    rows: usize,
}

impl OdfReader {
    fn read(&mut self, xml: &str) -> Result<(), SkipReason> {
        let mut events = Events::new(xml);
        while let Some(event) = events.next()? {
            if self.draft.is_full() {
                break;
            }
            match event {
                XmlEvent::Open(tag) => match tag.name() {
                    "tracked-changes" | "automatic-styles" | "styles" | "forms" | "shapes" => {
                        events.skip()?;
                    }
                    "annotation" => self.read_comment(&mut events)?,
                    _ => self.open(&tag)?,
                },
                XmlEvent::Close(name) => self.close(&name)?,
                XmlEvent::Text(text) if self.depth > 0 => {
                    self.paragraph.push_str(&text.replace('\n', " "));
                }
                XmlEvent::Text(_) => {}
            }
        }
        Ok(())
    }

    /// A comment stands where it was made, with its author.
    fn read_comment(&mut self, events: &mut Events<'_>) -> Result<(), SkipReason> {
        let (mut within, mut author, mut said) = (String::new(), String::new(), String::new());
        while let Some(event) = events.next()? {
            match event {
                XmlEvent::Open(tag) => tag.name().clone_into(&mut within),
                XmlEvent::Close(name) if name == "annotation" => break,
                XmlEvent::Close(_) => said.push(' '),
                XmlEvent::Text(text) => match within.as_str() {
                    "creator" => author.push_str(&text),
                    "date" | "date-string" | "creator-initials" => {}
                    _ => said.push_str(&text),
                },
            }
        }
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        if said.is_empty() {
            return Ok(());
        }
        let comment = format!("[Comment ({author}): {said}]").replace(" ()", "");
        if self.depth > 0 {
            self.paragraph.push(' ');
            self.paragraph.push_str(&comment);
        } else {
            self.paragraph(&comment);
        }
        Ok(())
    }

    fn open(&mut self, tag: &Tag<'_>) -> Result<(), SkipReason> {
        match tag.name() {
            "spreadsheet" => self.is_workbook = true,
            "h" | "p" => {
                if self.depth == 0 {
                    self.paragraph.clear();
                    self.links.clear();
                    let level = tag.attribute("outline-level").and_then(|l| l.parse().ok());
                    let is_title = tag.attribute("style-name").as_deref() == Some("Title");
                    self.heading = match tag.name() {
                        "h" => Some(level.unwrap_or(1)),
                        _ => is_title.then_some(0),
                    };
                }
                self.depth += 1;
            }
            "s" => {
                let count: usize = tag.attribute("c").and_then(|c| c.parse().ok()).unwrap_or(1);
                self.paragraph.push_str(&" ".repeat(count.min(16)));
            }
            "tab" | "line-break" => self.paragraph.push(' '),
            "note-citation" => self.paragraph.push_str(" ["),
            "note-body" => self.paragraph.push_str(": "),
            "a" => self
                .links
                .push((self.paragraph.len(), tag.attribute("href"))),
            "list" => self.lists += 1,
            "page" => {
                self.slides += 1;
                self.slide_has_heading = false;
                self.draft.part();
                self.draft.begin(PlaceUnit::Slide, None, self.slides);
            }
            "notes" => self.in_notes = true,
            "object" => {
                let object = tag.attribute("href");
                if let Some(said) = object.and_then(|object| self.objects.remove(&object)) {
                    self.draft.push_apart(&said);
                }
            }
            _ => return self.open_table(tag),
        }
        Ok(())
    }

    fn open_table(&mut self, tag: &Tag<'_>) -> Result<(), SkipReason> {
        let repeated = |name: &str| {
            tag.attribute(name)
                .and_then(|n| n.parse::<usize>().ok())
                .unwrap_or(1)
                .max(1)
        };
        match tag.name() {
            "table" if self.is_workbook => {
                self.workbook
                    .begin(&tag.attribute("name").unwrap_or_default())?;
                self.next_row = 1;
                self.covering.clear();
            }
            "table" => self.tables.begin(),
            "table-row" if self.is_workbook => {
                self.row = self.next_row;
                self.next_row = self
                    .next_row
                    .saturating_add(repeated("number-rows-repeated"));
                self.next_column = 0;
            }
            "table-row" => self.tables.row(),
            "table-cell" | "covered-table-cell" if self.is_workbook => {
                self.cell = OdfCell {
                    text: String::new(),
                    repeated: repeated("number-columns-repeated"),
                    rows: repeated("number-rows-spanned"),
                };
            }
            "table-cell" => self.tables.cell(),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), SkipReason> {
        match name {
            "h" | "p" => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    let text = std::mem::take(&mut self.paragraph);
                    self.paragraph(text.trim());
                }
            }
            "note" => self.paragraph.push(']'),
            "a" => {
                if let Some((start, target)) = self.links.pop()
                    && self.paragraph.is_char_boundary(start)
                {
                    let text = self.paragraph.split_off(start);
                    self.paragraph.push_str(&link(&text, target.as_deref()));
                }
            }
            "list" => {
                self.lists = self.lists.saturating_sub(1);
                if self.lists == 0 {
                    self.draft.part();
                }
            }
            "notes" => self.in_notes = false,
            "table-cell" if self.is_workbook => return self.close_cell(),
            "covered-table-cell" if self.is_workbook => {
                // A merged cell belongs to all its rows.
                let above = self.covering.get(&self.next_column);
                if let Some((_, said)) = above.filter(|(last, _)| self.row <= *last) {
                    self.workbook.push(self.row, self.next_column, said)?;
                    self.cell.text.clear();
                }
                return self.close_cell();
            }
            "table" if !self.is_workbook => {
                if let Some(table) = self.tables.end() {
                    self.draft.push_apart(&table);
                    self.draft.part();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn close_cell(&mut self) -> Result<(), SkipReason> {
        let cell = std::mem::take(&mut self.cell);
        if cell.rows > 1 {
            let last = self.row.saturating_add(cell.rows - 1);
            let said = cell.text.trim().to_owned();
            self.covering.insert(self.next_column, (last, said));
        }
        for column in 0..cell.repeated.min(MAX_REPEATED) {
            let column = self.next_column.saturating_add(column);
            self.workbook.push(self.row, column, cell.text.trim())?;
        }
        self.next_column = self.next_column.saturating_add(cell.repeated);
        Ok(())
    }

    fn paragraph(&mut self, text: &str) {
        let heading = self.heading.take();
        if text.is_empty() {
            return;
        }
        if self.is_workbook {
            self.cell.text.push_str(text);
            self.cell.text.push(' ');
            return;
        }
        if self.tables.push_text(text) {
            return;
        }
        let is_beside = self.in_notes || self.lists > 0;
        let first_of_slide = self.slides > 0 && !self.slide_has_heading && !is_beside;
        if let Some(level) = heading.or(first_of_slide.then_some(1)) {
            self.slide_has_heading = true;
            if level == 0 {
                self.title.get_or_insert_with(|| text.to_owned());
            }
            let level = if self.slides > 0 {
                1
            } else {
                level + usize::from(self.title.is_some())
            };
            self.draft
                .push_apart(&format!("{} {text}", "#".repeat(level.clamp(1, 6))));
            self.draft.part();
        } else if self.in_notes {
            self.draft.push_apart(&format!("Notes: {text}"));
        } else if self.lists > 0 {
            let indent = "  ".repeat((self.lists - 1).min(8));
            self.draft.push(&format!("{indent}- {text}"));
        } else {
            self.draft.push_apart(&escaped(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::extract::draft::MAX_TEXT_BYTES;

    #[test]
    fn a_long_value_that_repeats_is_counted_as_often() {
        let value = "x".repeat(MAX_TEXT_BYTES / 32);
        let xml = format!(
            "<spreadsheet><table><table-row><table-cell number-columns-repeated=\"64\">\
             <p>{value}</p></table-cell></table-row></table></spreadsheet>"
        );
        assert!(OdfReader::default().read(&xml).is_err());
    }
}
