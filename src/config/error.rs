use std::path::PathBuf;

use thiserror::Error;

/// A setting that cannot be used; one line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    /// The value is not what it must be.
    #[error("{name} is '{value}': it must be {allowed}")]
    Value {
        /// The variable.
        name: &'static str,
        /// What it is set to.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// An address without its scheme.
    #[error("{name} is '{value}': it must be {allowed}; did you mean {meant}?")]
    Bare {
        /// The variable.
        name: &'static str,
        /// What it is set to.
        value: String,
        /// What it may be.
        allowed: &'static str,
        /// The address that was probably meant.
        meant: String,
    },
    /// The value is a secret and is not what it must be.
    #[error("{name} cannot be used: it must be {allowed}")]
    Secret {
        /// The variable.
        name: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
    /// A file of certificates cannot be used.
    #[error("{name}: {why}; give a certificate file in PEM form")]
    Certificates {
        /// The variable.
        name: &'static str,
        /// Why, with the file's name.
        why: String,
    },
    /// The value is not UTF-8.
    #[error("{name} is not UTF-8 text: give it in UTF-8")]
    NotText {
        /// The variable.
        name: String,
    },
    /// The settings file cannot be read.
    #[error("{} cannot be read: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause, in one line.
        why: String,
    },
    /// What the user decided cannot be kept.
    #[error("{} cannot be written: {why}", path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The cause, in one line.
        why: String,
    },
    /// A folder's `.env` says what only the user may say.
    #[error(
        "{} sets {names}, which a folder may set only once you trust it: look at that file, then run \
         {advice}",
        file.display()
    )]
    Untrusted {
        /// The file.
        file: PathBuf,
        /// What it sets.
        names: String,
        /// What to run, or do instead.
        advice: String,
    },
    /// A folder's `.env` sets what needs trust, and it cannot be trusted.
    #[error(
        "{} sets {names}, which a folder may set only once you trust it, and it cannot be trusted: \
         {why}",
        file.display()
    )]
    Doubtful {
        /// The file.
        file: PathBuf,
        /// What it sets.
        names: String,
        /// Why not, and what to do.
        why: String,
    },
    /// Something of the user's would go where a folder's `.env` says, or the other way round.
    #[error("{what} would be sent to {to}, as {} says: {advice}", file.display())]
    Sending {
        /// The file.
        file: PathBuf,
        /// What would be sent.
        what: String,
        /// Host to which it would be sent.
        to: String,
        /// What to do.
        advice: String,
    },
    /// A key would be readable on its way.
    #[error(
        "{name} would go unencrypted to {host}: use an https address, or set {allow}={host} where the \
         key is set, if that network is yours"
    )]
    Unencrypted {
        /// The key.
        name: &'static str,
        /// Host to which it would be sent.
        host: String,
        /// The setting that allows it.
        allow: &'static str,
    },
    /// There is no home folder to put data under.
    #[error("no home folder is known: set KB_AGENT_DATA_DIR to a folder that may be written")]
    NoHome,
}

impl SettingError {
    /// The variable whose value cannot be used.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Value { name, .. } | Self::Bare { name, .. } | Self::Secret { name, .. } => {
                Some(name)
            }
            Self::NotText { name } => Some(name),
            Self::Certificates { name, .. } | Self::Unencrypted { name, .. } => Some(name),
            Self::File { .. }
            | Self::Unwritten { .. }
            | Self::Untrusted { .. }
            | Self::Doubtful { .. }
            | Self::Sending { .. }
            | Self::NoHome => None,
        }
    }
}
