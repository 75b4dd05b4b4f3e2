//! The six retrieval tools, one a file.
