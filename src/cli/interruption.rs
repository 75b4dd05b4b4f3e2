//! Commands that can be stopped from outside.

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::output::Failure;

/// Runs `work` with a token that is cancelled when the user or the system asks the program to
/// stop. Blocking work that pays no heed to the token is not waited for afterwards.
pub(super) fn interruptible<T>(
    work: impl AsyncFnOnce(CancellationToken) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = Runtime::new().map_err(Failure::failed)?;
    let result = runtime.block_on(async {
        let cancel = CancellationToken::new();
        let interrupted = cancel.clone();
        let watch = tokio::spawn(async move {
            interruption().await;
            interrupted.cancel();
        });
        let result = work(cancel).await;
        watch.abort();
        result
    });
    runtime.shutdown_background();
    result
}

async fn interruption() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
