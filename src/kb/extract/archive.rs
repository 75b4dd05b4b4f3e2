//! Zip archives and the XML in them, neither of which is believed.
//!
//! A few kilobytes can claim to be, and unpack to, any number of gigabytes. What an archive says
//! about itself is not asked: bytes are counted as they come out, over all entries together.
//! Entries are only ever read into memory by a name that we choose, so what the names say
//! (`../../etc/passwd`) does not matter.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event as Raw};
use zip::result::ZipError;
use zip::{ZipArchive, ZipWriter};

use super::{SkipReason, decode};

/// Most bytes of all entries together, unpacked.
const MAX_UNPACKED: u64 = 200 * MEGABYTE;
/// Most bytes of one entry, unpacked.
const MAX_ENTRY: u64 = 64 * MEGABYTE;
const MAX_ENTRIES: usize = 20_000;
/// XML packs to a fiftieth, hardly ever to less than a three-hundredth.
const MAX_RATIO: u64 = 300;
/// What is small is not worth a suspicion.
const UNSUSPICIOUS: u64 = 16 * MEGABYTE;
const MEGABYTE: u64 = 1024 * 1024;

/// An archive and how much may still come out of it.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Archive<'a> {
    /// Reads the table of contents.
    pub fn open(bytes: &'a [u8]) -> Result<Self, SkipReason> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(reason)?;
        if zip.len() > MAX_ENTRIES {
            return Err(SkipReason::UnpacksTooMuch(format!("{} entries", zip.len())));
        }
        Ok(Self {
            zip,
            left: MAX_UNPACKED,
        })
    }

    /// Whether there is an entry of that name.
    pub fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// Whether there is an entry of that name, in whatever case and with whatever slashes.
    pub fn has_like(&self, name: &str) -> bool {
        let is_it = |entry: &str| entry.replace('\\', "/").eq_ignore_ascii_case(name);
        let mut names = self.zip.file_names().filter_map(Result::ok);
        names.any(|entry| is_it(&entry))
    }

    /// The same archive, in which the part of that name and its relations have another.
    pub fn with_main_part(&mut self, from: &str, to: &str) -> Result<Vec<u8>, SkipReason> {
        let relations = |part: &str| {
            let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
            format!("{folder}/_rels/{file}.rels")
        };
        let mut renamed = ZipWriter::new(Cursor::new(Vec::new()));
        for at in 0..self.zip.len() {
            let entry = self.zip.by_index_raw(at).map_err(reason)?;
            let name = entry.name().map_err(reason)?.into_owned();
            let new = match name.as_str() {
                part if part == from => to.to_owned(),
                part if part == relations(from) => relations(to),
                _ => name,
            };
            renamed.raw_copy_file_rename(entry, new).map_err(reason)?;
        }
        Ok(renamed.finish().map_err(reason)?.into_inner())
    }

    /// An entry's bytes; `None` when there is none of that name.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, SkipReason> {
        match self.zip.index_for_name(name) {
            Some(at) => {
                let mut bytes = Vec::new();
                self.unpack(at, |piece| bytes.extend_from_slice(piece))?;
                Ok(Some(bytes))
            }
            None => Ok(None),
        }
    }

    /// Reads an entry's text.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, SkipReason> {
        let Some(bytes) = self.bytes(name)? else {
            return Ok(None);
        };
        let text = decode::decode(bytes);
        text.map(Some)
            .map_err(|_| SkipReason::Damaged(format!("{name} in it is not text")))
    }

    /// [`Archive::text`] of an entry that the format cannot do without.
    pub fn required(&mut self, name: &str) -> Result<String, SkipReason> {
        self.text(name)?
            .ok_or_else(|| SkipReason::Damaged(format!("{name} is missing in it")))
    }

    fn unpack(&mut self, at: usize, mut take: impl FnMut(&[u8])) -> Result<(), SkipReason> {
        let mut entry = self.zip.by_index(at).map_err(reason)?;
        let packed = entry.compressed_size().max(1);
        let mut buffer = vec![0; 64 * 1024];
        let mut unpacked = 0_u64;
        loop {
            let read = entry.read(&mut buffer).map_err(|error| {
                SkipReason::Damaged(format!("an entry cannot be unpacked ({error})"))
            })?;
            if read == 0 {
                return Ok(());
            }
            unpacked += read as u64;
            self.left = self.left.saturating_sub(read as u64);
            let suspicious = unpacked > UNSUSPICIOUS && unpacked / packed > MAX_RATIO;
            if self.left == 0 || unpacked > MAX_ENTRY || suspicious {
                return Err(SkipReason::UnpacksTooMuch(format!(
                    "the limit is {} MB",
                    MAX_UNPACKED / MEGABYTE
                )));
            }
            take(&buffer[..read]);
        }
    }
}

