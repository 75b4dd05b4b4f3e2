//! Which document an archive or a compound file is.

mod archive;
mod epub;
mod microsoft;
mod odf;
mod xml;

use std::io::Cursor;
use std::path::Path;

use office_oxide::DocumentFormat;
use office_oxide::cfb::CfbReader;

use super::text::mail;
use super::{Extraction, SkipReason};
use archive::Archive;

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
        return epub::document(&mut archive);
    }
    if kind.contains("opendocument") || archive.has("content.xml") {
        return odf::document(&mut archive);
    }
    Err(unread("an archive: unpack it into the folder"))
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
        return Err(unread(
            "a compound file without a document: cut off, damaged or of another program",
        ));
    };
    microsoft::document(bytes, format)
}

fn unread(what: &str) -> SkipReason {
    SkipReason::Unsupported(what.to_owned())
}
