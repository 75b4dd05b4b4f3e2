//! What the formats of Office Open XML share.

use std::collections::HashMap;

use super::archive::Archive;
use super::xml;
use super::xml::{Events, XmlEvent};
use crate::kb::extract::SkipReason;

/// What a part of an Office document refers to: where to, by the name of the reference.
pub(in crate::kb::extract) struct PartRelations(HashMap<String, Relation>);

struct Relation {
    kind: String,
    target: String,
    /// Leads out of the archive.
    external: bool,
}

impl PartRelations {
    /// Of the part of that name, `word/document.xml`.
    pub fn of(archive: &mut Archive<'_>, part: &str) -> Result<Self, SkipReason> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let Some(xml) = archive.text(&format!("{folder}/_rels/{file}.rels"))? else {
            return Ok(Self(HashMap::new()));
        };
        let mut relations = HashMap::new();
        let mut events = Events::of(&xml);
        while let Some(event) = events.next()? {
            let XmlEvent::Open(tag) = event else { continue };
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
pub(in crate::kb::extract) fn inside(folder: &str, target: &str) -> String {
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
pub(in crate::kb::extract) fn title(archive: &mut Archive<'_>) -> Option<String> {
    let core = archive.text("docProps/core.xml").ok().flatten()?;
    xml::first(&core, "title")
}
