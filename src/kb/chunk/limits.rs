//! How large chunks are, in bytes.

/// A chunk grows until here …
pub(super) const TARGET_BYTES: usize = 1100;
/// … and never beyond this.
pub(crate) const MAX_BYTES: usize = 1500;
