//! Locks on open files, and how long another process is waited for.
//!
//! A lock belongs to an open file and ends with it, also when its process is killed.

use std::fs::{File, TryLockError};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Less than writing a line takes.
const FIRST_PAUSE: Duration = Duration::from_micros(100);
/// Short enough to notice a wish to stop between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// Takes the lock on `file` for this process alone; `false` where another has it.
pub fn try_lock(file: &File) -> io::Result<bool> {
    is_taken(file.try_lock())
}

/// Takes the lock on `file` along with others who share it; `false` where one has it alone.
pub fn try_lock_shared(file: &File) -> io::Result<bool> {
    is_taken(file.try_lock_shared())
}

fn is_taken(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What `take` gives as soon as it gives something, asked again and again with a pause that grows;
/// `None` once `patience` has passed. Blocks; `take` is called at least once.
pub fn wait_for<T, E>(
    patience: Duration,
    mut take: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let asked = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(taken) = take()? {
            return Ok(Some(taken));
        }
        let left = patience.saturating_sub(asked.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn a_lock_that_is_held_is_waited_for_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let (one, other) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        assert!(try_lock(&one).unwrap());
        assert!(!try_lock(&other).unwrap() && !try_lock_shared(&other).unwrap());
        let mut attempts = 0;
        let waited = wait_for(Duration::from_mins(1), || {
            attempts += 1;
            if attempts == 3 {
                one.unlock()?;
            }
            try_lock(&other).map(|is_taken| is_taken.then_some(attempts))
        });
        assert_eq!(waited.unwrap(), Some(3));
        let never = || Ok::<Option<()>, Infallible>(None);
        assert_eq!(wait_for(Duration::from_millis(1), never), Ok(None));
        let at_once = wait_for(Duration::ZERO, || Ok::<_, Infallible>(Some(())));
        assert_eq!(at_once, Ok(Some(())));
    }
}
