//! The index behind a screen: kept up to date until the person stops it, and again when asked to.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{self, JoinHandle};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::adding::{Adding, CurrentBase, ExtendedBase};
use super::contents::Contents;
use super::updates::{info, warning};
use super::upkeep::{Upkeep, keep_up_to_date};
use crate::agent::ports::blocking;
use crate::kb::{KnowledgeBase, Phase, Progress, UpdateReport, Watch};
use crate::protocol::{IndexCommand, IndexProgress, IndexStep, KnowledgeStatus, Timestamp, Update};
use crate::text::one_line;

/// A status is sent this often at most.
const STATUS_EVERY: Duration = Duration::from_millis(100);

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
        let (shown, newest) = watch::channel(None);
        tokio::join!(
            self.contents.follow(&end),
            self.run_tasks(tasks, &shown, &end),
            async {
                end.run_until_cancelled(send_newest(newest, &self.updates))
                    .await;
            },
        );
    }

    async fn run_tasks(
        &self,
        mut tasks: mpsc::Receiver<IndexTask>,
        shown: &watch::Sender<Option<IndexState>>,
        end: &CancellationToken,
    ) {
        let state = |activity| IndexState::new(self.base.get(), activity);
        let mut work = Some(self.begin(shown));
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
                        read = self.read(path, shown, &mut tasks, &mut waiting) => read,
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
                            self.contents.may_have_changed();
                            if let Some(work) = work.take() {
                                work.end().await;
                            }
                            work = Some(self.begin(shown));
                        }
                        Err(line) => {
                            let line = one_line(&line, 600);
                            let _ = self.updates.send(Update::SourceAdded(Err(line))).await;
                            let activity = match work {
                                Some(_) => Activity::None,
                                None => Activity::Stopped,
                            };
                            shown.send_replace(Some(state(activity)));
                        }
                    }
                }
                Some(IndexTask::Steer(IndexCommand::Stop)) => {
                    if let Some(work) = work.take() {
                        work.end().await;
                        shown.send_replace(Some(state(Activity::Stopped)));
                    }
                }
                Some(IndexTask::Steer(IndexCommand::Resume)) if work.is_none() => {
                    work = Some(self.begin(shown));
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

    /// Reads another source and shows how far that is. What else is to be done waits, but for a
    /// stop, which ends it.
    async fn read(
        &self,
        path: String,
        shown: &watch::Sender<Option<IndexState>>,
        tasks: &mut mpsc::Receiver<IndexTask>,
        waiting: &mut VecDeque<IndexTask>,
    ) -> Result<ExtendedBase, String> {
        let (adding, before) = (Arc::clone(&self.adding), self.base.get());
        let shown = shown.clone();
        let stopped = format!("{} is not added: it was stopped", one_line(&path, 200));
        let reading = blocking(move |cancel| {
            // Once it is stopped, what was shown then stays the newest.
            let report = |step| {
                shown.send_if_modified(|newest| {
                    let goes_on = !cancel.is_cancelled();
                    if goes_on {
                        let activity = Activity::Indexing(Some(step));
                        *newest = Some(IndexState::new(Arc::clone(&before), activity));
                    }
                    goes_on
                });
            };
            adding.open(&before, &path, &report, cancel)
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

    fn begin(&self, shown: &watch::Sender<Option<IndexState>>) -> Work {
        let watch = Arc::new(Watch::new());
        let screen = ScreenReporter {
            base: self.base.get(),
            watch: Arc::clone(&watch),
            shown: shown.clone(),
            updates: self.updates.clone(),
            contents: Arc::clone(&self.contents),
            left_out_notice_sent: AtomicBool::new(false),
        };
        let own_files = self.own_files.clone();
        let task = task::spawn_blocking(move || {
            let keep = || {
                screen.show(Activity::Indexing(None));
                keep_up_to_date(&screen.base, &screen.watch, &own_files, &|upkeep| {
                    screen.report(upkeep);
                });
            };
            if panic::catch_unwind(AssertUnwindSafe(keep)).is_err() {
                screen.show(Activity::None);
                screen.send(warning(BROKE_OFF));
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

// What the screen shows of the index: how far it is, what was left out, what went wrong.

const BROKE_OFF: &str = "the index is no longer kept up to date: that broke off; the diagnostics \
    say why, and a new start takes it up again";

/// What is being done about the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    None,
    /// The step of an update, where there is one.
    Indexing(Option<Progress>),
    Stopped,
}

/// A base, and what is being done about its index.
#[derive(Clone)]
struct IndexState {
    base: Arc<KnowledgeBase>,
    activity: Activity,
}

/// Sends the newest state to the screen. One that is behind misses those between, and none is sent twice,
/// or a screen that nothing happens on would be drawn again and again.
async fn send_newest(
    mut newest: watch::Receiver<Option<IndexState>>,
    updates: &mpsc::Sender<Update>,
) {
    let mut last: Option<KnowledgeStatus> = None;
    while newest.changed().await.is_ok() {
        let Some(state) = newest.borrow_and_update().clone() else {
            continue;
        };
        let Ok(status) = task::spawn_blocking(move || state.status()).await else {
            continue;
        };
        if last.as_ref().is_some_and(|last| is_same(last, &status)) {
            continue;
        }
        last = Some(status.clone());
        if updates.send(Update::Knowledge(status)).await.is_err() {
            return;
        }
        sleep(STATUS_EVERY).await;
    }
}

/// Whether a status says what the one before said, at whatever time.
fn is_same(before: &KnowledgeStatus, status: &KnowledgeStatus) -> bool {
    let mut status = status.clone();
    if let (Some(progress), Some(before)) = (&mut status.progress, before.progress) {
        progress.at = before.at;
    }
    status == *before
}

impl IndexState {
    fn new(base: Arc<KnowledgeBase>, activity: Activity) -> Self {
        Self { base, activity }
    }

    /// What the base holds, with the step that is going on.
    fn status(&self) -> KnowledgeStatus {
        let status = self.base.status();
        let (indexing, step) = match self.activity {
            Activity::Indexing(step) => (true, step),
            Activity::None | Activity::Stopped => (false, None),
        };
        let reading = step.filter(|step| step.phase == Phase::Reading && step.total > 0);
        // Of the whole base, so that a pause does not begin to count anew.
        let to_embed = status.to_embed();
        let embedding = (IndexStep::Embedding, to_embed - status.pending, to_embed);
        let (step, done, total) = reading.map_or(embedding, |files| {
            (IndexStep::Reading, files.done, files.total)
        });
        let is_known = reading.is_some() || status.pending > 0;
        let is_stopped = self.activity == Activity::Stopped;
        KnowledgeStatus {
            name: status.name,
            documents: status.documents,
            chunks: status.chunks,
            pending: status.pending,
            languages: status.languages,
            indexing,
            progress: (indexing && is_known).then(|| IndexProgress {
                step,
                done,
                total,
                at: Timestamp::now(),
            }),
            stopped: is_stopped,
            watching: !is_stopped && self.base.has_files(),
        }
    }
}

/// Passes on what happens while an index is kept up to date.
struct ScreenReporter {
    base: Arc<KnowledgeBase>,
    watch: Arc<Watch>,
    shown: watch::Sender<Option<IndexState>>,
    updates: mpsc::Sender<Update>,
    contents: Arc<Contents>,
    /// Files that were left out are named once; 'kb-agent index' lists them any time.
    left_out_notice_sent: AtomicBool,
}

impl ScreenReporter {
    fn report(&self, upkeep: Upkeep) {
        match upkeep {
            Upkeep::Step(step) => self.show(Activity::Indexing(Some(step))),
            Upkeep::Words(report) => {
                if let Some(line) = left_out(&report)
                    && !self.left_out_notice_sent.swap(true, Ordering::Relaxed)
                {
                    self.send(info(line));
                }
                self.show(Activity::Indexing(None));
                self.contents.leave_out(&report.skipped);
                self.contents.may_have_changed();
            }
            Upkeep::Meaning(_) => {}
            // The task that does the work is at it as long as there is some.
            Upkeep::Following if self.base.status().pending > 0 => {
                self.show(Activity::Indexing(None));
                self.contents.may_have_changed();
            }
            // What is found by its meaning, too, may have surer answers.
            Upkeep::Following | Upkeep::Idle => {
                self.show(Activity::None);
                self.contents.may_have_changed();
            }
            Upkeep::Trouble(error) => self.send(warning(error.notice())),
            Upkeep::Notice(message) => self.send(info(message)),
        }
    }

    fn show(&self, activity: Activity) {
        let state = IndexState::new(Arc::clone(&self.base), activity);
        self.shown.send_replace(Some(state));
    }

    /// A screen that is gone needs no more, and who stops this work says so.
    fn send(&self, update: Update) {
        if !self.watch.is_closed() {
            let _ = self.updates.blocking_send(update);
        }
    }
}

/// One line on files that are not in the index, where there are some.
fn left_out(report: &UpdateReport) -> Option<String> {
    let first = report.skipped.first()?;
    let files = match report.skipped.len() {
        1 => "1 file was".to_owned(),
        count => format!("{count} files were"),
    };
    let (path, reason) = (&first.path, &first.reason);
    Some(format!(
        "{files} left out, the first: {path}: {reason}; 'kb-agent index' lists them"
    ))
}
