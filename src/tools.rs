//! The retrieval tools, one a file.
//!
//! A tool is a function of the knowledge base and its arguments; `toolbox` is the one place that
//! turns a call into such a function and moves it off the async threads, and `catalog` the one
//! table that prompts, help and audit share. Evidence is always exactly the lines it names.

mod catalog;
mod graph_related;
mod grep_search;
mod grow;
mod hits;
mod hybrid_search;
mod local_file_qa;
mod read_file;
mod scope;
mod toolbox;
mod vector_search;

pub use catalog::DESCRIPTORS;
pub use toolbox::KbToolbox;
