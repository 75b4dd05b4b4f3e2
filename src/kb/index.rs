//! What is indexed. What updates or searches it knows the verbs of `port` and nothing of files, so that a remote
//! engine can stand behind them; `embedded` is the engine in the data folder.

mod address;
mod chunk_key;
mod document;
mod embedded;
#[cfg(test)]
pub(in crate::kb) mod fake;
mod limits;
mod matches;
mod names;
mod near_words;
mod port;
mod quantised;
mod remote;
mod spelling;
pub(in crate::kb) mod tokens;

pub(in crate::kb) use address::{address, open, open_shared};
pub(in crate::kb) use chunk_key::{ChunkKey, KeyHash};
pub use document::Document;
pub(in crate::kb) use document::{Incoming, LocalStamp, NameMatches, NameQuery};
#[cfg(test)]
pub(in crate::kb) use embedded::try_lock;
pub(in crate::kb) use embedded::{EmbeddedStore, Right, is_held};
pub(in crate::kb) use limits::Limits;
pub use limits::Within;
pub use matches::Passage;
pub(in crate::kb) use matches::{ChunkId, LexicalMatches, Match, Wanted};
pub(in crate::kb) use names::{DocumentName, matches as matching_names};
#[cfg(test)]
pub(in crate::kb) use port::Counts;
pub use port::Lease;
pub(in crate::kb) use port::{Administration, Batch, Reader, Store, VectorBatch};
#[cfg(test)]
pub(in crate::kb) use remote::RemoteStore;
pub use remote::{SpaceState, StoreAccess, StoreState};
pub(in crate::kb) use remote::{StoreAddress, StoreServer};
pub(in crate::kb) use spelling::rewritten;
