//! One integration binary: linking is most of the cost of a test build.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod embed;
mod kb;
mod llm;
mod offline;
mod screen;
mod tools;
