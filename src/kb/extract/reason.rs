use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{MAX_DOCUMENT_BYTES, MAX_FILE_BYTES};
use crate::files::Unreadable;

/// Why a file is not part of the index.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It is no text in any encoding, and no known format.
    #[error("binary file")]
    Binary,
    /// A format that is recognised and not read; says which, and what to do.
    #[error("{0}")]
    Unsupported(String),
    /// It is over the limit of its kind.
    #[error(
        "too large ({}; the limit is {} MB for text, {} MB for documents)",
        megabytes(*.0),
        MAX_FILE_BYTES / MEGABYTE,
        MAX_DOCUMENT_BYTES / MEGABYTE
    )]
    TooLarge(u64),
    /// It is text and over its limit, which holds for the index only.
    #[error(
        "too large for the index ({}; the limit is {} MB); grep_search still reads it",
        megabytes(*.0),
        MAX_FILE_BYTES / MEGABYTE
    )]
    LargeText(u64),
    /// There is nothing in it that could be found; says why.
    #[error("no text in it: {0}")]
    NoText(String),
    /// Its pages are pictures of text.
    #[error("a scan without text: install ocrmypdf, then set KB_AGENT_OCR=1")]
    Scan,
    /// A picture, which may show text.
    #[error("a picture")]
    Picture,
    /// Its format says that there should be more, or something else.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Only who knows the password can read it.
    #[error("protected by a password")]
    Encrypted,
    /// A small file that claims to be a very large one; says which limit it breaks.
    #[error("unpacks to too much: {0}")]
    UnpacksTooMuch(String),
    /// Reading it did not end in time.
    #[error("takes longer than {0} s to read")]
    TooSlow(u64),
    /// Reading it took all the memory that a document may take, in megabytes.
    #[error("takes more than {0} MB of memory to read")]
    TooMuchMemory(u64),
    /// The process that read it ended over it.
    #[error("cannot be read: what takes it apart broke off")]
    BrokeOff,
    /// The machine did not let it be read; says how. Another time it may.
    #[error("not read this time: {0}")]
    NotNow(String),
    /// A cloud folder keeps its contents elsewhere.
    #[error(
        "not on this machine: its contents are in the cloud; what is known of it is kept until they \
         are loaded"
    )]
    InCloud,
    /// Its end was not waited for.
    #[error("not read: interrupted")]
    Stopped,
    /// A whole root that was there before, as one is whose disk was taken away.
    #[error("it is not there; what is known of it is kept until it returns")]
    Away,
    /// A link that leads out of the knowledge base, or nowhere.
    #[error("a link out of the knowledge base is not followed")]
    LinkOutside,
    /// A pipe, socket or device: opening one may wait for ever.
    #[error("not a regular file")]
    NotRegular,
    /// Its name, or that of a folder above it, is not UTF-8 or holds control characters: nothing
    /// could refer to it.
    #[error("its name is not plain text")]
    BadName,
    /// Ignore rules that cannot be read may hide anything in their folder.
    #[error("nothing in it is read: what its rules leave out cannot be known ({0})")]
    BadRules(String),
    /// The file's name tells that it holds secrets of the kind given.
    #[error("looks like {0}; to index it, add it to KB_AGENT_INCLUDE or pass it with --kb")]
    HoldsSecrets(String),
    /// The system refused.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

const MEGABYTE: u64 = 1024 * 1024;

/// Rounded up, so that what is over a limit is never shown as the limit.
fn megabytes(bytes: u64) -> String {
    let tenths = (bytes.saturating_mul(10)).div_ceil(MEGABYTE);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

impl SkipReason {
    /// Whether the same bytes would give the same reason again, so that it can be remembered.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Binary
            | Self::Unsupported(_)
            | Self::TooLarge(_)
            | Self::LargeText(_)
            | Self::NoText(_)
            | Self::Scan
            | Self::Picture
            | Self::Damaged(_)
            | Self::Encrypted
            | Self::UnpacksTooMuch(_)
            | Self::TooSlow(_)
            | Self::TooMuchMemory(_)
            | Self::BrokeOff => true,
            Self::NotNow(_)
            | Self::InCloud
            | Self::Stopped
            | Self::Away
            | Self::LinkOutside
            | Self::NotRegular
            | Self::BadName
            | Self::BadRules(_)
            | Self::HoldsSecrets(_)
            | Self::Unreadable(_) => false,
        }
    }
}

impl SkipReason {
    /// Whether it says something of the machine and nothing of the file: what was known of the
    /// file before stays known.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::NotNow(_) | Self::InCloud)
    }
}

impl From<Unreadable> for SkipReason {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::NotRegular => Self::NotRegular,
            Unreadable::Io(error) => error.into(),
            why => Self::Unreadable(why.to_string()),
        }
    }
}

impl From<io::Error> for SkipReason {
    fn from(error: io::Error) -> Self {
        if is_link(&error) {
            return Self::Unreadable("a link has taken its place".to_owned());
        }
        // What folders of a cloud or of a network answer while they cannot give the contents.
        if matches!(
            error.kind(),
            ErrorKind::WouldBlock
                | ErrorKind::TimedOut
                | ErrorKind::Deadlock
                | ErrorKind::StaleNetworkFileHandle
                | ErrorKind::NetworkDown
                | ErrorKind::HostUnreachable
        ) {
            return Self::NotNow(error.to_string());
        }
        Self::Unreadable(error.to_string())
    }
}

/// What the system says instead of following one.
fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    return rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP);
    #[cfg(not(unix))]
    return false;
}
