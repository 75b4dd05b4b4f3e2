//! Who may write. A lock belongs to an open file and ends with it, also when its process is
//! killed.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::kb::error::KbError;

/// What a process may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// To change documents, for seconds.
    Documents,
    /// To add vectors, for minutes.
    Vectors,
}

/// A right, held until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

/// The right, unless another holds it.
pub(super) fn try_lock(home: &Path, right: Right) -> Result<Option<Held>, KbError> {
    let name = match right {
        Right::Documents => "writer.lock",
        Right::Vectors => "vectors.lock",
    };
    let path = home.join(name);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(KbError::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Held { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(KbError::io(&path)(error)),
    }
}

/// The same, waiting a moment for somebody who is only opening.
pub(super) fn lock(home: &Path, right: Right) -> Result<Held, KbError> {
    const ATTEMPTS: usize = 80;
    for _ in 0..ATTEMPTS {
        if let Some(held) = try_lock(home, right)? {
            return Ok(held);
        }
        thread::sleep(Duration::from_millis(25));
    }
    Err(KbError::Locked)
}
