//! The index in the data folder: words (`lexical`), vectors and the list of documents (`manifest`), one commit of
//! all of them (`view`), what changes them (`commit`) and who may (`lock`).

mod commit;
mod documents;
mod holders;
mod lexical;
mod lock;
mod manifest;
mod reader;
mod store;
mod vectors;
mod view;

#[cfg(test)]
pub(in crate::kb) use lock::try_lock;
pub(in crate::kb) use lock::{Right, is_held};
pub(in crate::kb) use store::EmbeddedStore;
