//! Documents are taken apart where that can harm nothing: in a process of its own. `readers` start and end it,
//! `child` is it, `wire` is what they say to each other. Knows how a document is handed over, and nothing of
//! what is in it.

mod child;
mod readers;
mod wire;

pub(crate) use child::extract_bytes;
pub use child::{READER_ARGUMENT, read_documents};
pub(crate) use readers::{DocumentFile, Readers, ReadingSession};
