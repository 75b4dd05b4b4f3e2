//! The engine on other machines: PostgreSQL with pgvector, one base for many terminals.
//!
//! | file | holds |
//! |---|---|
//! | `store_address`, `store_server` | how a server is reached and waited for, and what its errors mean |
//! | `schema`, `keys`, `sql/` | what is kept there, and under which names |
//! | `space`, `reader` | reading the last commit of a space |
//! | `batch`, `vectors` | changing it |
//! | `remote_store` | all of it behind the port; what a store is like as a whole |
//!
//! Nothing here knows files or the settings.

#![allow(
    clippy::cast_possible_wrap,
    reason = "counts of rows and lines fit the server's signed numbers"
)]

mod batch;
mod keys;
mod reader;
mod remote_store;
mod schema;
mod space;
mod store_address;
mod store_server;
mod vectors;

#[cfg(test)]
pub(crate) use remote_store::RemoteStore;
pub(crate) use remote_store::open_shared;
pub use remote_store::{SpaceState, StoreState};
pub(crate) use schema::setup_script;
pub use store_address::StoreAccess;
pub(crate) use store_address::StoreAddress;
#[cfg(test)]
pub(crate) use store_server::Purpose;
pub(crate) use store_server::StoreServer;
