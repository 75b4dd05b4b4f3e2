//! What lets a space be searched quickly once its documents are there.

use std::time::{Duration, Instant};

use super::schema;
use super::server::Connection;
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;

/// Making the indexes of a large space takes a while.
const INDEXING: Duration = Duration::from_hours(6);

/// Whether the indexes of [`schema::make_space_indexes`] exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Indexes {
    Made,
    Missing,
}

/// Makes the indexes of a space that are missing, and lets the server plan anew after a large change.
/// Only the owner of the tables may; for others all is there and found, if more slowly.
pub(super) fn put_in_order(
    connection: &mut Connection,
    space: i32,
    (indexes, is_large): (Indexes, bool),
    limits: Limits<'_>,
) -> Result<(), KbError> {
    let mut missing = String::new();
    if indexes == Indexes::Missing {
        missing += &schema::make_space_indexes(space);
    }
    if is_large {
        missing += &schema::analyze_space(space);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let patience = Limits::until(limits.stop(), Instant::now().checked_add(INDEXING));
    match connection.execute(&missing, patience) {
        Err(error @ (KbError::Stopped | KbError::TimedOut)) => Err(error),
        Err(error) => {
            tracing::info!(%error, "the tables of a space are not put in order");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
