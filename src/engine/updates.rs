//! What the screen is sent beside a run: notices, and the results of jobs of which only the newest is wanted.

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use crate::protocol::{NoticeLevel, Update};

/// A line that the person should know.
pub(super) fn info(message: impl Into<String>) -> Update {
    let (level, message) = (NoticeLevel::Info, message.into());
    Update::Notice { level, message }
}

/// A line about something that went wrong.
pub(super) fn warning(message: impl Into<String>) -> Update {
    let (level, message) = (NoticeLevel::Warning, message.into());
    Update::Notice { level, message }
}

/// Jobs of one kind, one at a time. A new job stops the one before and begins when that has ended.
pub(super) struct Latest {
    updates: mpsc::Sender<Update>,
    cancel: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Latest {
    pub(super) fn new(updates: &mpsc::Sender<Update>) -> Self {
        Self {
            updates: updates.clone(),
            cancel: CancellationToken::new(),
            task: None,
        }
    }

    /// Does the job on a thread that may block, and sends its result unless it was stopped.
    pub(super) fn start(
        &mut self,
        job: impl FnOnce(&CancellationToken) -> Update + Send + 'static,
    ) {
        self.stop();
        self.cancel = CancellationToken::new();
        let (before, updates) = (self.task.take(), self.updates.clone());
        let cancel = self.cancel.clone();
        self.task = Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            if cancel.is_cancelled() {
                return;
            }
            let token = cancel.clone();
            let done = spawn_blocking(move || job(&token)).await;
            // A panic has been reported by the hook, and a screen that is gone reads no more.
            if let Ok(update) = done
                && !cancel.is_cancelled()
            {
                let _ = updates.send(update).await;
            }
        }));
    }

    /// Stops the job: nobody waits for it any more.
    pub(super) fn stop(&self) {
        self.cancel.cancel();
    }

    /// Stops the job and waits for its end.
    pub(super) async fn end(self) {
        self.stop();
        if let Some(task) = self.task {
            let _ = task.await;
        }
    }
}
