//! The index in the data folder.
//!
//! What lies where, below the folder of a corpus:
//!
//! - `vN-N/lexical/`: the words and texts of the chunks, as tantivy keeps them (`lexical`).
//! - `vN-N/documents-N.bin`: the journal of the documents and of their chunks' keys (`documents`).
//! - `vectors-MODEL-N.rows` and `.keys`: the vectors of a model, by the keys of chunks (`vectors`). They
//!   outlive the folders of words, so that an index that is made anew embeds nothing again.
//! - `texts-N/`: what files said when they were read. It belongs to `source::cache`.
//! - `*.lock`: who may change what (`lock`).
//!
//! A commit of documents appends to the journal and then commits the words; what tantivy keeps with its
//! commit names the journal and its length. That second step makes both visible at once, to every
//! process: each reads the list of documents into memory, follows the journal from where it was, and
//! searches one commit at a time (`view`). Vectors belong to no commit. They are named by what a chunk
//! says, and one that no chunk needs does no harm.
//!
//! After a crash the words name the journal as it was before, and what lies behind its end is written
//! over by the next commit. Rows of vectors without keys are written over likewise. What does not agree
//! with itself is damaged, and the next writer makes it anew.

mod documents;
mod lexical;
mod lock;
mod store;
mod vectors;
mod view;

#[cfg(test)]
pub(crate) use lock::try_lock;
pub(crate) use lock::{Right, is_held};
pub(crate) use store::EmbeddedStore;
