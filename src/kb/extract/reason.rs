use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{MAX_DOCUMENT_BYTES, MAX_FILE_BYTES};

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
    /// Others did not end, and no more are tried along with them.
    #[error("not tried: too many other documents could not be read to their end; start again")]
    Congested,
    /// Nobody waited for its end.
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
    #[error("its ignore rules are not in a regular file")]
    BadRules,
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
    pub(in crate::kb) fn is_lasting(&self) -> bool {
        match self {
            Self::Binary
            | Self::Unsupported(_)
            | Self::TooLarge(_)
            | Self::LargeText(_)
            | Self::NoText(_)
            | Self::Damaged(_)
            | Self::Encrypted
            | Self::UnpacksTooMuch(_)
            | Self::TooSlow(_) => true,
            Self::Congested
            | Self::Stopped
            | Self::Away
            | Self::LinkOutside
            | Self::NotRegular
            | Self::BadName
            | Self::BadRules
            | Self::Unreadable(_) => false,
        }
    }
}
