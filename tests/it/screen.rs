//! The screen: events and keys in, cells out.
