use std::path::PathBuf;

/// Which file, and how much of it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The log.
    pub path: PathBuf,
    /// Together with the parts that were put aside it holds about so much.
    pub keep_bytes: u64,
    /// Whether it holds what was sent to a model and what came back.
    pub prompts: bool,
}
