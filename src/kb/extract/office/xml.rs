//! XML as a flat row of events.
//!
//! Nothing recurses and nothing is looked up: an entity that a document declares itself stays
//! unread, so neither nesting nor expansion can grow beyond the bytes that are there. Names come
//! without their prefix: who wrote the file chose that.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event as Raw};

use crate::kb::extract::SkipReason;

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
        self.find(|key| local(key) == name)
    }

    fn find(&self, is_it: impl Fn(&str) -> bool) -> Option<String> {
        let mut attributes = self.start.attributes();
        attributes
            .with_checks(false)
            .filter_map(Result::ok)
            .find(|attribute| is_it(attribute.key.into_inner()))
            .map(|attribute| unescaped(&attribute.value))
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
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next()? {
                Some(XmlEvent::Open(_)) => depth += 1,
                Some(XmlEvent::Close(_)) => depth -= 1,
                Some(XmlEvent::Text(_)) => {}
                None => return Ok(()),
            }
        }
        Ok(())
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
pub(crate) fn first(xml: &str, name: &str) -> Option<String> {
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

fn unescaped(value: &str) -> String {
    quick_xml::escape::unescape(value).map_or_else(|_| value.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_entities_are_not_expanded_and_nesting_is_flat() {
        let laughs =
            "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><x>1 &b; &amp; &#50;</x>";
        assert_eq!(first(laughs, "x").unwrap(), "1  & 2");
        let deep = "<x>".repeat(200_000) + "end";
        assert_eq!(first(&deep, "x").unwrap(), "end");
    }
}
