//! Documents of an index, and what they are called.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::chunk_key::ChunkKey;
use crate::kb::budget::Reservation;
use crate::kb::chunk::Chunk;
use crate::kb::links::Link;
use crate::kb::source::Stamp;

/// One document of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its file, as evidence names it.
    pub source: String,
    /// Its first heading, or the file's name.
    pub title: String,
    /// BLAKE3 of what was read from it: the same on every machine.
    pub hash: [u8; 32],
    /// The size of its file in bytes, when it was read.
    pub bytes: u64,
    /// When its file was written, in nanoseconds since 1970.
    pub(crate) modified: u64,
    /// How many chunks it has.
    pub chunks: usize,
    /// The file on this machine when it was read here; `None` where only another machine has read it.
    pub(crate) stamp: Option<LocalStamp>,
}

impl Document {
    /// When its file was written.
    pub fn modified(&self) -> SystemTime {
        let since = Duration::from_nanos(self.modified);
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }
}

/// The stamp of a file on this machine; other machines see another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LocalStamp {
    /// The file before it was read.
    pub stamp: Stamp,
    /// Whether it was old enough then that a later change shows in the stamp.
    pub mtime_is_reliable: bool,
}

/// A document to be indexed.
pub(crate) struct NewDocument {
    /// Its file, as evidence names it.
    pub source: String,
    /// Its first heading, or the file's name.
    pub title: String,
    /// BLAKE3 of what was read from it.
    pub hash: [u8; 32],
    /// The file before it was read.
    pub stamp: LocalStamp,
    /// The references it makes.
    pub links: Vec<Link>,
    /// Its chunks, in order, with their keys; [`ChunkKey::WORDS_ONLY`] for those without a vector.
    pub chunks: Vec<(ChunkKey, Chunk)>,
    /// Memory that is released when the store keeps no copies of the chunks any more.
    pub reservation: Reservation,
}

/// The contents of an index at a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PathContents {
    /// The document of that name.
    pub document: Option<Arc<Document>>,
    /// Whether documents lie in a folder of that name.
    pub is_folder: bool,
}

/// How documents are asked for by name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NameQuery<'a> {
    /// A path, file name, title, folder or glob as a person remembers it, possibly misspelt.
    Remembered(&'a str),
    /// A folder's name, else a document's, spelt right. With a `/` at its end it means a folder and
    /// nothing else.
    Given(&'a str),
    /// Documents whose file name occurs in this question.
    MentionedIn(&'a str),
    /// Documents whose file name consists of these words and no others. The words are in lower case.
    NamedBy(&'a HashSet<String>),
    /// The document of that name and all documents in the folder of that name; all documents where it is empty.
    Under(&'a str),
}

/// The documents that a name means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NameMatches {
    /// How far the name is from theirs: 0 for what it says in so many words. Only those with the
    /// least distance match.
    pub distance: usize,
    /// Their names, in order.
    pub sources: Vec<String>,
}
