//! The knowledge base over real folders and a real index.
