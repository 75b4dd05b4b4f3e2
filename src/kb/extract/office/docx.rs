//! Word documents as Markdown: headings by style, lists, tables, links and footnotes.

use std::collections::HashMap;

use super::archive::Archive;
use super::ooxml;
use super::ooxml::PartRelations;
use super::tables::{Tables, escaped, link};
use super::xml::{Events, Tag, XmlEvent};
use crate::kb::extract::draft::Draft;
use crate::kb::extract::{Extraction, SkipReason};

const PART: &str = "word/document.xml";

/// Reads the document's body and its notes.
pub(in crate::kb::extract) fn document(
    archive: &mut Archive<'_>,
) -> Result<Extraction, SkipReason> {
    let styles = match archive.text("word/styles.xml")? {
        Some(xml) => styles(&xml)?,
        None => HashMap::new(),
    };
    let lists = match archive.text("word/numbering.xml")? {
        Some(xml) => lists(&xml)?,
        None => HashMap::new(),
    };
    let relations = PartRelations::of(archive, PART)?;
    let body = archive.required(PART)?;
    let mut reading = DocxReader::new(&styles, &lists, &relations);
    reading.read(&body)?;
    for (part, mark) in [("word/footnotes.xml", ""), ("word/endnotes.xml", "e")] {
        if let Some(xml) = archive.text(part)? {
            let relations = PartRelations::of(archive, part)?;
            let mut notes = DocxReader::new(&styles, &lists, &relations);
            notes.note_mark = Some(mark);
            notes.draft = reading.draft;
            notes.read(&xml)?;
            reading.draft = notes.draft;
        }
    }
    let title = ooxml::title(archive).or(reading.title);
    reading
        .draft
        .finish_sections(title, "its pages are empty or pictures")
}

/// What a paragraph style stands for.
#[derive(Debug, Clone, Default)]
struct Style {
    /// From 1; 0 for the title of the whole document.
    heading: Option<usize>,
    list: Option<(String, usize)>,
    based_on: Option<String>,
}

fn styles(xml: &str) -> Result<HashMap<String, Style>, SkipReason> {
    let mut styles: HashMap<String, Style> = HashMap::new();
    let mut events = Events::of(xml);
    let mut id = String::new();
    while let Some(event) = events.next()? {
        let XmlEvent::Open(tag) = event else { continue };
        if tag.name() == "style" {
            id = tag.attribute("styleId").unwrap_or_default();
            styles.insert(id.clone(), Style::default());
            continue;
        }
        let (Some(style), Some(value)) = (styles.get_mut(&id), tag.attribute("val")) else {
            continue;
        };
        match tag.name() {
            "name" => {
                let name = value.to_lowercase();
                let level = name.strip_prefix("heading ").and_then(|n| n.parse().ok());
                style.heading = level.or((name == "title").then_some(0));
            }
            "outlineLvl" => {
                let level: Option<usize> = value.parse().ok().filter(|level| *level < 9);
                style.heading = style.heading.or(level.map(|level| level + 1));
            }
            "basedOn" => style.based_on = Some(value),
            "numId" => style.list = Some((value, style.list.take().map_or(0, |(_, level)| level))),
            "ilvl" => {
                let level = value.parse().unwrap_or(0);
                style.list = Some((
                    style.list.take().map_or_else(String::new, |(id, _)| id),
                    level,
                ));
            }
            _ => {}
        }
    }
    Ok(styles)
}

/// Whether each level of each list is numbered.
type Lists = HashMap<String, Vec<bool>>;

