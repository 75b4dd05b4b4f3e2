//! Chat with a knowledge base in the terminal, and see how each answer came about.
//!
//! One idea carries the program: a query is a stream of typed events, and everything a person
//! sees is a fold over that stream. Layers import only downwards; `tests/it/architecture.rs` holds
//! them as data and fails at the first import that points up or closes a circle.
//!
//! ```text
//! main ─► cli ─┬─► tui ─────────────► protocol, domain, text
//!              └─► engine ─┬─► config
//!                          ├─► reasoner ──┐
//!                          ├─► tools ─► kb ┼─► agent::ports, domain, text
//!                          ├─► embed ─────┤
//!                          ├─► audit ─────┘
//!                          ├─► telemetry ─► openai, protocol, domain, text
//!                          └─► agent ──► protocol ─► domain ─► text
//!
//! leaves that several rooms share: openai, files, globs, threads, themes
//! ```
//!
//! # The way of a question
//!
//! ```text
//! key ─► tui::update ─► Command ─► agent::worker ─► agent::run ─► agent::nodes
//!                                                    ├─► ports::Reasoner   reasoner::{offline, llm}
//!                                                    └─► ports::Toolbox    tools ─► kb::search, kb::grep
//! EventBody ◄────────────────────────────────────────┘
//!     ├─► audit          appends it, masked, before it is shown
//!     ├─► tui::fold      what the panes draw
//!     ├─► cli            `ask`, `ask --json`
//!     └─► telemetry      the trace of a finished run, from what audit recorded
//! ```
//!
//! The pure functions of `domain` (`route_after_…`, `approving_rule`) decide which node comes next.
//!
//! # The way of a saved file
//!
//! ```text
//! kb::watch ─► kb::update ─► kb::extract ─► kb::chunk ─► kb::index ─► embed, in bulk
//! (changed)    (what differs) (bytes, text)  (passages)   (commit)     (vectors)
//! ```
//!
//! # Where to add
//!
//! | what | where |
//! |---|---|
//! | a tool | its call and description in `domain/tool.rs`, its file in `tools/` with a line in `tools.rs` |
//! | a file format | a row in `domain/file_format.rs`, its reader in `kb/extract/`, its row in `docs/own-files.md` |
//! | a filter of a question | a row of `FILTERS` and a condition in `domain/limits.rs`, checked in `kb/scope.rs` |
//! | a theme | a file in `assets/themes/`; touch `themes.rs`, as cargo sees no new file in a folder |
//! | a language | a file in `assets/language/`; touch `reasoner/offline/language.rs` |
//! | a setting | a row of `config/table.rs`, which also reads it; its field in `config/settings.rs` |
//! | a chat server | an entry in `assets/llm/servers.toml` |
//! | a key | an entry in `assets/keymap.toml`, its action in `tui/keymap.rs` and `tui/act.rs` |
//! | a page of the manual | a file in `docs/`, a line in `cli/help.rs` |
//! | a subcommand | its file in `cli/`, a line in `cli.rs` |
//! | a store | the traits of `kb/index/port.rs`; `kb/conformance.rs` tests it |
//! | a fact of a run | an optional field of `EventBody` in `protocol.rs`, set by its node in `agent/nodes/` |

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
pub mod kb;
pub mod openai;
pub mod protocol;
pub mod reasoner;
pub mod report;
pub mod telemetry;
pub mod text;
pub mod themes;
mod threads;
pub mod tools;
pub mod tui;
