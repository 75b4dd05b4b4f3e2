//! Why something cannot be done.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::audit::AuditError;
use crate::kb::KbError;
use crate::text::Trouble;

/// Why there is no engine, or no answer; one line each.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The data folder cannot be used.
    DataDir {
        /// Path of the folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The audit log cannot be used.
    Audit(#[from] AuditError),
    /// The knowledge base cannot be used.
    Knowledge(#[from] KbError),
    /// A setting, or a file of the user's, that cannot be used.
    Setting(Trouble),
    /// The thinking engine, or the run itself.
    Run(Trouble),
    /// The user stopped it.
    Cancelled,
}

impl<T: Into<Trouble>> From<T> for EngineError {
    /// What is of no other kind is the run's.
    fn from(trouble: T) -> Self {
        Self::Run(trouble.into())
    }
}

impl EngineError {
    /// What is wrong, and what to do about it.
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::DataDir { path, source } => Trouble::new(
                format!(
                    "the data folder {} cannot be written: {source}",
                    path.display()
                ),
                "set KB_AGENT_DATA_DIR to one that can",
            ),
            Self::Audit(error) => error.trouble(),
            Self::Knowledge(error) => error.trouble(),
            Self::Setting(trouble) | Self::Run(trouble) => trouble.clone(),
            Self::Cancelled => "interrupted".into(),
        }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.trouble().fmt(f)
    }
}
