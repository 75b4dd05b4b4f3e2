//! Walks the graph: one run, five nodes, every step an event.
//!
//! The agent knows neither network nor disk nor screen. Its world is four traits in [`ports`]; its
//! law is [`crate::domain`]; its voice is the stream of [`crate::protocol::Event`]s.

pub mod ports;
