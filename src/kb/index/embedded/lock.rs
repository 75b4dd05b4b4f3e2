//! Who may do what to an index that several processes use. A right belongs to an open file and
//! ends with it, also when its process is killed.
//!
//! A child that is just being started has a copy of every open file until it runs its program. So
//! a right is given back in words and does not wait for the last copy to be closed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::files;
use crate::kb::error::KbError;
use crate::kb::index::port::{Lease, Result};

/// How long a process that is only opening is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longer than [`is_held`] holds a right.
const A_LOOK: Duration = Duration::from_millis(5);

/// A right that a process may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right<'a> {
    /// The right to change documents, held for seconds.
    Documents,
    /// The right to add vectors, held for minutes.
    Vectors,
    /// The right to keep the index up to date with the embedding of this model, held for as long as a
    /// screen is open.
    Upkeep(&'a str),
    /// The right to use vectors of the model with this key. All who read them share it; who removes
    /// them holds it alone.
    Model(&'a str),
}

/// The part of a file name that stands for a model.
pub(crate) fn model_key(model_id: &str) -> String {
    blake3::hash(model_id.as_bytes()).to_hex()[..16].to_owned()
}

/// Whether a text has the form of a [`model_key`].
pub(crate) fn is_model_key(key: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    key.len() == 16 && key.bytes().all(is_digit)
}

/// A right, held until this is dropped.
#[derive(Debug)]
pub(crate) struct LockGuard {
    file: File,
}

/// The system ends it with its process, so it needs no renewal.
impl Lease for LockGuard {
    fn renew(&self) -> Result<bool> {
        Ok(true)
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        // What fails here is done by closing the file.
        let _ = self.file.unlock();
    }
}

/// Takes the right; `None` while another process holds it. Tries twice, since [`is_held`] of another
/// process takes it for an instant.
pub(crate) fn try_lock(home: &Path, right: Right<'_>) -> Result<Option<LockGuard>> {
    match acquire(home, right, files::try_lock)? {
        None => {
            thread::sleep(A_LOOK);
            acquire(home, right, files::try_lock)
        }
        taken => Ok(taken),
    }
}

/// Whether a process has the right alone. Makes nothing, and shares the right for an instant, so
/// that those who look do not take each other for holders.
pub(crate) fn is_held(home: &Path, right: Right<'_>) -> Result<bool> {
    let path = path_of(home, right);
    let file = match files::open_unlinked(&path) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(false),
        Err(error) => return Err(KbError::io(&path)(error.into())),
    };
    let is_shared = files::try_lock_shared(&file).map_err(KbError::io(&path))?;
    if is_shared {
        drop(LockGuard { file });
    }
    Ok(!is_shared)
}

/// Takes the right along with others; waits a moment for a process that holds it alone.
pub(crate) fn share(home: &Path, right: Right<'_>) -> Result<LockGuard> {
    patiently(|| acquire(home, right, files::try_lock_shared))
}

fn acquire(
    home: &Path,
    right: Right<'_>,
    take: impl FnOnce(&File) -> io::Result<bool>,
) -> Result<Option<LockGuard>> {
    let path = path_of(home, right);
    let file = files::open_to_lock(&path).map_err(KbError::io(&path))?;
    let is_taken = take(&file).map_err(KbError::io(&path))?;
    Ok(is_taken.then_some(LockGuard { file }))
}

fn path_of(home: &Path, right: Right<'_>) -> PathBuf {
    home.join(match right {
        Right::Documents => "writer.lock".to_owned(),
        Right::Vectors => "vectors.lock".to_owned(),
        Right::Upkeep(model_id) => format!("upkeep-{}.lock", model_key(model_id)),
        Right::Model(key) => format!("model-{key}.lock"),
    })
}

/// Takes the right as [`try_lock`] does, and waits a moment for a process that is only opening.
pub(crate) fn lock(home: &Path, right: Right<'_>) -> Result<LockGuard> {
    patiently(|| try_lock(home, right))
}

/// Calls `take` until it returns something; [`KbError::Locked`] after two seconds.
pub(crate) fn patiently<T>(take: impl Fn() -> Result<Option<T>>) -> Result<T> {
    files::wait_for(PATIENCE, take)?.ok_or(KbError::Locked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_makes_nothing_and_is_no_holder() {
        let home = tempfile::tempdir().unwrap();
        let look = || is_held(home.path(), Right::Vectors).unwrap();
        assert!(!look());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        let held = try_lock(home.path(), Right::Vectors).unwrap().unwrap();
        assert!(look());
        drop(held);
        assert!(!look());
        let another_looks = share(home.path(), Right::Vectors).unwrap();
        assert!(!look());
        drop(another_looks);
        assert!(try_lock(home.path(), Right::Vectors).unwrap().is_some());
    }

    #[test]
    fn a_right_that_was_given_back_is_free_while_a_copy_of_its_file_is_open() {
        let home = tempfile::tempdir().unwrap();
        let held = try_lock(home.path(), Right::Documents).unwrap().unwrap();
        let copy = held.file.try_clone().unwrap();
        let again = || try_lock(home.path(), Right::Documents).unwrap();
        assert!(again().is_none(), "it is held");
        drop(held);
        assert!(again().is_some(), "it was given back");
        drop(copy);
    }
}
