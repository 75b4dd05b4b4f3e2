//! How much of a file is read.

/// Text files larger than this are not indexed.
pub(crate) const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;
/// Most of a PDF or a presentation is pictures, so these may be larger.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 64 * 1024 * 1024;

/// How much of a file tells its format.
pub(crate) const SNIFF_BYTES: usize = 8 * 1024;
