//! The two thinking engines behind [`crate::agent::ports::Reasoner`].
//!
//! They share nothing but the port: the offline engine must stay understandable without knowing
//! what a chat endpoint is, and the other way round.

pub mod llm;
pub mod offline;
