//! What of one root is read although a rule, its name or its being hidden would leave it out: what
//! the user's patterns say, and the files that the user names beside the folder they lie in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::globs::Inclusion;

/// What the user wants read in any case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Included {
    /// The patterns of this root.
    patterns: Option<Inclusion>,
    /// Canonical paths of the files that are named one by one.
    named: Arc<[PathBuf]>,
}

impl Included {
    /// Builds the set from patterns for paths below the root and from canonical paths.
    pub fn new(patterns: Option<Inclusion>, named: Arc<[PathBuf]>) -> Self {
        Self { patterns, named }
    }

    /// Whether this file is read although it is hidden or holds secrets by its name.
    pub fn fits(&self, relative: &Path) -> bool {
        let patterns = self.patterns.as_ref();
        patterns.is_some_and(|patterns| patterns.fits(relative))
    }

    /// Whether this very file was named: it is read whatever the rules say.
    pub fn names(&self, path: &Path) -> bool {
        self.named.iter().any(|named| named == path)
    }

    /// Whether a file that was named lies below this folder.
    pub fn leads_to_named(&self, folder: &Path) -> bool {
        self.named.iter().any(|named| named.starts_with(folder))
    }
}
