//! What all recorded runs came to, for the person in front of the screen.
//!
//! A log may be long. It is read beside everything else, and no longer than it is waited for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::audit::history;
use crate::protocol::Update;

/// Reads the log when it is asked, once at a time.
pub(super) struct StatisticsReader {
    log: PathBuf,
    updates: mpsc::Sender<Update>,
    readings: JoinSet<()>,
    /// Ends the last of them.
    stop: Arc<AtomicBool>,
}

impl StatisticsReader {
    pub(super) fn new(log: &Path, updates: &mpsc::Sender<Update>) -> Self {
        Self {
            log: log.to_owned(),
            updates: updates.clone(),
            readings: JoinSet::new(),
            stop: Arc::default(),
        }
    }

    /// Sends what the log holds now.
    pub(super) fn read(&mut self) {
        self.stop();
        while self.readings.try_join_next().is_some() {}
        self.stop = Arc::default();
        let (log, updates, stop) = (
            self.log.clone(),
            self.updates.clone(),
            Arc::clone(&self.stop),
        );
        self.readings.spawn_blocking(move || {
            let read = history(&log, &stop);
            if !stop.load(Ordering::Relaxed) {
                let read = read.map(Box::new).map_err(|error| error.to_string());
                // A screen that is gone reads no more.
                let _ = updates.blocking_send(Update::Statistics(read));
            }
        });
    }

    /// The caller stopped waiting for it.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for the end of all that was begun.
    pub(super) async fn end(mut self) {
        self.stop();
        while self.readings.join_next().await.is_some() {}
    }
}
