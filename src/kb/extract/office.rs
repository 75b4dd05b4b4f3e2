//! Which document an archive or a compound file is; electronic books and rich text.

use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;

use office_oxide::DocumentFormat;
use office_oxide::cfb::CfbReader;
use rtf_parser_tt::RtfDocument;

use super::archive::{Archive, Events, XmlEvent};
use super::draft::Draft;
use super::{Extraction, SkipReason, TextLayout, archive, html, mail, microsoft, odf};

/// Reads whatever document the archive or the compound file is.
pub(super) fn document(_: &Path, bytes: Vec<u8>) -> Result<Extraction, SkipReason> {
    match bytes.first() {
        Some(b'P') => archive(bytes),
        // The bare records of Excel before version 5.
        Some(0x09) => microsoft::document(bytes, DocumentFormat::Xls),
        _ => compound(bytes),
    }
}

fn archive(bytes: Vec<u8>) -> Result<Extraction, SkipReason> {
    let mut archive = Archive::open(&bytes)?;
    let types = archive.text("[Content_Types].xml")?.unwrap_or_default();
    if let Some(format) = microsoft_format(&types, &archive) {
        let renamed = match main_workbook(&types).filter(|_| format == DocumentFormat::Xlsx) {
            Some(part) => Some(archive.with_main_part(part, "xl/workbook.xml")?),
            None => None,
        };
        drop(archive);
        return microsoft::document(renamed.unwrap_or(bytes), format);
    }
    let kind = archive.text("mimetype")?.unwrap_or_default();
    if kind.trim() == "application/epub+zip" || archive.has("META-INF/container.xml") {
        return read_book(&mut archive);
    }
    if kind.contains("opendocument") || archive.has("content.xml") {
        return odf::document(&mut archive);
    }
    Err(unsupported("an archive: unpack it into the folder"))
}

/// The main part of a workbook that is called otherwise than everywhere.
fn main_workbook(types: &str) -> Option<&str> {
    let overrides = types.split("<Override ").skip(1);
    let main = overrides
        .filter_map(|one| one.split('>').next())
        .find(|one| {
            one.contains("spreadsheetml.sheet.main+xml")
                || one.contains("ms-excel.sheet.macroEnabled.main+xml")
        })?;
    let name = main.split("PartName=\"/").nth(1)?.split('"').next()?;
    (name != "xl/workbook.xml").then_some(name)
}

/// What the list of content types says that the main part of a package is; its name where there is
/// no list.
fn microsoft_format(types: &str, archive: &Archive<'_>) -> Option<DocumentFormat> {
    let main = types
        .split("ContentType=\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|kind| {
            kind.ends_with(".main+xml") || kind.ends_with("sheet.binary.macroEnabled.main")
        });
    let holds = |name: &str| main.is_some_and(|kind| kind.contains(name));
    if holds("word") || archive.has_like("word/document.xml") {
        Some(DocumentFormat::Docx)
    } else if holds("presentation")
        || holds("powerpoint")
        || archive.has_like("ppt/presentation.xml")
    {
        Some(DocumentFormat::Pptx)
    } else if holds("sheet") || holds("excel") || archive.has_like("xl/workbook.xml") {
        Some(DocumentFormat::Xlsx)
    } else {
        None
    }
}

/// A compound file is a document of Office 97 to 2003, or a message of Outlook.
fn compound(bytes: Vec<u8>) -> Result<Extraction, SkipReason> {
    let parts = CfbReader::new(Cursor::new(&bytes))
        .map_err(|error| SkipReason::Damaged(error.to_string()))?;
    let has = |part: &str| parts.has_stream(part);
    if has("EncryptedPackage") {
        return Err(SkipReason::Encrypted);
    }
    let format = if has("WordDocument") {
        DocumentFormat::Doc
    } else if has("Workbook") || has("Book") {
        DocumentFormat::Xls
    } else if has("PowerPoint Document") {
        DocumentFormat::Ppt
    } else if has("__properties_version1.0") {
        return mail::outlook(&bytes);
    } else {
        return Err(unsupported(
            "a compound file without a document: cut off, damaged or of another program",
        ));
    };
    microsoft::document(bytes, format)
}

fn unsupported(what: &str) -> SkipReason {
    SkipReason::Unsupported(what.to_owned())
}

// Electronic books: their chapters in reading order, as the web pages that they are.

/// Reads the chapters of the book.
pub(crate) fn read_book(archive: &mut Archive<'_>) -> Result<Extraction, SkipReason> {
    let container = archive.required("META-INF/container.xml")?;
    let package_at = package_path(&container)?
        .ok_or_else(|| SkipReason::Damaged("it does not say where the book is".to_owned()))?;
    let package = archive.required(&package_at)?;
    let locked = archive.text("META-INF/encryption.xml")?.unwrap_or_default();
    let mut draft = Draft::default();
    let mut has_chapter = false;
    let title = archive::first_text(&package, "title");
    if let Some(title) = &title {
        let by = archive::first_text(&package, "creator").map(|author| format!("\nBy {author}"));
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

fn package_path(container: &str) -> Result<Option<String>, SkipReason> {
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

// Rich text (RTF), a paragraph apart from the next.

/// Groups that are open where a file is cut off.
const MAX_OPEN: usize = 1000;

/// Reads a document of rich text; one that is cut off, as far as it goes.
pub(crate) fn read_rich_text(_: &Path, bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let begin = memchr::memchr(b'{', bytes).unwrap_or(0);
    let bytes = &bytes[begin..];
    let mut draft = Draft::default();
    let document = RtfDocument::from_bytes(bytes).or_else(|_| {
        draft.note_missing("its end: the file is cut off");
        RtfDocument::from_bytes(&closed(bytes))
    });
    let document = document.map_err(|error| SkipReason::Damaged(error.to_string()))?;
    for paragraph in document.get_text().split('\n') {
        draft.push_apart(paragraph);
    }
    draft.finish(
        TextLayout::Plain,
        document.info.title,
        "its pages are empty or pictures",
    )
}

/// The bytes with an end for each group that has none.
fn closed(bytes: &[u8]) -> Vec<u8> {
    let mut open = 0_usize;
    let mut is_escaped = false;
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    let end = b"}".repeat(open.min(MAX_OPEN));
    [bytes, &end].concat()
}
