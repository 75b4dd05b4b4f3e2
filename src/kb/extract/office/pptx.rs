//! Presentations: a heading a slide, its text, tables and notes.

use std::collections::HashSet;

use super::archive::Archive;
use super::ooxml;
use super::ooxml::PartRelations;
use super::tables;
use super::tables::escaped;
use super::xml::{Events, XmlEvent};
use crate::domain::PlaceUnit;
use crate::kb::extract::draft;
use crate::kb::extract::draft::Draft;
use crate::kb::extract::{Extraction, SkipReason, TextLayout};

const PART: &str = "ppt/presentation.xml";

/// Reads the slides in the order in which they are shown.
pub(in crate::kb::extract) fn document(
    archive: &mut Archive<'_>,
) -> Result<Extraction, SkipReason> {
    let presentation = archive.required(PART)?;
    let relations = PartRelations::of(archive, PART)?;
    let mut draft = Draft::default();
    let mut events = Events::of(&presentation);
    let mut number = 0;
    let mut shown = HashSet::new();
    while let Some(event) = events.next()? {
        let XmlEvent::Open(tag) = event else { continue };
        if tag.name() != "sldId" {
            continue;
        }
        if draft.is_full() {
            break;
        }
        number += 1;
        let part = tag
            .prefixed("r:id")
            .and_then(|id| relations.target(&id).map(str::to_owned));
        // A slide is shown once; a list of the same one again and again is no presentation.
        let Some(part) = part.filter(|part| shown.insert(part.clone())) else {
            continue;
        };
        // One missing slide is no reason to lose the others.
        let Some(xml) = archive.text(&part)? else {
            continue;
        };
        let of_slide = PartRelations::of(archive, &part)?;
        let slide = read(&xml, &of_slide)?;
        draft.part();
        draft.begin(PlaceUnit::Slide, slide.title.as_deref(), number);
        let heading = slide.title.unwrap_or_else(|| format!("Slide {number}"));
        draft.push(&format!("# {heading}"));
        slide
            .blocks
            .iter()
            .for_each(|block| draft.push_apart(block));
        if let Some(notes) = of_slide.of_kind("/notesSlide").map(str::to_owned)
            && let Some(xml) = archive.text(&notes)?
        {
            let notes = read(&xml, &of_slide)?;
            if !notes.blocks.is_empty() {
                let said: Vec<&str> = notes
                    .blocks
                    .iter()
                    .map(|block| block.trim_start_matches("- ").trim())
                    .collect();
                draft.push_apart(&format!("Notes: {}", said.join("\n\n")));
            }
        }
    }
    let title = ooxml::title(archive).filter(|title| title != "PowerPoint Presentation");
    draft.finish(
        TextLayout::Markdown,
        title,
        "its slides are empty or pictures",
    )
}

#[derive(Default)]
struct Slide {
    title: Option<String>,
    blocks: Vec<String>,
}

/// What a shape on a slide is for.
#[derive(Clone, Copy, PartialEq)]
enum PlaceholderRole {
    Title,
    Body,
    /// Any other box with text in it.
    Free,
    /// Slide numbers, dates, footers: the same on every slide.
    Furniture,
}

fn read(xml: &str, relations: &PartRelations) -> Result<Slide, SkipReason> {
    let mut slide = Slide::default();
    let mut role = PlaceholderRole::Free;
    let mut block = String::new();
    let (mut paragraph, mut level) = (String::new(), 0_usize);
    let mut link: Option<String> = None;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut in_table = false;
    let mut tables = 0;
    let mut events = Events::of(xml);
    while let Some(event) = events.next()? {
        match event {
            XmlEvent::Open(tag) => match tag.name() {
                "sp" => role = PlaceholderRole::Free,
                "ph" => {
                    role = match tag.attribute("type").as_deref() {
                        Some("title" | "ctrTitle") => PlaceholderRole::Title,
                        Some("sldNum" | "dt" | "ftr" | "hdr" | "sldImg") => {
                            PlaceholderRole::Furniture
                        }
                        _ => PlaceholderRole::Body,
                    }
                }
                "Fallback" => events.skip()?,
                "tbl" => in_table = true,
                "tr" => rows.push(Vec::new()),
                "tc" => {
                    if let Some(row) = rows.last_mut() {
                        row.push(String::new());
                    }
                }
                "p" => {
                    paragraph.clear();
                    level = 0;
                }
                "pPr" => {
                    level = tag
                        .attribute("lvl")
                        .and_then(|l| l.parse().ok())
                        .unwrap_or(0);
                }
                "br" => paragraph.push(' '),
                "hlinkClick" => {
                    link = tag.prefixed("r:id").and_then(|id| relations.link(&id));
                }
                "t" => {
                    let text = events.text()?;
                    paragraph.push_str(&tables::link(&text, link.take().as_deref()));
                }
                _ => {}
            },
            XmlEvent::Close(name) => match name.as_str() {
                "r" => link = None,
                "p" => {
                    let text = paragraph.trim();
                    let cell = rows.last_mut().and_then(|row| row.last_mut());
                    match cell.filter(|_| in_table) {
                        Some(cell) => {
                            cell.push_str(text);
                            cell.push(' ');
                        }
                        None if text.is_empty() => {}
                        None if role == PlaceholderRole::Body => {
                            block.push_str(&format!("{}- {text}\n", "  ".repeat(level.min(8))));
                        }
                        None => block.push_str(&format!("{}\n", escaped(text))),
                    }
                }
                "tbl" => {
                    in_table = false;
                    let table = tables::table(&rows);
                    tables += table.len();
                    if tables > draft::MAX_TEXT_BYTES {
                        return Err(draft::too_much_text());
                    }
                    slide.blocks.push(table);
                    rows.clear();
                }
                "sp" => {
                    let text = std::mem::take(&mut block);
                    let words: Vec<&str> = text.split_whitespace().collect();
                    match role {
                        PlaceholderRole::Furniture => {}
                        _ if words.is_empty() => {}
                        PlaceholderRole::Title if slide.title.is_none() => {
                            slide.title = Some(words.join(" "));
                        }
                        _ => slide.blocks.push(text),
                    }
                }
                _ => {}
            },
            XmlEvent::Text(_) => {}
        }
    }
    Ok(slide)
}
