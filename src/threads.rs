//! Who gets the cores: a search that a user waits for before passages that are embedded in bulk.
//!
//! The threads of work in bulk leave the cores to whatever else wants them, but no sooner than the
//! system looks: a thread of a search that is started, or gives way for a moment, on a core where
//! such work runs waits for the next tick, which is as long as the whole search. So while searches
//! come, one core is left to them, and each of them stays on one thread.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long after a search another one is likely.
const LIKELY: Duration = Duration::from_secs(2);

static IN_BULK: AtomicUsize = AtomicUsize::new(0);
static LAST_SEARCH: Mutex<Option<Instant>> = Mutex::new(None);

/// Held while work in bulk is under way.
#[derive(Debug)]
pub(crate) struct InBulk(());

impl InBulk {
    /// Until it is dropped.
    pub fn begin() -> Self {
        IN_BULK.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for InBulk {
    fn drop(&mut self) {
        IN_BULK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Says that a search is waited for.
pub(crate) fn search_begins() {
    *LAST_SEARCH.lock() = Some(Instant::now());
}

/// The number of threads that a search runs best on now.
pub(crate) fn for_a_search() -> usize {
    if IN_BULK.load(Ordering::Relaxed) > 0 {
        return 1;
    }
    cores()
}

/// The number of threads that work in bulk may use now.
pub(crate) fn for_bulk() -> usize {
    let last = *LAST_SEARCH.lock();
    left_for_bulk(cores(), last.map(|last| last.elapsed()))
}

/// Never none, so that it gets on where searches never end.
fn left_for_bulk(cores: usize, since_a_search: Option<Duration>) -> usize {
    let another_is_likely = since_a_search.is_some_and(|since| since < LIKELY);
    (cores - usize::from(another_is_likely)).max(1)
}

/// The number of cores, asked once: the system keeps the answer in files.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_left_to_searches_as_long_as_they_come() {
        let just_now = Some(Duration::from_millis(5));
        assert_eq!(left_for_bulk(4, just_now), 3);
        assert_eq!(left_for_bulk(1, just_now), 1);
        assert_eq!(left_for_bulk(4, Some(LIKELY)), 4);
        assert_eq!(left_for_bulk(4, None), 4);
    }

    #[test]
    fn a_search_stays_on_one_thread_while_work_in_bulk_is_under_way() {
        let _bulk = InBulk::begin();
        assert_eq!(for_a_search(), 1);
    }
}
