use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::text::Trouble;

/// Why there is no log, or no line of an event in it.
#[derive(Debug, Error)]
#[error("{}", self.trouble())]
pub enum AuditError {
    /// The file, or the folder of its sessions, cannot be opened.
    Open {
        /// Path of the log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file holds something else.
    NotALog {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another process does not let go of it.
    Held {
        /// Path of the log.
        path: PathBuf,
    },
    /// An event that nothing makes fit a line.
    TooLong {
        /// Path of the log.
        path: PathBuf,
    },
    /// A line cannot be written.
    Write {
        /// Path of the log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl AuditError {
    /// Says of an error of the system that the log at `path` cannot be opened.
    pub fn open(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |source| Self::Open {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn write(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }

    /// What is wrong, and what to do about it.
    pub fn trouble(&self) -> Trouble {
        let (path, what, next) = match self {
            Self::Open { path, source } => (
                path,
                format!("cannot be opened: {source}"),
                remedy(source, "set KB_AGENT_AUDIT_LOG to a file that may be written"),
            ),
            Self::NotALog { path } => (
                path,
                "cannot be opened: it is no audit log: its first line is none of our events; nothing was changed".to_owned(),
                "set KB_AGENT_AUDIT_LOG to a new file",
            ),
            Self::Held { path } => (
                path,
                "cannot be written: another process holds it".to_owned(),
                "end the other kb-agent, or set KB_AGENT_AUDIT_LOG to another file",
            ),
            Self::TooLong { path } => (
                path,
                "lacks an event that is too long for a line".to_owned(),
                "ask for fewer passages at once",
            ),
            Self::Write { path, source } => (
                path,
                format!("cannot be written: {source}"),
                remedy(source, "check that disk, or set KB_AGENT_AUDIT_LOG to a file on another"),
            ),
        };
        Trouble::new(format!("the audit log {} {what}", path.display()), next)
    }
}

/// What to do about an error of the system.
fn remedy(error: &io::Error, otherwise: &'static str) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space on that disk, or set KB_AGENT_AUDIT_LOG to a file on another"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "give yourself the right to write it, or set KB_AGENT_AUDIT_LOG to another file"
        }
        _ => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_own_remedy() {
        let path = Path::new("log");
        let of = |kind: io::ErrorKind| AuditError::write(path)(kind.into());
        let held = AuditError::Held { path: path.into() };
        let too_long = AuditError::TooLong { path: path.into() };
        for (error, next) in [
            (of(io::ErrorKind::StorageFull), "free space"),
            (
                of(io::ErrorKind::PermissionDenied),
                "give yourself the right",
            ),
            (of(io::ErrorKind::Other), "check that disk"),
            (held, "end the other kb-agent"),
            (too_long, "ask for fewer passages"),
        ] {
            let line = error.to_string();
            assert!(
                line.starts_with("the audit log log ") && line.contains(next),
                "{line}"
            );
        }
    }
}