fn lists(xml: &str) -> Result<Lists, SkipReason> {
    let mut kinds: HashMap<String, Vec<bool>> = HashMap::new();
    let mut lists = HashMap::new();
    let (mut abstract_id, mut list) = (String::new(), String::new());
    let mut events = Events::of(xml);
    while let Some(event) = events.next()? {
        let XmlEvent::Open(tag) = event else { continue };
        let value = || tag.attribute("val").unwrap_or_default();
        match tag.name() {
            "abstractNum" => abstract_id = tag.attribute("abstractNumId").unwrap_or_default(),
            "numFmt" => {
                let numbered = !matches!(value().as_str(), "bullet" | "none");
                kinds.entry(abstract_id.clone()).or_default().push(numbered);
            }
            "num" => list = tag.attribute("numId").unwrap_or_default(),
            "abstractNumId" => {
                let kind = kinds.get(&value()).cloned().unwrap_or_default();
                lists.insert(list.clone(), kind);
            }
            _ => {}
        }
    }
    Ok(lists)
}

/// A paragraph that is being read.
#[derive(Debug, Default)]
struct Paragraph {
    text: String,
    style: String,
    list: Option<String>,
    level: Option<usize>,
    outline: Option<usize>,
}

struct DocxReader<'a> {
    styles: &'a HashMap<String, Style>,
    lists: &'a Lists,
    relations: &'a PartRelations,
    draft: Draft,
    title: Option<String>,
    /// Text boxes hold paragraphs within paragraphs.
    paragraphs: Vec<Paragraph>,
    tables: Tables,
    /// Where the text of a link begins and where it leads to.
    link: Option<(usize, Option<String>)>,
    /// How far each level of each list has counted.
    counts: HashMap<(String, usize), usize>,
    in_list: bool,
    /// In a part that holds notes: what their numbers begin with.
    note_mark: Option<&'a str>,
    note: Option<String>,
}

impl<'a> DocxReader<'a> {
    fn new(
        styles: &'a HashMap<String, Style>,
        lists: &'a Lists,
        relations: &'a PartRelations,
    ) -> Self {
        Self {
            styles,
            lists,
            relations,
            draft: Draft::default(),
            title: None,
            paragraphs: Vec::new(),
            tables: Tables::default(),
            link: None,
            counts: HashMap::new(),
            in_list: false,
            note_mark: None,
            note: None,
        }
    }

