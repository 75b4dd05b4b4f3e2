use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::protocol::RunHistory;

use super::index::LogIndex;
use super::read::ReadError;

/// What all runs of the log came to, given up with [`ReadError::Stopped`] as soon as `stop` says so.
pub fn history(log: &Path, stop: &AtomicBool) -> Result<RunHistory, ReadError> {
    Ok(LogIndex::of_unless(log, stop)?.history())
}
