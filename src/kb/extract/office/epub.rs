//! Electronic books: their chapters in reading order, as the web pages that they are.

use std::collections::HashMap;

use super::archive::Archive;
use super::xml;
use super::xml::{Events, XmlEvent};
use crate::kb::extract::draft::Draft;
use crate::kb::extract::text::html;
use crate::kb::extract::{Extraction, SkipReason};

/// Reads the chapters of the book.
pub(crate) fn document(archive: &mut Archive<'_>) -> Result<Extraction, SkipReason> {
    let container = archive.required("META-INF/container.xml")?;
    let package_at = root(&container)?
        .ok_or_else(|| SkipReason::Damaged("it does not say where the book is".to_owned()))?;
    let package = archive.required(&package_at)?;
    let locked = archive.text("META-INF/encryption.xml")?.unwrap_or_default();
    let mut draft = Draft::default();
    let mut has_chapter = false;
    let title = xml::first(&package, "title");
    if let Some(title) = &title {
        let by = xml::first(&package, "creator").map(|author| format!("\nBy {author}"));
        draft.push_apart(&format!("{title}{}", by.unwrap_or_default()));
    }
    for chapter in spine(&package_at, &package)? {
        // What a shop has locked; fonts are often scrambled in books that are not locked.
        if locked.contains(&format!("\"{chapter}\"")) {
            return Err(SkipReason::Encrypted);
        }
        let Some(page) = archive.text(&chapter)? else {
            draft.note_missing(format!("{chapter}, which is a chapter and not in the file"));
            continue;
        };
        // A book's list of contents is no menu.
        let page = page.replace("<nav", "<div").replace("</nav", "</div");
        let (markdown, title) = html::to_markdown(&html::opened(&page))?;
        let has_heading = markdown.lines().any(|line| line.starts_with('#'));
        if let Some(title) = title.filter(|_| !has_heading) {
            draft.push_apart(&format!("# {title}"));
        }
        has_chapter |= !markdown.trim().is_empty();
        draft.push_apart(&markdown);
        if draft.is_full() {
            break;
        }
    }
    if !has_chapter {
        return Err(SkipReason::NoText(
            "its chapters are empty or pictures".to_owned(),
        ));
    }
    draft.finish_sections(title, "its chapters are empty or pictures")
}

/// A name relative to a folder of the archive, written as an address.
fn inside(folder: &str, href: &str) -> String {
    let href = href.split('#').next().unwrap_or_default();
    let name = percent_encoding::percent_decode_str(href).decode_utf8_lossy();
    let mut parts: Vec<&str> = if name.starts_with('/') || folder.is_empty() {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
    for part in name.split('/') {
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

fn root(container: &str) -> Result<Option<String>, SkipReason> {
    let mut events = Events::new(container);
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
    let mut contents = None;
    let mut events = Events::new(package);
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
                    let chapter = inside(folder, &href);
                    // The table of contents stands before the chapters, if not among them.
                    let properties = tag.attribute("properties").unwrap_or_default();
                    if properties.split(' ').any(|property| property == "nav") {
                        contents = Some(id.clone());
                    }
                    items.insert(id, chapter);
                }
            }
            "itemref" => {
                let chapter = tag.attribute("idref").and_then(|id| items.remove(&id));
                chapters.extend(chapter);
            }
            _ => {}
        }
    }
    if let Some(contents) = contents.and_then(|id| items.remove(&id)) {
        chapters.insert(0, contents);
    }
    Ok(chapters)
}
