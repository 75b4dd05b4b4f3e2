//! Work on input that may be made to break it, kept apart from everything else.
//!
//! Parsers of foreign formats panic, recurse and loop on files that were made badly or to harm.
//! Each document is taken apart on a thread of its own: a panic ends that thread, a deep nesting
//! has a large stack, and who waits does not wait for ever. A thread cannot be stopped from
//! outside, so one that does not end, or that is no longer waited for, is left behind; a
//! few of those are borne, then no more documents are tried until some end.

use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::kb::extract::SkipReason;

const STACK_BYTES: usize = 64 * 1024 * 1024;
/// Threads left behind that are borne at once.
const MAX_LEFT_BEHIND: usize = 4;
/// How often who waits looks whether to go on waiting.
const LOOK_UP: Duration = Duration::from_millis(50);

static LEFT_BEHIND: AtomicUsize = AtomicUsize::new(0);

/// The result of `work`, or why there is none within `limit`; once `stop` is raised, it is not
/// waited for.
pub(in crate::kb::extract) fn confined<T: Send + 'static>(
    limit: Duration,
    stop: &AtomicBool,
    work: impl FnOnce() -> Result<T, SkipReason> + Send + 'static,
) -> Result<T, SkipReason> {
    if LEFT_BEHIND.load(Ordering::Relaxed) >= MAX_LEFT_BEHIND {
        return Err(SkipReason::Congested);
    }
    let (send, receive) = mpsc::sync_channel(1);
    let worker = thread::Builder::new()
        .name("document".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let result = panic::catch_unwind(panic::AssertUnwindSafe(work));
            // The caller may have stopped waiting.
            let _ = send.send(result);
        })
        .map_err(|error| SkipReason::Unreadable(error.to_string()))?;
    let deadline = Instant::now() + limit;
    let received = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receive.recv_timeout(left.min(LOOK_UP)) {
            Err(RecvTimeoutError::Timeout) if left > LOOK_UP && !stop.load(Ordering::Relaxed) => {}
            received => break received,
        }
    };
    match received {
        Ok(Ok(result)) => {
            let _ = worker.join();
            result
        }
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
            let _ = worker.join();
            Err(SkipReason::Damaged("it cannot be taken apart".to_owned()))
        }
        Err(RecvTimeoutError::Timeout) => {
            LEFT_BEHIND.fetch_add(1, Ordering::Relaxed);
            // Waits for the end of the thread that is left behind, to count it out again.
            let _ = thread::Builder::new().spawn(move || {
                let _ = worker.join();
                LEFT_BEHIND.fetch_sub(1, Ordering::Relaxed);
            });
            Err(if stop.load(Ordering::Relaxed) {
                SkipReason::Stopped
            } else {
                SkipReason::TooSlow(limit.as_secs())
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_damaged_document_and_recursion_has_room() {
        fn deep(n: usize) -> usize {
            let filler = std::hint::black_box([n; 64]);
            if n == 0 { filler[0] } else { 1 + deep(n - 1) }
        }
        let (limit, going_on) = (Duration::from_mins(1), AtomicBool::new(false));
        let panicked: Result<(), _> = confined(limit, &going_on, || panic!("on purpose"));
        assert!(matches!(panicked, Err(SkipReason::Damaged(_))));
        assert_eq!(confined(limit, &going_on, || Ok(deep(20_000))), Ok(20_000));
    }

    #[test]
    fn no_one_waits_for_ever() {
        let (release, held) = mpsc::channel::<()>();
        let going_on = AtomicBool::new(false);
        let result = confined(Duration::from_millis(1), &going_on, move || {
            let _ = held.recv();
            Ok(())
        });
        assert_eq!(result, Err(SkipReason::TooSlow(0)));
        drop(release);
    }

    #[test]
    fn who_is_asked_to_stop_waits_no_longer() {
        let (release, held) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                // Longer than any test may take.
                confined(Duration::from_hours(24), &stop, move || {
                    let _ = begun.send(());
                    let _ = held.recv();
                    Ok(())
                })
            });
            begins.recv().unwrap();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(waiting.join().unwrap(), Err(SkipReason::Stopped));
        });
        drop(release);
    }
}
