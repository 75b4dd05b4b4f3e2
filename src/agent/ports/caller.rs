use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::WaitSink;

/// Who waits for work that takes time: until when, and what that work itself waits for.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// Cancelled once the work is not wanted any more.
    pub cancel: &'a CancellationToken,
    /// Where waits are reported; `None` for no reports.
    pub waits: Option<&'a WaitSink>,
}

impl<'a> From<&'a CancellationToken> for Caller<'a> {
    fn from(cancel: &'a CancellationToken) -> Self {
        Self {
            cancel,
            waits: None,
        }
    }
}

/// Runs work that blocks where it may, and cancels its token as soon as it is not waited for any
/// more: a future that is dropped cannot end a thread, but the thread can look.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<T, JoinError> {
    let cancel = CancellationToken::new();
    let _cancels_when_dropped = cancel.clone().drop_guard();
    tokio::task::spawn_blocking(move || work(&cancel)).await
}
