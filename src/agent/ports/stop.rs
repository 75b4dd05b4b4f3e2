use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinError;

/// Runs work that blocks where it may, and raises its flag as soon as nobody waits for it any
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
