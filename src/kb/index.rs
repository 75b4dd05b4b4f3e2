//! What is indexed. What updates or searches it knows the verbs of `port` and nothing of files, so that a remote
//! engine can stand behind them; `embedded` is the engine in the data folder.

mod chunk_key;
mod documents;
mod embedded;
mod port;
mod spelling;
pub(in crate::kb) mod tokens;

pub(in crate::kb) use chunk_key::{ChunkKey, KeyHash};
pub use documents::{Document, Documents};
pub use embedded::Held;
pub(in crate::kb) use embedded::{EmbeddedStore, Right, is_held, try_lock};
pub(in crate::kb) use port::{
    Batch, ChunkId, Incoming, LexicalMatches, Match, Snapshot, Store, VectorBatch,
};
pub use port::{Passage, Within};
pub(in crate::kb) use spelling::rewritten;
