//! Waiting for a server on a thread of the caller, within its limits.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;

/// How soon a stop is noticed while a server is silent.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for a future; returns an error as soon as the limits are reached, and drops the future. It may
/// be called on a thread of an async runtime, which it blocks.
pub(super) fn wait_for<T>(
    future: impl Future<Output = T>,
    limits: Limits<'_>,
) -> Result<T, KbError> {
    limits.check()?;
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Ok(value);
        }
        limits.check()?;
        thread::park_timeout(LOOK);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
