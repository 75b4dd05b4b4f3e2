//! One integration binary: linking is most of the cost of a test build.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod architecture;
mod audit;
mod catch_up;
mod cli;
mod conformance;
mod demo;
mod embed;
mod embedding_endpoint;
mod engine;
mod eval;
mod formats;
mod golden;
mod graph;
mod kb;
mod kill;
mod law;
mod llm;
mod llm_failures;
mod llm_jobs;
mod llm_prompts;
#[cfg(feature = "llm-server-tests")]
mod llm_server;
mod llm_wire;
mod offline;
mod picture;
mod samples;
mod screen;
mod scripted_endpoint;
mod support;
mod terminal;
mod tools;
mod tui_live;
mod typos;
mod watch;
mod workplace;
