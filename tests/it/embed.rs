//! The embedded sentence embedding against its reference.
