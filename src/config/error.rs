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
    /// A key would be readable on its way.
    #[error(
        "{name} would go unencrypted to {host}: use an https address, or set {allow}={host} if that \
         network is yours"
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
            Self::File { .. } | Self::NoHome => None,
        }
    }
}
