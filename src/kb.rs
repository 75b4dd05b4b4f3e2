//! The knowledge base: folders in, passages out.

pub mod embed;
