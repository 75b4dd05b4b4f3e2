//! Who embeds first: a question that somebody waits for, and only then passages in bulk.
//!
//! Priorities of the system alone do not do it: two cores of one processor share their caches, and
//! a question would still wait for its share of them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bulk work gets on after this long, even where questions never end.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Lets those who wait go first.
#[derive(Debug, Default)]
pub(super) struct Precedence {
    waiting: Mutex<usize>,
    ended: Condvar,
}

/// Held while a text is embedded that somebody waits for.
#[derive(Debug)]
pub(super) struct First<'a>(&'a Precedence);

impl Precedence {
    /// Goes before bulk work until it is dropped.
    pub fn take(&self) -> First<'_> {
        *self.waiting() += 1;
        First(self)
    }

    /// Waits for those who go first, at most [`LONGEST_WAIT`].
    pub fn give(&self) {
        let end = Instant::now() + LONGEST_WAIT;
        let mut waiting = self.waiting();
        while *waiting > 0 {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return;
            };
            let woken = self.ended.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, usize> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        *self.0.waiting() -= 1;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn bulk_work_waits_for_a_question_and_goes_on_after_it() {
        let precedence = Precedence::default();
        precedence.give();
        let (first, answered) = (precedence.take(), AtomicBool::new(false));
        thread::scope(|scope| {
            let bulk = scope.spawn(|| {
                let begun = Instant::now();
                precedence.give();
                answered.load(Ordering::SeqCst) || begun.elapsed() >= LONGEST_WAIT
            });
            answered.store(true, Ordering::SeqCst);
            drop(first);
            assert!(bulk.join().unwrap());
        });
        precedence.give();
        assert_eq!(*precedence.waiting(), 0);
    }
}
