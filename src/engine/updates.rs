//! What the screen is sent beside a run: notices, and the results of jobs of which only the newest is wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

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
    stop: Arc<AtomicBool>,
    task: Option<JoinHandle<()>>,
}

impl Latest {
    pub(super) fn new(updates: &mpsc::Sender<Update>) -> Self {
        Self {
            updates: updates.clone(),
            stop: Arc::default(),
            task: None,
        }
    }

    /// Does the job on a thread that may block, and sends its result unless it was stopped.
    pub(super) fn start(&mut self, job: impl FnOnce(&AtomicBool) -> Update + Send + 'static) {
        self.stop();
        self.stop = Arc::default();
        let (before, updates) = (self.task.take(), self.updates.clone());
        let stop = Arc::clone(&self.stop);
        self.task = Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let stopped = Arc::clone(&stop);
            let done = spawn_blocking(move || job(&stopped)).await;
            // A panic has been reported by the hook, and a screen that is gone reads no more.
            if let Ok(update) = done
                && !stop.load(Ordering::Relaxed)
            {
                let _ = updates.send(update).await;
            }
        }));
    }

    /// Stops the job: nobody waits for it any more.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stops the job and waits for its end.
    pub(super) async fn end(self) {
        self.stop();
        if let Some(task) = self.task {
            let _ = task.await;
        }
    }
}
