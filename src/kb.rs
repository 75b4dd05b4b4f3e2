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
//! | `scope` | the documents and passages that a question is kept within |
//! | `update` | brings the index up to date with the files |
//! | `watch` | tells when it is time for that |
//!
//! [`KnowledgeBase`] (`base`) is the public interface. A new verb of it goes into `base`, or into a file that `base` does
//! not import, as `contents` and `fields` are. `opening` opens one, and sets up a store that several
//! machines use. `contents`, `fields` and `whole` answer questions about documents; `whole` also reads a file
//! without a base. `left_out` keeps what was left out of the index, `inspect` looks at an index without changing
//! it, `languages` chooses the embedding by the languages of the base. `opened`, `budget` and `error` are used by
//! several rooms.

mod base;
mod budget;
mod chunk;
mod conformance;
mod contents;
mod error;
mod extract;
mod fields;
mod grep;
mod index;
mod inspect;
mod languages;
mod left_out;
mod links;
mod metadata;
mod opened;
mod opening;
mod scope;
mod search;
mod source;
mod update;
mod watch;
mod whole;

pub use base::{KbStatus, KnowledgeBase, LEASE, SharedStore};
pub(crate) use chunk::Outline;
pub use chunk::{Chunk, chunk};
pub use contents::SourceStatus;
pub use error::KbError;
#[cfg(fuzzing)]
pub use extract::fuzz;
pub use extract::{
    Extraction, Mark, READER_ARGUMENT, RECOGNITION_PROGRAMS, SkipReason, TextLayout,
    TextRecognition, read_documents,
};
pub(crate) use fields::{FieldFilter, FieldPassage};
pub use grep::{GrepPassage, ReadAs};
pub use index::{
    Document, DocumentMetadata, Lease, Passage, SpaceState, StoreAccess, StoreState, Within,
};
pub use inspect::{IndexState, Indexed, Inspection, OtherVersion, holds_an_index, inspect};
pub use languages::LanguageChoice;
pub use links::{Link, LinkKind, LinkTarget};
pub(crate) use links::{LinkTargets, holds_ticket};
pub use opening::{StoreAdministration, store_setup_script};
pub use scope::{Scope, ScopedQuestion};
pub use search::{Hit, PassageLines, SearchMode};
pub use source::{Skipped, Sources};
pub use update::{Changes, MissingText, Phase, Progress, Unembedded, UpdateReport};
pub use watch::{Watch, Woken};
pub use whole::{DocumentReader, FileText, WholeDocument};
