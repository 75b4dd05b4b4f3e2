use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinError;

use super::WaitSink;

/// Who waits for work that takes time: until when, and what that work itself waits for.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// Raised once it is not wanted any more.
    pub stop: &'a AtomicBool,
    /// Where waits are reported; `None` for no reports.
    pub waits: Option<&'a WaitSink>,
}

impl<'a> From<&'a AtomicBool> for Caller<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Self { stop, waits: None }
    }
}

/// Runs work that blocks where it may, and raises its flag as soon as it is not waited for any
/// more: a future that is dropped cannot end a thread, but the thread can look.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> Result<T, JoinError> {
    let raised_on_drop = Raised(Arc::default());
    let stop = Arc::clone(&raised_on_drop.0);
    tokio::task::spawn_blocking(move || work(&stop)).await
}

struct Raised(Arc<AtomicBool>);

impl Drop for Raised {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