fn reason(error: ZipError) -> SkipReason {
    match error {
        ZipError::Io(error) => SkipReason::Damaged(error.to_string()),
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            SkipReason::Encrypted
        }
        ZipError::InvalidArchive(_) => {
            SkipReason::Damaged("it is cut off: the archive it is made of has no end".to_owned())
        }
        other => SkipReason::Damaged(other.to_string()),
    }
}

// XML as a flat row of events.
//
// Nothing recurses and nothing is looked up: an entity that a document declares itself stays
// unread, so neither nesting nor expansion can grow beyond the bytes that are there. Names come
// without their prefix: who wrote the file chose that.

/// What comes next in a document.
#[derive(Debug)]
pub(crate) enum XmlEvent<'a> {
    /// An element begins.
    Open(Tag<'a>),
    /// An element ends.
    Close(String),
    /// Text between tags.
    Text(Cow<'a, str>),
}

/// An element's name and attributes.
#[derive(Debug)]
pub(crate) struct Tag<'a> {
    start: BytesStart<'a>,
}

impl Tag<'_> {
    /// Name of the element without its prefix.
    pub fn name(&self) -> &str {
        local(self.start.name().into_inner())
    }

    /// The attribute of that name, whatever its prefix.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.start.attributes();
        let mut attributes = attributes.with_checks(false).filter_map(Result::ok);
        let own = attributes.find(|own| local(own.key.into_inner()) == name)?;
        let value = &*own.value;
        Some(unescape(value).map_or_else(|_| value.to_owned(), Cow::into_owned))
    }
}

/// Goes through a document.
pub(crate) struct Events<'a> {
    reader: Reader<&'a [u8]>,
    /// The end of an element that is empty.
    pending: Option<String>,
}

impl<'a> Events<'a> {
    pub fn new(xml: &'a str) -> Self {
        let mut reader = Reader::from_str(xml);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Self {
            reader,
            pending: None,
        }
    }

    /// The next event; `None` at the end.
    pub fn next(&mut self) -> Result<Option<XmlEvent<'a>>, SkipReason> {
        if let Some(name) = self.pending.take() {
            return Ok(Some(XmlEvent::Close(name)));
        }
        loop {
            let raw = self
                .reader
                .read_event()
                .map_err(|error| SkipReason::Damaged(format!("broken XML in it ({error})")))?;
            return Ok(Some(match raw {
                Raw::Start(start) => XmlEvent::Open(Tag { start }),
                Raw::Empty(start) => {
                    self.pending = Some(local(start.name().into_inner()).to_owned());
                    XmlEvent::Open(Tag { start })
                }
                Raw::End(end) => XmlEvent::Close(local(end.name().into_inner()).to_owned()),
                Raw::Text(text) => XmlEvent::Text(text.into_inner()),
                Raw::CData(data) => XmlEvent::Text(data.into_inner()),
                Raw::GeneralRef(reference) => {
                    let number = reference.resolve_char_ref().ok().flatten();
                    match (number, resolve_predefined_entity(&reference)) {
                        (Some(c), _) => XmlEvent::Text(Cow::Owned(c.to_string())),
                        (None, Some(text)) => XmlEvent::Text(Cow::Borrowed(text)),
                        (None, None) => continue,
                    }
                }
                Raw::Eof => return Ok(None),
                Raw::Comment(_) | Raw::Decl(_) | Raw::PI(_) | Raw::DocType(_) => continue,
            }));
        }
    }

    /// Passes over what is left of the element that has just begun.
    pub fn skip(&mut self) -> Result<(), SkipReason> {
        self.text().map(drop)
    }

    /// The characters of what is left of the element that has just begun.
    pub fn text(&mut self) -> Result<String, SkipReason> {
        let mut depth = 1_usize;
        let mut text = String::new();
        while depth > 0 {
            match self.next()? {
                Some(XmlEvent::Open(_)) => depth += 1,
                Some(XmlEvent::Close(_)) => depth -= 1,
                Some(XmlEvent::Text(piece)) => text.push_str(&piece),
                None => break,
            }
        }
        Ok(text)
    }
}

/// The characters of the first element of that name.
pub(crate) fn first_text(xml: &str, name: &str) -> Option<String> {
    let mut events = Events::new(xml);
    while let Ok(Some(event)) = events.next() {
        if let XmlEvent::Open(tag) = event
            && tag.name() == name
        {
            let text = events.text().ok()?;
            return Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        }
    }
    None
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_entities_are_not_expanded_and_nesting_is_flat() {
        let laughs =
            "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><x>1 &b; &amp; &#50;</x>";
        assert_eq!(first_text(laughs, "x").unwrap(), "1  & 2");
        let deep = "<x>".repeat(200_000) + "end";
        assert_eq!(first_text(&deep, "x").unwrap(), "end");
    }
}
