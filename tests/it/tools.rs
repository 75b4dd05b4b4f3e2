//! The six tools over a real index.
