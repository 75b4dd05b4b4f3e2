//! Chat with a knowledge base in the terminal, and see how each answer came about.
//!
//! One idea carries the program: a query is a stream of typed events, and everything a person
//! sees is a fold over that stream. Layers import only downwards:
//!
//! ```text
//! main ─► cli ─┬─► tui ─────────────► protocol, domain, text
//!              └─► engine ─┬─► config
//!                          ├─► reasoner ──┐
//!                          ├─► tools ─► kb ┼─► agent::ports, domain, text
//!                          ├─► embed ─────┤
//!                          ├─► audit ─────┘
//!                          └─► agent ──► protocol ─► domain ─► text
//!
//! reasoner, embed ─► http ─► text    what the chat and the embedding endpoint share
//! config, reasoner, kb, audit, engine, cli ─► files ─► std     reading and writing files safely
//! config, kb ─► globs                patterns of files
//! embed, kb ─► threads               which of them gets the cores
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod agent;
pub mod audit;
pub mod cli;
pub mod config;
pub mod domain;
pub mod embed;
pub mod engine;
pub mod files;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod globs;
pub mod http;
pub mod kb;
pub mod protocol;
pub mod reasoner;
pub mod report;
pub mod text;
mod threads;
pub mod tools;
pub mod tui;
