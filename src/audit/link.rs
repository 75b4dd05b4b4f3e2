use std::borrow::Cow;

use blake3::Hash;
use serde::{Deserialize, Serialize};

use super::file::{begins_an_event, is_event};
use super::lines::LogLine;

/// A line as the chain sees it.
#[derive(Debug, Clone)]
pub(super) struct ChainLink {
    /// Length of the line in bytes, without its line feed.
    pub(super) bytes: u64,
    pub(super) hash: Hash,
    pub(super) prev: Option<Hash>,
    pub(super) noted: Option<EarlierLines>,
    pub(super) kind: LineKind,
    pub(super) is_ended: bool,
}

/// What a line says where the log was not found as it had been noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EarlierLines {
    /// Nothing was, although lines were chained: the head was missing.
    Nothing,
    /// So many lines; the last of them, to which the line refers, was not where it had been.
    Lines(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Event,
    /// The beginning of one, as a crash leaves it.
    Torn,
    /// A line that this program did not write.
    Foreign,
}

impl ChainLink {
    /// `None` for a line that was read without its hash.
    pub(super) fn new(line: &LogLine<'_>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Chained<'a> {
            #[serde(borrow)]
            prev: Option<Cow<'a, str>>,
            #[serde(default)]
            noted: Option<EarlierLines>,
        }
        let read = line.bytes.filter(|bytes| is_event(bytes));
        let read: Option<Chained<'_>> = read.and_then(|bytes| serde_json::from_slice(bytes).ok());
        let kind = match &read {
            Some(_) => LineKind::Event,
            None if line.bytes.is_some_and(begins_an_event) => LineKind::Torn,
            None => LineKind::Foreign,
        };
        let prev = read.as_ref().and_then(|read| read.prev.as_deref());
        Some(Self {
            bytes: line.length,
            hash: line.hash?,
            prev: prev.and_then(|prev| Hash::from_hex(prev).ok()),
            noted: read.as_ref().and_then(|read| read.noted),
            kind,
            is_ended: line.is_ended,
        })
    }

    /// Whether a crash left it so: the beginning of an event, which nothing ends.
    pub(super) fn was_cut_short(&self) -> bool {
        self.kind == LineKind::Torn && !self.is_ended
    }
}
