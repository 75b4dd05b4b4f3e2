//! The two thinking engines behind [`crate::agent::ports::Reasoner`].
//!
//! They share how a question is read and the tables of words that this takes, and nothing else: the
//! offline engine must stay understandable without knowing what a chat endpoint is, and the other
//! way round.

pub mod llm;
pub mod offline;
