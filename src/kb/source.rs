//! The files of the base: what belongs to it (`roots`), which there are and what a name means (`walk`), what of
//! them is embedded (`embeddable`), and their text once it was read (`cache`). Knows formats only by what `extract` says of them, and nothing of an index.

pub(crate) mod cache;
mod embeddable;
mod roots;
pub(crate) mod walk;

pub(crate) use super::opened::{Stamp, has_placeholder};
pub(crate) use cache::TextCache;
pub(crate) use embeddable::{is_prose, is_words_only};
pub use roots::Sources;
pub(crate) use roots::{Included, Roots};
pub use walk::Skipped;
pub(crate) use walk::{SourceFile, WalkResult, look_at_file, walk};
