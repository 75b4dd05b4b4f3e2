//! The engine on other machines: PostgreSQL with pgvector, one base for many terminals.
//!
//! | file | holds |
//! |---|---|
//! | `address`, `server`, `wait`, `fault` | how a server is reached, waited for, and what its errors mean |
//! | `schema`, `lexical.sql`, `gains`, `slips`, `binary`, `links` | what is kept there, and in which form |
//! | `space`, `space_reader`, `rows`, `reader`, `search` | reading the last commit of a space |
//! | `batch`, `copy`, `vectors`, `rights`, `lease` | changing it |
//! | `commits` | commits of other processes |
//! | `store`, `administration` | all of it behind the port; what a store is like as a whole |
//!
//! Nothing here knows files or the settings.

#![allow(
    clippy::cast_possible_wrap,
    reason = "counts of rows and lines fit the server's signed numbers"
)]

mod administration;
mod batch;
mod binary;
mod commits;
mod copy;
mod fault;
mod gains;
mod lease;
mod links;
mod reader;
mod remote_search;
mod remote_store;
mod rights;
mod rows;
mod schema;
mod slips;
mod space;
mod space_reader;
mod store_address;
mod store_server;
mod vectors;
mod wait;

pub use administration::{SpaceState, StoreState};
pub(crate) use remote_store::RemoteStore;
pub(crate) use schema::setup_script;
pub use store_address::StoreAccess;
pub(crate) use store_address::StoreAddress;
pub(crate) use store_server::StoreServer;
