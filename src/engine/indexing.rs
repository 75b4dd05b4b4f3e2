//! The index behind a screen: kept up to date until the person stops it, and again when asked to.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::{self, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::adding::{Adding, CurrentBase, ExtendedBase};
use super::contents::Contents;
use super::upkeep::{Upkeep, keep_up_to_date};
use crate::agent::ports::blocking;
use crate::kb::{KbError, KnowledgeBase, Phase, Progress, UpdateReport, Watch};
use crate::protocol::{
    IndexCommand, IndexProgress, IndexStep, KnowledgeStatus, NoticeLevel, Timestamp, Update,
};
use crate::text::one_line;

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
                            self.contents.may_have_changed();
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

// What the screen is last_report of the index: how far it is, what was left out, what went wrong; not more
// often than that can be read.

/// How often a long indexing tells how far it is.
pub(super) const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// It is not kept up to date any more.
pub(super) fn broke_off() -> Update {
    Update::Notice {
        level: NoticeLevel::Warning,
        message: "the index is no longer kept up to date: that broke off; the diagnostics say \
                  why, and a new start takes it up again"
            .to_owned(),
    }
}

fn warning(error: &KbError) -> Update {
    Update::Notice {
        level: NoticeLevel::Warning,
        message: error.notice(),
    }
}

fn left_out(report: &UpdateReport) -> Option<Update> {
    let first = report.skipped.first()?;
    Some(Update::Notice {
        level: NoticeLevel::Info,
        message: format!(
            "{} left out, the first: {}: {}; 'kb-agent index' lists them",
            match report.skipped.len() {
                1 => "1 file was".to_owned(),
                count => format!("{count} files were"),
            },
            first.path,
            first.reason
        ),
    })
}

/// What is being done about the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    None,
    Indexing,
    Stopped,
}

/// Tells the screen how far the index is.
pub(super) struct ScreenReporter<'a> {
    knowledge: &'a KnowledgeBase,
    updates: &'a mpsc::Sender<Update>,
    watch: &'a Watch,
    contents: &'a Contents,
    last_report: Mutex<LastReport>,
}

struct LastReport {
    at: Instant,
    step: Option<Progress>,
    status: Option<KnowledgeStatus>,
    /// What was left out is last_report once; 'kb-agent index' lists it any time.
    missing_texts: bool,
}

impl<'a> ScreenReporter<'a> {
    pub(super) fn new(
        knowledge: &'a KnowledgeBase,
        updates: &'a mpsc::Sender<Update>,
        watch: &'a Watch,
        contents: &'a Contents,
    ) -> Self {
        Self {
            knowledge,
            updates,
            watch,
            contents,
            last_report: Mutex::new(LastReport {
                at: Instant::now(),
                step: None,
                status: None,
                missing_texts: false,
            }),
        }
    }

    pub(super) fn report(&self, upkeep: Upkeep) {
        match upkeep {
            Upkeep::Step(step) => self.step(step),
            Upkeep::Words(report) => {
                let mut last_report = self.last_report();
                last_report.step = None;
                let first = !std::mem::replace(&mut last_report.missing_texts, true);
                drop(last_report);
                if let Some(notice) = left_out(&report).filter(|_| first) {
                    self.send(notice);
                }
                self.progress();
                self.contents.leave_out(&report.skipped);
                self.contents.may_have_changed();
            }
            Upkeep::Meaning(_) => {}
            Upkeep::Following => {
                // The task that does the work is at it as long as there is some.
                if self.knowledge.status().pending > 0 {
                    self.last(Activity::Indexing);
                } else {
                    self.idle();
                }
                self.contents.may_have_changed();
            }
            Upkeep::Idle => {
                self.idle();
                // What is found by its meaning, too, may have surer answers.
                self.contents.may_have_changed();
            }
            Upkeep::Trouble(error) => self.send(warning(&error)),
            Upkeep::Notice(message) => self.send(Update::Notice {
                level: NoticeLevel::Info,
                message,
            }),
        }
    }

    fn idle(&self) {
        self.last_report().step = None;
        self.last(Activity::None);
    }

    fn step(&self, step: Progress) {
        let mut last_report = self.last_report();
        let is_new = last_report
            .step
            .is_none_or(|before| before.phase != step.phase);
        last_report.step = Some(step);
        if is_new || last_report.at.elapsed() >= PROGRESS_EVERY {
            last_report.at = Instant::now();
            drop(last_report);
            self.progress();
        }
    }

    /// A screen that is behind misses a step and gets the next.
    pub(super) fn progress(&self) {
        let status = self.status(Activity::Indexing);
        self.last_report().status = Some(status.clone());
        let _ = self.updates.try_send(Update::Knowledge(status));
    }

    /// The last word on the index must arrive, or the screen would say "indexing" for ever. It is
    /// not repeated, or a screen that nothing happens on would be drawn again and again.
    pub(super) fn last(&self, activity: Activity) {
        let status = self.status(activity);
        let before = self.last_report().status.replace(status.clone());
        let is_known = before.is_some_and(|before| {
            let at = |status: &KnowledgeStatus| status.progress.map(|progress| progress.at);
            let mut now = status.clone();
            if let (Some(progress), Some(at)) = (&mut now.progress, at(&before)) {
                progress.at = at;
            }
            now == before
        });
        if !is_known {
            self.send(Update::Knowledge(status));
        }
    }

    /// A screen that is gone needs no more, and one that stopped this is last_report by who stops it.
    pub(super) fn send(&self, update: Update) {
        if !self.watch.is_closed() {
            let _ = self.updates.blocking_send(update);
        }
    }

    fn last_report(&self) -> MutexGuard<'_, LastReport> {
        self.last_report
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self, activity: Activity) -> KnowledgeStatus {
        let step = self.last_report().step;
        status(self.knowledge, activity, step)
    }
}

/// The status to be last_report, with the step that is going on.
pub(super) fn status(
    knowledge: &KnowledgeBase,
    activity: Activity,
    step: Option<Progress>,
) -> KnowledgeStatus {
    let status = knowledge.status();
    let indexing = activity == Activity::Indexing;
    let reading = step.filter(|step| step.phase == Phase::Reading && step.total > 0);
    // Of the whole base, so that a pause does not begin to count anew.
    let to_embed = status.to_embed();
    let embedding = (IndexStep::Embedding, to_embed - status.pending, to_embed);
    let (step, done, total) = reading.map_or(embedding, |files| {
        (IndexStep::Reading, files.done, files.total)
    });
    let is_known = reading.is_some() || status.pending > 0;
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
        stopped: activity == Activity::Stopped,
        watching: activity != Activity::Stopped && knowledge.has_files(),
    }
}
