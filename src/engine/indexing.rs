//! The index behind a screen: kept up to date until the person stops it, and again when asked to.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc;
use tokio::task::{self, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::agent::ports::blocking;
use crate::kb::Watch;
use crate::protocol::{IndexCommand, Update};
use crate::text::one_line;

use super::adding::{Adding, CurrentBase, ExtendedBase};
use super::contents::Contents;
use super::index_status::{Activity, PROGRESS_EVERY, ScreenReporter, broke_off, status};
use super::upkeep::keep_up_to_date;

/// What is to be done about the index.
#[derive(Debug)]
pub(super) enum IndexTask {
    /// Stop or go on.
    Steer(IndexCommand),
    /// Take up this folder or file, too.
    Add(String),
}

/// What keeps the index up to date.
pub(super) struct Indexing {
    pub(super) base: CurrentBase,
    pub(super) adding: Arc<Adding>,
    pub(super) updates: mpsc::Sender<Update>,
    /// What the program itself writes, which is no change of the files.
    pub(super) own_files: Vec<PathBuf>,
    /// What the documents are.
    pub(super) contents: Arc<Contents>,
}

impl Indexing {
    /// Works until `end`, and rests between a [`IndexCommand::Stop`] and the next
    /// [`IndexCommand::Resume`] or source.
    pub(super) async fn run(self, tasks: mpsc::Receiver<IndexTask>, end: CancellationToken) {
        tokio::join!(self.contents.follow(&end), self.run_tasks(tasks, &end));
    }

    async fn run_tasks(&self, mut tasks: mpsc::Receiver<IndexTask>, end: &CancellationToken) {
        let mut work = Some(self.begin());
        // What came while a source was read.
        let mut waiting = VecDeque::new();
        loop {
            let waiting_task = waiting.pop_front();
            let task = if waiting_task.is_some() {
                waiting_task
            } else {
                tokio::select! {
                    () = end.cancelled() => break,
                    task = tasks.recv() => task,
                }
            };
            match task {
                Some(IndexTask::Add(path)) => {
                    let read = tokio::select! {
                        () = end.cancelled() => break,
                        read = self.read(path, &mut tasks, &mut waiting) => read,
                    };
                    match read {
                        Ok(ExtendedBase {
                            base,
                            path,
                            line,
                            skipped,
                        }) => {
                            self.base.replace(Arc::new(base));
                            self.adding.keep(path);
                            // What it holds is sent behind this line.
                            let _ = self.updates.send(Update::SourceAdded(Ok(line))).await;
                            if let Some(skipped) = skipped {
                                self.contents.leave_out(&skipped);
                            }
                            self.contents.look_again();
                            if let Some(work) = work.take() {
                                work.end().await;
                            }
                            work = Some(self.begin());
                        }
                        Err(line) => {
                            let line = one_line(&line, 600);
                            let _ = self.updates.send(Update::SourceAdded(Err(line))).await;
                            let stopped = work.is_none().then_some(Activity::Stopped);
                            self.send_status(stopped.unwrap_or(Activity::None)).await;
                        }
                    }
                }
                Some(IndexTask::Steer(IndexCommand::Stop)) => {
                    if let Some(work) = work.take() {
                        work.end().await;
                        self.send_status(Activity::Stopped).await;
                    }
                }
                Some(IndexTask::Steer(IndexCommand::Resume)) if work.is_none() => {
                    work = Some(self.begin());
                }
                Some(IndexTask::Steer(IndexCommand::Resume)) => {}
                // Only the screen's end ends the work.
                None => {
                    end.cancelled().await;
                    break;
                }
            }
        }
        if let Some(work) = work {
            work.end().await;
        }
    }

    /// Reads another source and tells how far that is. What else is to be done waits, but for a
    /// stop, which ends it.
    async fn read(
        &self,
        path: String,
        tasks: &mut mpsc::Receiver<IndexTask>,
        waiting: &mut VecDeque<IndexTask>,
    ) -> Result<ExtendedBase, String> {
        let (adding, before) = (Arc::clone(&self.adding), self.base.get());
        let updates = self.updates.clone();
        let stopped = format!("{} is not added: it was stopped", one_line(&path, 200));
        let reading = blocking(move |stop| {
            let last_report = Mutex::new(Instant::now());
            let report = |step| {
                let mut last_report = last_report.lock().unwrap_or_else(PoisonError::into_inner);
                if last_report.elapsed() >= PROGRESS_EVERY {
                    *last_report = Instant::now();
                    let status = status(&before, Activity::Indexing, Some(step));
                    let _ = updates.try_send(Update::Knowledge(status));
                }
            };
            adding.open(&before, &path, &report, stop)
        });
        tokio::pin!(reading);
        loop {
            tokio::select! {
                read = &mut reading => {
                    let read = read.map_err(|error| format!("adding it broke off: {error}"));
                    return read.flatten();
                }
                Some(task) = tasks.recv() => {
                    let is_stop = matches!(task, IndexTask::Steer(IndexCommand::Stop));
                    waiting.push_back(task);
                    if is_stop {
                        return Err(stopped);
                    }
                }
            }
        }
    }

    async fn send_status(&self, activity: Activity) {
        let base = self.base.get();
        let asked = task::spawn_blocking(move || status(&base, activity, None));
        let Ok(status) = asked.await else { return };
        let _ = self.updates.send(Update::Knowledge(status)).await;
    }

    fn begin(&self) -> Work {
        let watch = Arc::new(Watch::new());
        let (watched, knowledge) = (Arc::clone(&watch), self.base.get());
        let (updates, own_files) = (self.updates.clone(), self.own_files.clone());
        let contents = Arc::clone(&self.contents);
        let task = task::spawn_blocking(move || {
            let screen = ScreenReporter::new(&knowledge, &updates, &watched, &contents);
            let keep = || {
                screen.progress();
                keep_up_to_date(&knowledge, &watched, &own_files, &|upkeep| {
                    screen.report(upkeep);
                });
            };
            if panic::catch_unwind(AssertUnwindSafe(keep)).is_err() {
                screen.last(Activity::None);
                screen.send(broke_off());
            }
        });
        Work { watch, task }
    }
}

struct Work {
    watch: Arc<Watch>,
    task: JoinHandle<()>,
}

impl Work {
    async fn end(mut self) {
        self.watch.close();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.watch.close();
    }
}
