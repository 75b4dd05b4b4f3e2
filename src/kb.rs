//! The knowledge base: folders in, passages out.
//!
//! One step a file, in the order in which a document passes through them: `roots` says what
//! belongs to the base (`included` what is read in any case), `walk` lists it, `opened` opens it, `extract` reads it (`shelf` keeps what was slow to read),
//! `chunk` cuts it, `tokens` and `lexical` index its words, `vectors` its meaning, `links` its
//! references (`budget` bounds how much of this is in memory at once), `documents` and `manifest` remember it and `left_out` what could not be read. `update` drives
//! these steps, under the rights of `lock`, `watch` tells when it is time for another one, and
//! `inspect` looks at the result without touching it, and `taken_over` has vectors go from one base to another. `store` is the one door through which
//! everything that searches gets at the result, so that a remote engine could stand behind it;
//! `search`, with `typos`, `fusion` and `calibration`, and `grep` are the two ways of asking;
//! `fields` finds what documents say of themselves; `whole` hands out a document to be read, `headings` says what it is about; `pieces` puts together what `chunk` had to cut within a line.

pub mod embed;

mod base;
mod budget;
mod by_source;
mod calibration;
mod chunk;
mod chunk_key;
mod documents;
mod error;
mod extract;
mod fields;
mod fusion;
mod grep;
mod headings;
mod included;
mod inspect;
mod left_out;
mod lexical;
mod links;
mod lock;
mod manifest;
mod named;
mod names;
mod opened;
mod pieces;
mod query;
mod resolve;
mod roots;
mod search;
mod shelf;
mod stamp;
mod status;
mod store;
mod taken_over;
mod threads;
mod tokens;
mod typos;
mod update;
mod vectors;
mod walk;
mod watch;
mod whole;

pub use base::KnowledgeBase;
pub use by_source::SourceStatus;
pub use chunk::{Chunk, chunk};
pub use documents::{Document, Documents};
pub use error::KbError;
#[cfg(fuzzing)]
pub use extract::fuzz;
pub use extract::{Extraction, Mark, READER_ARGUMENT, Shape, SkipReason, read_documents};
pub(crate) use fields::{FieldFilter, FieldPassage};
pub use grep::{GrepPassage, ReadAs};
pub use inspect::{IndexState, Indexed, Inspection, OtherVersion, holds_an_index, inspect};
pub(crate) use links::holds_ticket;
pub use links::{Link, LinkKind, LinkTarget};
pub use lock::Held;
pub use roots::Sources;
pub use search::{Hit, SearchMode};
pub use status::KbStatus;
pub use store::Passage;
pub(crate) use store::Within;
pub use update::{Changes, Phase, Progress, UpdateReport};
pub use walk::Skipped;
pub use watch::{Watch, Woken};
pub use whole::{DocumentReader, WholeDocument};
