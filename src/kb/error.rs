use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::agent::ports::{EmbedError, ToolError};

/// Why the knowledge base could not be opened, updated or searched.
#[derive(Debug, Error)]
pub enum KbError {
    /// No folder or file was named.
    #[error("no knowledge base was named; give a folder or a file")]
    NoRoots,
    /// A root does not exist or cannot be read.
    #[error("cannot open the knowledge base {path}: {source}; give an existing folder or file")]
    Root {
        /// As it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process writes the index.
    #[error(
        "another kb-agent is updating this index; searching what is there, try again when it is done"
    )]
    Locked,
    /// A file of the index cannot be read or written.
    #[error(
        "the index file {path} cannot be used: {source}; `kb-agent index --rebuild` makes it anew"
    )]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The lexical index failed.
    #[error("the lexical index failed: {0}; `kb-agent index --rebuild` makes it anew")]
    Lexical(#[from] tantivy::TantivyError),
    /// The embedding failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The query says nothing to look for.
    #[error("{0}")]
    BadQuery(String),
}

impl KbError {
    /// For `map_err`, with the path that the system's message lacks.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

impl From<KbError> for ToolError {
    fn from(error: KbError) -> Self {
        match error {
            KbError::BadQuery(message) => Self::BadArguments(message),
            other => Self::Failed(other.to_string()),
        }
    }
}
