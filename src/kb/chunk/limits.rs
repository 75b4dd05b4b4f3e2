//! How large chunks are, in bytes.

/// A chunk grows until here …
pub(super) const TARGET_BYTES: usize = 1100;
/// … and never beyond this.
pub(in crate::kb) const MAX_BYTES: usize = 1500;
