//! The files of the base: what belongs to it (`roots`, and `included` what is read in any case), which there are
//! (`walk`), how they look from outside (`stamp`), which of them a cloud keeps elsewhere (`cloud`), what of them is embedded (`embeddable`), what a name means (`resolve`), and their text once it was
//! read (`cache`). Knows formats only by what `extract` says of them, and nothing of an index.

pub(crate) mod cache;
mod cloud;
mod embeddable;
mod included;
mod resolve;
mod roots;
mod stamp;
pub(crate) mod walk;

pub(crate) use cache::TextCache;
pub(crate) use cloud::has_placeholder;
pub(crate) use embeddable::{is_prose, is_words_only};
pub(crate) use included::Included;
pub(crate) use roots::Roots;
pub use roots::Sources;
pub(crate) use stamp::Stamp;
pub use walk::Skipped;
pub(crate) use walk::{SourceFile, WalkResult, look, walk};
