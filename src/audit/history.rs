use std::path::Path;

use crate::protocol::{Counting, Statistics};

use super::parts;
use super::read::{ReadError, for_each_event};

/// What all runs of the log came to.
pub fn statistics(log: &Path) -> Result<Statistics, ReadError> {
    let mut counting = Counting::default();
    for_each_event(&parts::existing(log), &Counting::MADE_FROM, |event| {
        counting.apply(&event);
    })?;
    Ok(counting.result())
}
