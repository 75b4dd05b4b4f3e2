//! One integration binary: linking is most of the cost of a test build.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod architecture;
mod embed;
mod graph;
mod kb;
mod law;
mod llm;
mod offline;
mod screen;
mod support;
mod tools;
