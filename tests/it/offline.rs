//! The offline engine.
