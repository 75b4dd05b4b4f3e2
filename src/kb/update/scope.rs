use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::kb::roots::Roots;
use crate::kb::walk::{self, Walked};

/// Beyond this many paths a walk over everything is no dearer.
const MOST_PATHS: usize = 256;
/// A change of one of these may change what belongs to the base anywhere below its folder.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// How much of the base an update looks at.
#[derive(Debug)]
pub(in crate::kb) enum Scope {
    /// Everything.
    All,
    /// Some paths, and what lies below them.
    Paths {
        /// In their canonical form; nothing need be there any more.
        paths: Vec<PathBuf>,
        /// The same as evidence names them.
        sources: HashSet<String>,
        /// Whether everything is looked at, and these only more closely.
        all: bool,
    },
}

impl Scope {
    /// What somebody says has changed; what lies outside the base is passed over.
    pub fn of(roots: &Roots, hints: &[PathBuf]) -> Self {
        let mut paths = Vec::new();
        let mut sources = HashSet::new();
        let mut all = false;
        for hint in hints {
            let mut path = located(hint);
            if path
                .file_name()
                .is_some_and(|name| RULES.iter().any(|rules| name == *rules))
            {
                path.pop();
            }
            let holds_a_root = roots.paths().any(|root| root.starts_with(&path));
            match roots.source_of(&path) {
                _ if holds_a_root => all = true,
                Some(source) => {
                    sources.insert(source);
                    paths.push(path);
                }
                None => {}
            }
        }
        all |= paths.len() > MOST_PATHS;
        Self::Paths {
            paths,
            sources,
            all,
        }
    }

    /// The files in scope, and what was passed over.
    pub fn walk(&self, roots: &Roots) -> Walked {
        match self {
            Self::Paths { paths, all, .. } if !all => walk::walk_below(roots, paths),
            _ => walk::walk(roots),
        }
    }

    /// Whether a document that no file was found for has vanished.
    pub fn covers(&self, source: &str) -> bool {
        match self {
            Self::All | Self::Paths { all: true, .. } => true,
            Self::Paths { sources, .. } => {
                let folders = source.match_indices('/').map(|(at, _)| &source[..at]);
                sources.contains(source) || folders.into_iter().any(|name| sources.contains(name))
            }
        }
    }

    /// Whether this file is read again however unchanged it looks.
    pub fn names(&self, source: &str) -> bool {
        matches!(self, Self::Paths { sources, .. } if sources.contains(source))
    }
}

/// The path as a walk comes by it: links above it are resolved, it may be gone itself.
fn located(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    match parent.canonicalize() {
        Ok(parent) => parent.join(name),
        Err(_) => located(parent).join(name),
    }
}
