//! The knowledge base: folders in, passages out.
//!
//! One step a file, in the order in which a document passes through them: `roots` says what
//! belongs to the base, `walk` lists it, `extract` reads it, `chunk` cuts it, `tokens` and
//! `lexical` index its words, `vectors` its meaning, `links` its references, `manifest` remembers
//! it. `update` drives these steps; `store` is the one door through which everything that
//! searches gets at the result, so that a remote engine could stand behind it; `search` and
//! `grep` are the two ways of asking.

pub mod embed;

mod base;
mod chunk;
mod error;
mod extract;
mod grep;
mod lexical;
mod links;
mod manifest;
mod names;
mod roots;
mod search;
mod store;
mod tokens;
mod update;
mod vectors;
mod walk;

pub use base::{KbStatus, KnowledgeBase};
pub use chunk::{Chunk, chunk};
pub use error::KbError;
pub use extract::{MAX_FILE_BYTES, SkipReason};
pub use grep::{CONTEXT_LINES, GrepPassage};
pub use links::{Link, LinkKind, LinkTarget};
pub use manifest::Document;
pub use roots::Roots;
pub use search::{Hit, SearchMode};
pub use store::{ChunkKey, LexicalMatches, Match, Passage, Store, Within};
pub use update::{Phase, Progress, UpdateReport};
pub use walk::Skipped;
