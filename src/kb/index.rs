//! What is indexed. What updates or searches it knows the verbs of `port` and nothing of files, so that a remote
//! engine can stand behind them; `embedded` is the engine in the data folder.

mod address;
mod bm25;
mod chunk_key;
mod document;
mod embedded;
#[cfg(test)]
pub(crate) mod fake;
mod limits;
mod matches;
mod names;
mod near_words;
mod port;
mod quantised;
mod remote;
mod spelling;
pub(crate) mod tokens;

pub(crate) use address::{address, open, open_shared};
pub(crate) use chunk_key::{ChunkKey, KeyHash};
pub use document::Document;
pub(crate) use document::{LocalStamp, NameMatches, NameQuery, NewDocument};
#[cfg(test)]
pub(crate) use embedded::try_lock;
pub(crate) use embedded::{EmbeddedStore, Right, is_held};
pub(crate) use limits::Limits;
pub use limits::Within;
pub use matches::Passage;
pub(crate) use matches::{ChunkId, FetchOptions, FetchedChunk, LexicalMatches, Match};
pub(crate) use names::{DocumentName, matches as matching_names};
#[cfg(test)]
pub(crate) use port::Counts;
pub use port::Lease;
pub(crate) use port::{Administration, Batch, Reader, Store, VectorBatch, for_each_document};
#[cfg(test)]
pub(crate) use remote::RemoteStore;
pub use remote::{SpaceState, StoreAccess, StoreState};
pub(crate) use remote::{StoreAddress, StoreServer, setup_script};
pub(crate) use spelling::rewritten;
