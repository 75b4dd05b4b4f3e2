//! What the formats of Office share, and which of them a file is.

use std::collections::HashMap;

use super::archive::Archive;
use super::compound::Compound;
use super::draft::MAX_TEXT_BYTES;
use super::xml::{self, Event, Events};
use super::{Extraction, SkipReason, docx, epub, odf, pptx, sheet, xls};

/// Reads whatever document the archive is.
pub(super) fn document(bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let mut archive = Archive::open(bytes)?;
    if archive.has("word/document.xml") {
        return docx::document(&mut archive);
    }
    if archive.has("ppt/presentation.xml") {
        return pptx::document(&mut archive);
    }
    if archive.has("xl/workbook.xml") {
        archive.check()?;
        return sheet::xlsx(bytes);
    }
    if archive.has("xl/workbook.bin") {
        return Err(unread(
            "a binary workbook (XLSB) is not read: save it as XLSX",
        ));
    }
    let kind = archive.text("mimetype")?.unwrap_or_default();
    if kind.trim() == "application/epub+zip" || archive.has("META-INF/container.xml") {
        return epub::document(&mut archive);
    }
    if kind.contains("opendocument") || archive.has("content.xml") {
        return odf::document(&mut archive);
    }
    Err(unread("an archive: unpack it into the folder"))
}

/// Reads the only document of Office 97 to 2003 that is read, a workbook; what else a compound
/// file is, its parts tell.
pub(super) fn old_document(bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let file = Compound::of(bytes)?;
    if file.has("EncryptedPackage") {
        return Err(SkipReason::Encrypted);
    }
    let what = if file.has("Workbook") || file.has("Book") {
        return xls::document(&file);
    } else if file.has("WordDocument") {
        "an old Word document: save it as DOCX or PDF"
    } else if file.has("PowerPoint Document") {
        "an old presentation: save it as PPTX or PDF"
    } else if file.has("__properties_version1.0") {
        "a message of Outlook: save it as EML"
    } else {
        return Err(SkipReason::Damaged(
            "it is no document of Office that is known".to_owned(),
        ));
    };
    Err(unread(what))
}

fn unread(what: &str) -> SkipReason {
    SkipReason::Unsupported(what.to_owned())
}

/// What a part of an Office document refers to: where to, by the name of the reference.
pub(super) struct Relations(HashMap<String, Relation>);

struct Relation {
    kind: String,
    target: String,
    /// Leads out of the archive.
    external: bool,
}

impl Relations {
    /// Of the part of that name, `word/document.xml`.
    pub fn of(archive: &mut Archive<'_>, part: &str) -> Result<Self, SkipReason> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let Some(xml) = archive.text(&format!("{folder}/_rels/{file}.rels"))? else {
            return Ok(Self(HashMap::new()));
        };
        let mut relations = HashMap::new();
        let mut events = Events::of(&xml);
        while let Some(event) = events.next()? {
            let Event::Open(tag) = event else { continue };
            if tag.name() != "Relationship" {
                continue;
            }
            let (Some(id), Some(target)) = (tag.attribute("Id"), tag.attribute("Target")) else {
                continue;
            };
            let external = tag.attribute("TargetMode").as_deref() == Some("External");
            let target = if external {
                target
            } else {
                inside(folder, &target)
            };
            let kind = tag.attribute("Type").unwrap_or_default();
            relations.insert(
                id,
                Relation {
                    kind,
                    target,
                    external,
                },
            );
        }
        Ok(Self(relations))
    }

    /// Where the reference of that name leads.
    pub fn target(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(|relation| relation.target.as_str())
    }

    /// Where a link of that name leads; one within the document leads nowhere.
    pub fn link(&self, id: &str) -> Option<String> {
        let relation = self.0.get(id).filter(|relation| relation.external);
        relation.map(|relation| relation.target.clone())
    }

    /// The part that stands in that relation, `notesSlide`.
    pub fn of_kind(&self, kind: &str) -> Option<&str> {
        self.0
            .values()
            .find(|relation| relation.kind.ends_with(kind))
            .map(|relation| relation.target.as_str())
    }
}

/// A name relative to a folder of the archive.
pub(super) fn inside(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = if target.starts_with('/') || folder.is_empty() {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The title among an Office document's properties.
pub(super) fn title(archive: &mut Archive<'_>) -> Option<String> {
    let core = archive.text("docProps/core.xml").ok().flatten()?;
    xml::first(&core, "title")
}

/// The tables that are open while a text is read, each within a cell of the one before it.
#[derive(Default)]
pub(super) struct Tables(Vec<Vec<Vec<String>>>);

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
    pub fn say(&mut self, text: &str) -> bool {
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
        let is_said = rows.iter().fold(false, |_, row| self.say(&row.join(" ")));
        (!is_said).then(|| table(&rows))
    }
}

/// Rows as a Markdown table; the first row is its header. Every row is as wide as the widest, so
/// few bytes can ask for very many: what is over the limit of a document's text is not written.
pub(super) fn table(rows: &[Vec<String>]) -> String {
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
pub(super) fn link(text: &str, target: Option<&str>) -> String {
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

/// A paragraph as one block of Markdown that is no heading by accident.
pub(super) fn escaped(paragraph: &str) -> String {
    if paragraph.starts_with('#') {
        format!("\\{paragraph}")
    } else {
        paragraph.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_within_a_cell_is_said_within_that_cell() {
        let mut tables = Tables::default();
        assert!(!tables.say("before any table"));
        for outer in ["Gate", "Door"] {
            if outer == "Gate" {
                tables.begin();
            }
            tables.row();
            tables.cell();
            assert!(tables.say(outer));
        }
        tables.begin();
        for inner in ["opens", "closes"] {
            tables.row();
            tables.cell();
            assert!(tables.say(inner));
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
        let text = table(&rows);
        assert!(text.len() > MAX_TEXT_BYTES && text.len() < MAX_TEXT_BYTES * 2);
    }
}
