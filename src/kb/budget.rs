//! How many bytes of documents are in memory on their way into the index.
//!
//! A document is reserved for before it is read, by the size of its file, and its reservation is
//! brought to what it weighs once its text is known. The reservation goes with its chunks until the
//! index has them in memory of its own, so that a slow writer slows the reading down.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

/// The memory, in bytes, that all documents on their way into the index may take together.
const DEFAULT_BYTES: u64 = 64 * 1024 * 1024;
/// How often a waiting thread looks whether it still should.
const LOOK_UP: Duration = Duration::from_millis(20);

/// A limit that all reservations share. What is larger than the limit is reserved when nothing
/// else is.
#[derive(Debug, Clone)]
pub(super) struct ByteBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: u64,
    state: Mutex<BudgetState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct BudgetState {
    reserved: u64,
    /// How many documents that are in memory already wait for what they weigh; they go before
    /// those that are still to be read.
    resizing: usize,
    #[cfg(test)]
    most_reserved: u64,
}

impl BudgetState {
    fn add(&mut self, bytes: u64) {
        self.reserved += bytes;
        #[cfg(test)]
        {
            self.most_reserved = self.most_reserved.max(self.reserved);
        }
    }
}

impl Default for ByteBudget {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl ByteBudget {
    /// Makes a budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Shared {
            limit,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Waits until `bytes` bytes fit in; `None` once `cancel` is cancelled.
    pub fn reserve(&self, bytes: u64, cancel: &CancellationToken) -> Option<Reservation> {
        let state = self.0.state.lock();
        let is_next = |state: &BudgetState| state.resizing == 0;
        let mut state = self.0.wait(state, bytes, is_next, cancel)?;
        state.add(bytes);
        drop(state);
        Some(Reservation {
            shared: Arc::clone(&self.0),
            bytes,
        })
    }

    /// The bytes that are reserved now.
    #[cfg(test)]
    pub fn reserved(&self) -> u64 {
        self.0.state.lock().reserved
    }

    /// The most that was ever reserved at once.
    #[cfg(test)]
    pub fn most_reserved(&self) -> u64 {
        self.0.state.lock().most_reserved
    }
}

/// Bytes of a budget, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    shared: Arc<Shared>,
    bytes: u64,
}

impl Reservation {
    /// Changes the reservation to `bytes`, and waits where that is more than before. Returns `None` and
    /// reserves nothing any more once `cancel` is cancelled.
    pub fn resized(mut self, bytes: u64, cancel: &CancellationToken) -> Option<Self> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state.lock();
        // Two that each wait for what the other holds would wait for ever.
        state.reserved -= self.bytes;
        self.bytes = 0;
        state.resizing += 1;
        shared.changed.notify_all();
        let Some(mut state) = shared.wait(state, bytes, |_| true, cancel) else {
            shared.state.lock().resizing -= 1;
            return None;
        };
        state.resizing -= 1;
        state.add(bytes);
        drop(state);
        shared.changed.notify_all();
        self.bytes = bytes;
        Some(self)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shared.state.lock().reserved -= self.bytes;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, BudgetState>,
        bytes: u64,
        is_next: impl Fn(&BudgetState) -> bool,
        cancel: &CancellationToken,
    ) -> Option<MutexGuard<'a, BudgetState>> {
        while !cancel.is_cancelled() {
            let has_room = state.reserved == 0 || state.reserved + bytes <= self.limit;
            if has_room && is_next(&state) {
                return Some(state);
            }
            self.changed.wait_for(&mut state, LOOK_UP);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn cancelled() -> CancellationToken {
        let cancel = CancellationToken::new();
        cancel.cancel();
        cancel
    }

    #[test]
    fn what_does_not_fit_waits_until_enough_is_given_back() {
        let (budget, cancel) = (ByteBudget::new(10), &CancellationToken::new());
        let first = budget.reserve(4, cancel).unwrap();
        let second = budget.reserve(6, cancel).unwrap();
        assert!(budget.reserve(1, &cancelled()).is_none());
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            let budget = &budget;
            scope.spawn(move || sender.send(budget.reserve(5, cancel).is_some()).unwrap());
            drop(first);
            // Four bytes are not enough, six more are.
            assert!(receiver.try_recv().is_err());
            drop(second);
            assert!(receiver.recv().unwrap());
        });
        assert_eq!(budget.most_reserved(), 10);
    }

    #[test]
    fn what_is_larger_than_the_limit_goes_alone() {
        let (budget, cancel) = (ByteBudget::new(10), CancellationToken::new());
        let large = budget.reserve(50, &cancel).unwrap();
        thread::scope(|scope| {
            let small = scope.spawn(|| budget.reserve(1, &cancel).is_some());
            cancel.cancel();
            assert!(!small.join().unwrap());
        });
        drop(large);
        assert!(budget.reserve(1, &CancellationToken::new()).is_some());
    }

    #[test]
    fn two_that_turn_out_larger_do_not_wait_for_each_other() {
        let (budget, cancel) = (ByteBudget::new(10), &CancellationToken::new());
        let small = [(); 2].map(|()| budget.reserve(5, cancel).unwrap());
        thread::scope(|scope| {
            for reservation in small {
                scope.spawn(|| drop(reservation.resized(8, cancel).unwrap()));
            }
        });
        assert_eq!(budget.most_reserved(), 10);
        let small = budget.reserve(5, cancel).unwrap();
        assert!(small.resized(8, &cancelled()).is_none());
        assert!(budget.reserve(10, cancel).is_some());
    }
}
