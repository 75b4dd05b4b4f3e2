//! The knowledge base: folders in, passages out.
//!
//! The rooms, in the order in which a document passes through them, each knowing those before it:
//!
//! | room | holds |
//! |---|---|
//! | `extract` | a file's bytes as text, whatever its format |
//! | `source` | which files belong to the base, which there are, and their text once it was read |
//! | `chunk` | text as passages along its structure |
//! | `links` | the references that a document makes |
//! | `index` | the verbs that everything else updates and searches by, and the engine in the data folder |
//! | `grep` | what the files say now, by words and patterns |
//! | `search` | the two ways of searching the index as one, and what a name means |
//! | `update` | brings the index up to date with the files |
//! | `watch` | tells when it is time for that |
//!
//! [`KnowledgeBase`] (`base`) is the front of all: `contents`, `fields`, `headings`, `named` and
//! `whole` ask it what documents say of themselves; `one_file` reads a file without a base, `missing_text` keeps what documents hold and their texts do not, `inspect` looks at an index without touching it, `taken_over`
//! has vectors go from one base to another, `shared` sets up a store that several machines use. `languages` chooses the embedding by what the base is written in, `monitored` keeps why the last embedding failed.
//! `opened`, `budget`, `query`, `pages` and `error` are what
//! several rooms need.

mod base;
mod budget;
mod by_source;
mod chunk;
mod conformance;
mod contents;
mod error;
mod extract;
mod fields;
mod grep;
mod headings;
mod index;
mod inspect;
mod languages;
mod left_out;
mod links;
mod missing_text;
mod monitored;
mod named;
mod one_file;
mod opened;
mod pages;
mod query;
mod search;
mod shared;
mod source;
mod status;
mod taken_over;
mod update;
mod watch;
mod whole;

pub use base::{KnowledgeBase, LEASE, SharedStore};
pub use by_source::SourceStatus;
pub(crate) use chunk::Outline;
pub use chunk::{Chunk, chunk};
pub use error::KbError;
#[cfg(fuzzing)]
pub use extract::fuzz;
pub use extract::{
    Extraction, Mark, READER_ARGUMENT, RECOGNITION_PROGRAMS, SkipReason, TextLayout,
    TextRecognition, read_documents,
};
pub(crate) use fields::{FieldFilter, FieldPassage};
pub use grep::{GrepPassage, ReadAs};
pub use index::Document;
pub use index::Lease;
pub use index::Passage;
pub(crate) use index::Within;
pub use index::{SpaceState, StoreAccess, StoreState};
pub use inspect::{IndexState, Indexed, Inspection, OtherVersion, holds_an_index, inspect};
pub use languages::LanguageChoice;
pub use links::{Link, LinkKind, LinkTarget};
pub(crate) use links::{LinkTargets, holds_ticket};
pub use one_file::FileText;
pub use search::{Hit, SearchMode};
pub use shared::StoreAdministration;
pub use source::Skipped;
pub use source::Sources;
pub use status::KbStatus;
pub use update::{Changes, MissingText, Phase, Progress, Unembedded, UpdateReport};
pub use watch::{Watch, Woken};
pub use whole::{DocumentReader, WholeDocument};
