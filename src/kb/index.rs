//! What is indexed. What updates or searches it knows the verbs of `port` and nothing of files, so that a remote
//! engine can stand behind them; `embedded` is the engine in the data folder.

mod embedded;
mod names;
pub(crate) mod phrases;
mod port;
mod quantised;
mod remote;
mod search_terms;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tokens;

#[cfg(test)]
pub(crate) use embedded::try_lock;
pub(crate) use embedded::{EmbeddedStore, Right, is_held};
pub(crate) use names::{DocumentName, matches as matching_names};
pub(crate) use port::{
    Batch, ChunkFilter, ChunkId, ChunkKey, DocumentFacts, FetchOptions, FetchedChunk, KeyHash,
    LexicalMatches, Limits, LocalStamp, Match, NameMatches, NameQuery, NewDocument, Reader, Store,
    VectorBatch, for_each_document,
};
#[cfg(test)]
pub(crate) use port::{Counts, Damage};
pub use port::{Document, DocumentMetadata, Lease, Passage, Within};
#[cfg(test)]
pub(crate) use remote::{Purpose, RemoteStore};
pub use remote::{SpaceState, StoreAccess, StoreState};
pub(crate) use remote::{StoreAddress, StoreServer, open_shared, setup_script};
pub(crate) use search_terms::rewritten;
