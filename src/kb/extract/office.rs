//! Which document of an office program a file is.

mod archive;
mod docx;
mod epub;
mod odf;
mod ooxml;
mod pptx;
mod tables;
mod xml;

use super::sheet::Compound;
use super::sheet::{xls, xlsx};
use super::{Extraction, SkipReason};
use archive::Archive;

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
        return xlsx::xlsx(bytes);
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
    let mut file = Compound::of(bytes)?;
    if file.has("EncryptedPackage") {
        return Err(SkipReason::Encrypted);
    }
    let what = if file.has("Workbook") || file.has("Book") {
        return xls::document(&mut file);
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
