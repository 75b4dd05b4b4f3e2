//! A reference of a document to another.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::text::spaced;

/// One reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Link {
    /// The line it stands on, from 1.
    pub line: usize,
    /// What it leads to.
    pub target: LinkTarget,
    /// How it is made.
    pub kind: LinkKind,
}

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkTarget {
    /// A file, as evidence would name it; its extension may be missing.
    Path(String),
    /// A document by its name or title, in lower case.
    Name(String),
    /// A ticket, in upper case.
    Id(String),
}

/// How a reference is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// A word names the relation: `Parent`, `Blocks` …, as it is written there.
    Relation(String),
    /// `[text](target)`, or what other markup has for that.
    Markdown,
    /// `[[target]]`.
    Wiki,
    /// A ticket id stands in the text.
    Mention,
}

/// A set of targets that references may lead to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LinkTargets {
    /// A ticket, in upper case.
    pub id: Option<String>,
    /// The paths by which links call the documents, in lower case.
    pub paths: HashSet<String>,
    /// The names by which wiki links call the documents.
    pub names: HashSet<String>,
}

impl LinkTargets {
    /// Whether a reference leads to one of the targets.
    pub fn are_meant_by(&self, link: &Link) -> bool {
        match &link.target {
            LinkTarget::Id(id) => self.id.as_ref() == Some(id),
            LinkTarget::Path(path) => {
                self.paths.contains(path) || self.paths.contains(&path.to_lowercase())
            }
            LinkTarget::Name(name) => self.names.contains(&spaced(name)),
        }
    }
}
