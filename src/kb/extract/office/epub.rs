//! Electronic books: their chapters in reading order, as the web pages that they are.

use std::collections::HashMap;

use super::archive::Archive;
use super::ooxml;
use super::xml;
use super::xml::{Events, XmlEvent};
use crate::kb::extract::draft::Draft;
use crate::kb::extract::text::html;
use crate::kb::extract::{Extraction, SkipReason};

/// Reads the chapters of the book.
pub(in crate::kb::extract) fn document(
    archive: &mut Archive<'_>,
) -> Result<Extraction, SkipReason> {
    let container = archive.required("META-INF/container.xml")?;
    let package_at = root(&container)?
        .ok_or_else(|| SkipReason::Damaged("it does not say where the book is".to_owned()))?;
    let package = archive.required(&package_at)?;
    let locked = archive.text("META-INF/encryption.xml")?.unwrap_or_default();
    let mut draft = Draft::default();
    for chapter in spine(&package_at, &package)? {
        // What a shop has locked; fonts are often scrambled in books that are not locked.
        if locked.contains(&format!("\"{chapter}\"")) {
            return Err(SkipReason::Encrypted);
        }
        let Some(page) = archive.text(&chapter)? else {
            continue;
        };
        let (markdown, _) = html::to_markdown(&html::opened(&page))?;
        draft.push_apart(&markdown);
        if draft.is_full() {
            break;
        }
    }
    draft.finish_sections(
        xml::first(&package, "title"),
        "its chapters are empty or pictures",
    )
}

fn root(container: &str) -> Result<Option<String>, SkipReason> {
    let mut events = Events::of(container);
    while let Some(event) = events.next()? {
        if let XmlEvent::Open(tag) = event
            && tag.name() == "rootfile"
        {
            return Ok(tag.attribute("full-path"));
        }
    }
    Ok(None)
}

/// The chapters' names in the archive, in reading order, each once.
fn spine(package_at: &str, package: &str) -> Result<Vec<String>, SkipReason> {
    let folder = package_at.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut items: HashMap<String, String> = HashMap::new();
    let mut chapters: Vec<String> = Vec::new();
    let mut events = Events::of(package);
    while let Some(event) = events.next()? {
        let XmlEvent::Open(tag) = event else { continue };
        match tag.name() {
            "item" => {
                let page = tag
                    .attribute("media-type")
                    .is_some_and(|kind| kind.contains("html"));
                if let (true, Some(id), Some(href)) =
                    (page, tag.attribute("id"), tag.attribute("href"))
                {
                    items.insert(id, ooxml::inside(folder, &href.replace("%20", " ")));
                }
            }
            "itemref" => {
                let chapter = tag.attribute("idref").and_then(|id| items.remove(&id));
                chapters.extend(chapter);
            }
            _ => {}
        }
    }
    Ok(chapters)
}
