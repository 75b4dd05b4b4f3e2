//! The knowledge base: folders in, passages out.
//!
//! One step a file, in the order in which a document passes through them: `roots` says what
//! belongs to the base, `walk` lists it, `extract` reads it (`shelf` keeps what was slow to read),
//! `chunk` cuts it, `tokens` and `lexical` index its words, `vectors` its meaning, `links` its
//! references, `manifest` remembers it and `left_out` what could not be read. `update` drives
//! these steps, under the rights of `lock`, `watch` tells when it is time for another one, and
//! `inspect` looks at the result without touching it. `store` is the one door through which
//! everything that searches gets at the result, so that a remote engine could stand behind it;
//! `search`, with `typos`, `fusion` and `calibration`, and `grep` are the two ways of asking;
//! `pieces` puts together what `chunk` had to cut within a line.

pub mod embed;

mod base;
mod calibration;
mod chunk;
mod error;
mod extract;
mod fusion;
mod grep;
mod inspect;
mod left_out;
mod lexical;
mod links;
mod lock;
mod manifest;
mod names;
mod pieces;
mod roots;
mod search;
mod shelf;
mod store;
mod tokens;
mod typos;
mod update;
mod vectors;
mod walk;
mod watch;

pub use base::{KbStatus, KnowledgeBase};
pub use chunk::{Chunk, chunk};
pub use error::KbError;
pub use extract::{Extraction, Mark, Shape, SkipReason};
pub use grep::{GrepPassage, ReadAs};
pub use inspect::{IndexState, Indexed, Inspection, inspect};
pub(crate) use links::holds_ticket;
pub use links::{Link, LinkKind, LinkTarget};
pub use lock::Held;
pub use manifest::Document;
pub(crate) use names::{spaced, stem};
pub use search::{Hit, SearchMode};
pub use store::Passage;
pub use update::{Phase, Progress, UpdateReport};
pub use walk::Skipped;
pub use watch::{Watch, Woken};
