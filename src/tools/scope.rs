//! What a question is kept within: the documents that it names after an `@`.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use crate::agent::ports::{Caller, ToolError};
use crate::domain::{mentions, with_quoted_names, without_mentions};
use crate::kb::{KnowledgeBase, Within};

/// The documents that tools look at.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Names of the documents; `None` for all.
    documents: Option<HashSet<String>>,
    /// How they are called.
    pub names: Vec<String>,
}

impl Scope {
    /// Finds the documents that the question names, and returns them with the rest of the question;
    /// `None` where it names nothing. Blocks.
    pub fn from_question(
        base: &KnowledgeBase,
        question: &str,
        stop: &AtomicBool,
    ) -> Result<Option<(Self, String)>, ToolError> {
        let first_name = |names: &[&str]| {
            let found = base.documents_named(names.iter().copied(), stop).ok()?;
            found.iter().position(|sources| !sources.is_empty())
        };
        let question = &with_quoted_names(question, first_name);
        let mentions = mentions(question);
        if mentions.is_empty() {
            return Ok(None);
        }
        let mut documents = HashSet::new();
        let mut names: Vec<String> = Vec::new();
        let asked = mentions.iter().map(|mention| mention.name.as_str());
        let found = base.documents_named(asked, stop)?;
        for (mention, found) in mentions.into_iter().zip(found) {
            if found.is_empty() {
                return Err(ToolError::BadArguments(format!(
                    "@{} names nothing in the knowledge base; Tab completes names after an @, and \
                     in quotes (\"@{}\") it is text",
                    mention.name, mention.name
                )));
            }
            documents.extend(found);
            if !names.contains(&mention.name) {
                names.push(mention.name);
            }
        }
        let left = without_mentions(question);
        if !left.contains(char::is_alphanumeric) {
            return Err(ToolError::BadArguments(format!(
                "@{} says where to look; say what to look for, too",
                names.join(" @")
            )));
        }
        let scope = Self {
            documents: Some(documents),
            names,
        };
        Ok(Some((scope, left)))
    }

    /// Converts the scope into the limits of a search.
    pub fn search_limits<'a>(&'a self, caller: Caller<'a>) -> Within<'a> {
        match &self.documents {
            Some(documents) => Within::these(documents, caller),
            None => Within::all(caller),
        }
    }

    /// Whether this document is one of them.
    pub fn holds(&self, source: &str) -> bool {
        self.documents
            .as_ref()
            .is_none_or(|documents| documents.contains(source))
    }

    /// Drops the documents that are none of them; an error where none of these is left.
    pub fn narrow(
        &self,
        mut found: HashSet<String>,
        asked: &str,
    ) -> Result<HashSet<String>, ToolError> {
        let before = found.len();
        found.retain(|source| self.holds(source));
        if found.is_empty() && before > 0 {
            return Err(self.outside(asked));
        }
        Ok(found)
    }

    /// Why something is not looked at.
    pub fn outside(&self, asked: &str) -> ToolError {
        ToolError::BadArguments(format!(
            "{asked} is outside {}, within which the question is kept",
            self.names.join(", ")
        ))
    }
}
