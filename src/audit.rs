//! The audit log: an actor that owns one append-only file.
