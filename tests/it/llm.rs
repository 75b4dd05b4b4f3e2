//! The endpoint engine against scripted servers.
