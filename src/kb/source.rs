//! The files of the base: what belongs to it (`roots`, and `included` what is read in any case), which there are
//! (`walk`), how they look from outside (`stamp`), which of them a cloud keeps elsewhere (`cloud`), what of them is embedded (`embeddable`), what a name means (`resolve`), and their text once it was
//! read (`cache`). Knows formats only by what `extract` says of them, and nothing of an index.

pub(in crate::kb) mod cache;
mod cloud;
mod embeddable;
mod included;
mod resolve;
mod roots;
mod stamp;
pub(in crate::kb) mod walk;

pub(in crate::kb) use cache::TextCache;
pub(in crate::kb) use cloud::has_placeholder;
pub(in crate::kb) use embeddable::{is_prose, is_words_only};
pub(in crate::kb) use included::Included;
pub(in crate::kb) use roots::Roots;
pub use roots::Sources;
pub(in crate::kb) use stamp::Stamp;
pub use walk::Skipped;
pub(in crate::kb) use walk::{SourceFile, Walked, look, walk};
