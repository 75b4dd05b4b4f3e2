//! A name of a file as a user or a model writes it, as the file of the base that it means.

use std::path::PathBuf;

use super::roots::Roots;
use super::walk;
use crate::agent::ports::ToolError;

impl Roots {
    /// The canonical path of a file or folder of the base, however it was named: as evidence
    /// names it, relative to a root, or absolute.
    ///
    /// What hidden or ignored files hold is not part of the base, although it lies within.
    pub fn resolve(&self, asked: &str) -> Result<PathBuf, ToolError> {
        let asked = asked.trim();
        if asked.is_empty() {
            return Err(ToolError::BadArguments(
                "path is empty; name a file of the knowledge base".to_owned(),
            ));
        }
        let missing = || ToolError::NotFound {
            what: asked.to_owned(),
        };
        let mut outside = false;
        for candidate in self.candidates(asked) {
            match candidate.canonicalize() {
                Ok(real) => match self.paths().find(|root| real.starts_with(root)) {
                    Some(root) if walk::lists(root, &self.included(root), &real) => {
                        return Ok(real);
                    }
                    Some(_) => {}
                    None => outside = true,
                },
                Err(_) => outside |= !self.contains_lexically(&candidate),
            }
        }
        if outside {
            Err(ToolError::OutsideRoots {
                path: asked.to_owned(),
            })
        } else {
            Err(missing())
        }
    }
}
