use std::path::{Path, PathBuf};
use std::{fmt, io};

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use thiserror::Error;

use crate::agent::ports::{EmbedError, ToolError};
use crate::text::{Trouble, one_line};

/// The longest reason that is shown, in characters: tantivy quotes whole files.
const LONGEST_REASON: usize = 200;

/// Why the knowledge base could not be opened, updated or searched.
#[derive(Debug, Error)]
pub enum KbError {
    /// No folder or file was named.
    NoRoots,
    /// A root does not exist or cannot be read.
    Root {
        /// The path as the user gave it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process writes the index.
    Locked,
    /// A file of the index cannot be read or written.
    Io {
        /// The path of the file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A link stands in the place of a folder of the index, and is not followed.
    Link(io::Error),
    /// The files are broken or of another version: only making them anew helps.
    Damaged(String),
    /// The lexical index failed, which says nothing about what is on disk.
    Lexical(String),
    /// The embedding failed.
    Embed(#[from] EmbedError),
    /// The query says nothing to look for.
    BadQuery(String),
    /// A setting that says where the index is, or whom to trust there, cannot be used.
    Setting(Trouble),
    /// The engine of the index failed or cannot be reached, which says nothing about what it holds.
    Store(Trouble),
    /// The store may only be read from here: for want of a right, or because it is a replica.
    ReadOnly,
    /// The store lacks what this version of the program keeps there, or it was replaced a moment ago.
    Outdated(String),
    /// The caller stopped waiting for it.
    Stopped,
    /// The index gave no answer within its time.
    TimedOut,
}

impl fmt::Display for KbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.trouble().fmt(f)
    }
}

impl KbError {
    /// The error in words, and what to do about it.
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::NoRoots => Trouble::new("no knowledge base was named", "give a folder or a file"),
            Self::Root { path, source } => Trouble::new(
                format!(
                    "cannot open the knowledge base {}: {source}",
                    path.display()
                ),
                "give an existing folder or file",
            ),
            Self::Locked => Trouble::new(
                "another kb-agent is updating this index",
                "try again when it is done",
            ),
            Self::Io { path, source } => Trouble::new(
                format!("the index file {} cannot be used: {source}", path.display()),
                if is_in_the_way(source) {
                    "move it away and try again"
                } else {
                    "see to its permissions and the disk's space and try again, or `kb-agent index \
                     --rebuild` makes it anew"
                },
            ),
            Self::Link(error) => Trouble::new(
                format!("the index cannot be used: {error}"),
                "remove the link, or set KB_AGENT_DATA_DIR to another folder",
            ),
            Self::Damaged(how) => Trouble::new(
                format!("the index is damaged: {how}"),
                "`kb-agent index --rebuild` makes it anew",
            ),
            Self::Lexical(how) => {
                Trouble::new(format!("the lexical index failed: {how}"), "try again")
            }
            Self::Embed(error) => error.trouble(),
            Self::BadQuery(line) => line.as_str().into(),
            Self::Setting(trouble) | Self::Store(trouble) => trouble.clone(),
            Self::ReadOnly => Trouble::new(
                "the store may only be read from here",
                "index where there is the right to write; `kb-agent store init --print-sql --writer ROLE` prints what gives it",
            ),
            Self::Outdated(why) => Trouble::new(
                format!(
                    "the store lacks what this version keeps there, or this user may not see it: {why}"
                ),
                "have its owner run `kb-agent store init`, or what `store init --print-sql --reader ROLE` prints for this user; or try again",
            ),
            Self::Stopped => "it was stopped".into(),
            Self::TimedOut => Trouble::new("the index gave no answer in time", "try again"),
        }
    }

    /// The error as a notice for callers that go on with the index as it is.
    pub fn notice(&self) -> String {
        match self {
            Self::Locked => {
                "another kb-agent is updating this index; searching what is there until it is done"
                    .to_owned()
            }
            Self::ReadOnly => {
                "the store may only be read from here; searching what others have indexed"
                    .to_owned()
            }
            other => other.to_string(),
        }
    }

    /// Makes an [`KbError::Io`] for `map_err`, with the path that the system's message lacks.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Puts `dir` before the path of an [`KbError::Io`]: the lexical index knows only the name of a file.
    pub(super) fn with_dir(self, dir: &Path) -> Self {
        match self {
            Self::Io { path, source } => Self::Io {
                path: dir.join(path),
                source,
            },
            other => other,
        }
    }
}

/// Whether a link, a pipe or a device stands in a file's place. The system has no error kind for that.
fn is_in_the_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput && error.get_ref().is_some()
}

/// Separates damage, which only a rebuild repairs, from failures that pass: a full disk, a missing
/// permission or too many open files must never lead to a rebuild.
impl From<TantivyError> for KbError {
    fn from(error: TantivyError) -> Self {
        use TantivyError as T;
        match &error {
            T::OpenDirectoryError(OpenDirectoryError::IoError {
                io_error,
                directory_path: path,
            })
            | T::OpenReadError(OpenReadError::IoError {
                io_error,
                filepath: path,
            })
            | T::OpenWriteError(OpenWriteError::IoError {
                io_error,
                filepath: path,
            }) => of_file(path, io_error),
            T::IoError(io_error) | T::LockFailure(LockError::IoError(io_error), _) => {
                of_file(Path::new(""), io_error)
            }
            T::LockFailure(LockError::LockBusy, _) => Self::Locked,
            T::OpenReadError(_)
            | T::DataCorruption(_)
            | T::SchemaError(_)
            | T::IncompatibleIndex(_)
            | T::DeserializeError(_)
            | T::MissingPlugin(_)
            | T::UnexpectedPlugin(_) => Self::Damaged(one_line(&error.to_string(), LONGEST_REASON)),
            _ => Self::Lexical(one_line(&error.to_string(), LONGEST_REASON)),
        }
    }
}

/// Tantivy reports bytes that make no sense as failures of reading.
fn of_file(path: &Path, error: &io::Error) -> KbError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            let place = path.display().to_string();
            let place = if place.is_empty() {
                place
            } else {
                place + ": "
            };
            KbError::Damaged(one_line(&format!("{place}{error}"), LONGEST_REASON))
        }
        kind => KbError::io(path)(io::Error::new(kind, error.to_string())),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_broken_bytes_and_other_versions_count_as_damage() {
        let read = |kind: io::ErrorKind| {
            KbError::from(TantivyError::OpenReadError(OpenReadError::IoError {
                io_error: Arc::new(kind.into()),
                filepath: PathBuf::from("meta.json"),
            }))
        };
        for kind in [
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::StorageFull,
            io::ErrorKind::Other,
        ] {
            let error = read(kind).with_dir(Path::new("home"));
            assert!(
                matches!(&error, KbError::Io { path, .. } if *path == Path::new("home/meta.json")),
                "{error}"
            );
        }
        // EMFILE, as the system reports it.
        let many = KbError::from(TantivyError::from(io::Error::from_raw_os_error(24)));
        assert!(matches!(many, KbError::Io { .. }), "{many}");
        let busy = KbError::from(TantivyError::LockFailure(LockError::LockBusy, None));
        assert!(matches!(busy, KbError::Locked), "{busy}");
        for error in [
            read(io::ErrorKind::UnexpectedEof),
            read(io::ErrorKind::InvalidData),
            TantivyError::SchemaError("other".to_owned()).into(),
        ] {
            assert!(matches!(error, KbError::Damaged(_)), "{error}");
        }
        let long = KbError::from(TantivyError::SchemaError("quoted\n".repeat(900)));
        let line = long.to_string();
        assert!(line.len() < 300 && !line.contains('\n'), "{line}");
    }
}