    fn read(&mut self, xml: &str) -> Result<(), SkipReason> {
        let mut events = Events::of(xml);
        while let Some(event) = events.next()? {
            if self.draft.is_full() {
                break;
            }
            match event {
                XmlEvent::Open(tag) => match tag.name() {
                    // The fallback repeats what newer programs read, and what was deleted is gone.
                    "Fallback" | "del" | "moveFrom" | "instrText" => events.skip()?,
                    "t" => {
                        let text = events.text()?;
                        self.push_text(&text);
                    }
                    _ => self.open(&tag),
                },
                XmlEvent::Close(name) => self.close(&name),
                XmlEvent::Text(_) => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "p" => self.paragraphs.push(Paragraph::default()),
            "tab" if self.paragraphs.last().is_some_and(|p| !p.text.is_empty()) => {
                self.push_text(" ");
            }
            "br" | "cr" => self.push_text("\n"),
            "noBreakHyphen" => self.push_text("-"),
            "tbl" => self.tables.begin(),
            "tr" => self.tables.row(),
            "tc" => self.tables.cell(),
            "hyperlink" => {
                let target = tag.prefixed("r:id").and_then(|id| self.relations.link(&id));
                let start = self.paragraphs.last().map_or(0, |p| p.text.len());
                self.link = Some((start, target));
            }
            "footnoteReference" | "endnoteReference" => {
                let mark = if tag.name() == "endnoteReference" {
                    "e"
                } else {
                    ""
                };
                if let Some(id) = tag.attribute("id") {
                    self.push_text(&format!("[^{mark}{id}]"));
                }
            }
            "footnote" | "endnote" => {
                let separator = tag.attribute("type").is_some();
                self.note = tag.attribute("id").filter(|_| !separator);
            }
            _ => self.property(tag),
        }
    }

    fn property(&mut self, tag: &Tag<'_>) {
        let Some(paragraph) = self.paragraphs.last_mut() else {
            return;
        };
        let Some(value) = tag.attribute("val") else {
            return;
        };
        match tag.name() {
            "pStyle" => paragraph.style = value,
            "numId" => paragraph.list = Some(value),
            "ilvl" => paragraph.level = value.parse().ok(),
            "outlineLvl" => paragraph.outline = value.parse().ok().filter(|level| *level < 9),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "hyperlink" => {
                if let (Some((start, target)), Some(p)) =
                    (self.link.take(), self.paragraphs.last_mut())
                    && p.text.is_char_boundary(start)
                {
                    let text = p.text.split_off(start);
                    p.text.push_str(&link(&text, target.as_deref()));
                }
            }
            "p" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.paragraph(&paragraph);
                }
            }
            "tbl" => {
                if let Some(table) = self.tables.end() {
                    self.draft.push_apart(&table);
                    self.draft.part();
                    self.in_list = false;
                }
            }
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(text);
        }
    }

    fn paragraph(&mut self, paragraph: &Paragraph) {
        let text = paragraph.text.trim();
        if text.is_empty() {
            return;
        }
        if self.tables.push_text(text) {
            return;
        }
        if self.note_mark.is_some() {
            if let Some(id) = self.note.take() {
                let mark = self.note_mark.unwrap_or_default();
                self.draft.push_apart(&format!("[^{mark}{id}]: {text}"));
            } else {
                self.draft.push_apart(text);
            }
            return;
        }
        let heading = paragraph
            .outline
            .map(|level| level + 1)
            .or_else(|| self.heading(&paragraph.style));
        if let Some(level) = heading {
            if level == 0 && self.title.is_none() {
                self.title = Some(text.to_owned());
            }
            // Where the title is a heading of its own, the others stand below it.
            let level = (level + usize::from(self.title.is_some())).clamp(1, 6);
            let words: Vec<&str> = text.split_whitespace().collect();
            self.draft
                .push_apart(&format!("{} {}", "#".repeat(level), words.join(" ")));
            self.draft.part();
            self.in_list = false;
            return;
        }
        match self.list(paragraph) {
            Some((id, level)) => {
                let mark = self.list_mark(&id, level);
                if !self.in_list {
                    self.draft.part();
                }
                let indent = "  ".repeat(level);
                let text = text.replace('\n', &format!("\n{indent}  "));
                self.draft.push(&format!("{indent}{mark} {text}"));
            }
            None => self.draft.push_apart(&escaped(text)),
        }
        self.in_list = self.list(paragraph).is_some();
    }

    fn heading(&self, style: &str) -> Option<usize> {
        self.inherited(style, |style| style.heading)
    }

    /// What a style or one that it is based on says.
    fn inherited<T>(&self, style: &str, of: impl Fn(&Style) -> Option<T>) -> Option<T> {
        const CHAIN: usize = 12;
        let mut style = self.styles.get(style);
        for _ in 0..CHAIN {
            let found = style.and_then(&of);
            if found.is_some() {
                return found;
            }
            style = self.styles.get(style?.based_on.as_deref()?);
        }
        None
    }

    fn list(&self, paragraph: &Paragraph) -> Option<(String, usize)> {
        let by_style = self.inherited(&paragraph.style, |style| style.list.clone());
        let level = paragraph
            .level
            .or(by_style.as_ref().map(|(_, level)| *level));
        let id = paragraph.list.clone().or(by_style.map(|(id, _)| id))?;
        // List 0 takes a paragraph out of the list of its style.
        (id != "0").then(|| (id, level.unwrap_or(0).min(8)))
    }

    fn list_mark(&mut self, id: &str, level: usize) -> String {
        let kind = self.lists.get(id);
        if !kind
            .and_then(|levels| levels.get(level))
            .is_some_and(|numbered| *numbered)
        {
            return "-".to_owned();
        }
        for below in level + 1..9 {
            self.counts.remove(&(id.to_owned(), below));
        }
        let count = self.counts.entry((id.to_owned(), level)).or_default();
        *count += 1;
        format!("{count}.")
    }
}
