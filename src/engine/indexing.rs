//! The index behind a screen: kept up to date until the person stops it, and again when asked to.
//!
//! The screen is told how far it is, not more often than that can be read.

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::{self, JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::kb::{KbError, KnowledgeBase, Phase, Progress, UpdateReport, Watch};
use crate::protocol::{
    IndexCommand, IndexProgress, IndexStep, KnowledgeContents, KnowledgeStatus, NoticeLevel,
    Timestamp, Update,
};
use crate::text::one_line;

use super::adding::{Adding, CurrentBase};
use super::contents::Contents;
use super::upkeep::{Upkeep, keep_up_to_date};

/// How often a long indexing tells how far it is.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

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
    /// [`IndexCommand::Resume`].
    pub(super) async fn run(self, mut tasks: mpsc::Receiver<IndexTask>, end: CancellationToken) {
        let mut work = Some(self.begin());
        loop {
            let task = tokio::select! {
                () = end.cancelled() => break,
                task = tasks.recv() => task,
            };
            match task {
                Some(IndexTask::Add(path)) => {
                    if let Some(base) = self.added(&path, &end).await {
                        if let Some(work) = work.take() {
                            work.end().await;
                        }
                        self.base.replace(base);
                        self.contents.look_again();
                        work = Some(self.begin());
                    }
                }
                Some(IndexTask::Steer(IndexCommand::Stop)) => {
                    if let Some(work) = work.take() {
                        work.end().await;
                        let status = status(&self.base.get(), Activity::Stopped, None);
                        let _ = self.updates.send(Update::Knowledge(status)).await;
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

    /// The base with this folder or file; `None` where it is not taken up, which is told.
    async fn added(&self, path: &str, end: &CancellationToken) -> Option<Arc<KnowledgeBase>> {
        let stop = Arc::new(AtomicBool::new(false));
        let (adding, before) = (Arc::clone(&self.adding), self.base.get());
        let (named, stopped) = (path.to_owned(), Arc::clone(&stop));
        let opening = task::spawn_blocking(move || adding.open(&before, &named, &stopped));
        let opened = tokio::select! {
            opened = opening => opened,
            () = end.cancelled() => {
                stop.store(true, Ordering::Relaxed);
                return None;
            }
        };
        let broke_off = |error: JoinError| format!("adding it broke off: {error}");
        let name = one_line(path, 200);
        let (level, message, base) = match opened.map_err(broke_off).flatten() {
            Ok(base) => {
                let message = format!("Added for this session: {name}. /kb lists the sources.");
                (NoticeLevel::Info, message, Some(Arc::new(base)))
            }
            Err(line) => (NoticeLevel::Warning, one_line(&line, 600), None),
        };
        let notice = Update::Notice { level, message };
        let _ = self.updates.send(notice).await;
        base
    }

    fn begin(&self) -> Work {
        let watch = Arc::new(Watch::new());
        let (watched, knowledge) = (Arc::clone(&watch), self.base.get());
        let (updates, own_files) = (self.updates.clone(), self.own_files.clone());
        let contents = Arc::clone(&self.contents);
        let task = task::spawn_blocking(move || {
            let told = ToScreen::new(&knowledge, &updates, &watched, &contents);
            told.progress();
            told.contents();
            let keep = || {
                keep_up_to_date(&knowledge, &watched, &own_files, &|upkeep| {
                    told.tell(upkeep);
                });
            };
            if panic::catch_unwind(AssertUnwindSafe(keep)).is_err() {
                told.last(Activity::None);
                told.send(broke_off());
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

fn broke_off() -> Update {
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
        message: error.meanwhile(),
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    None,
    Indexing,
    Stopped,
}

/// Tells the screen how far the index is.
struct ToScreen<'a> {
    knowledge: &'a KnowledgeBase,
    updates: &'a mpsc::Sender<Update>,
    watch: &'a Watch,
    contents: &'a Contents,
    told: Mutex<Told>,
}

struct Told {
    at: Instant,
    step: Option<Progress>,
    status: Option<KnowledgeStatus>,
    /// What was left out is told once; 'kb-agent index' lists it any time.
    gaps: bool,
}

impl<'a> ToScreen<'a> {
    fn new(
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
            told: Mutex::new(Told {
                at: Instant::now(),
                step: None,
                status: None,
                gaps: false,
            }),
        }
    }

    fn tell(&self, upkeep: Upkeep) {
        match upkeep {
            Upkeep::Step(step) => self.step(step),
            Upkeep::Words(report) => {
                let mut told = self.told();
                told.step = None;
                let first = !std::mem::replace(&mut told.gaps, true);
                drop(told);
                if let Some(notice) = left_out(&report).filter(|_| first) {
                    self.send(notice);
                }
                self.progress();
                self.contents.leave_out(&report.skipped);
                self.contents();
            }
            Upkeep::Meaning(_) => {}
            Upkeep::Following => {
                // Whoever does the work is at it as long as there is some.
                if self.knowledge.status().pending > 0 {
                    self.last(Activity::Indexing);
                } else {
                    self.idle();
                }
                self.contents();
            }
            Upkeep::Idle => self.idle(),
            Upkeep::Trouble(error) => self.send(warning(&error)),
            Upkeep::Notice(message) => self.send(Update::Notice {
                level: NoticeLevel::Info,
                message,
            }),
        }
    }

    fn idle(&self) {
        self.told().step = None;
        self.last(Activity::None);
    }

    /// What the documents are, where they have changed.
    fn contents(&self) {
        match self.contents.changed(self.knowledge) {
            Ok(Some(contents)) => self.send(Update::Contents(contents)),
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(%error, "what the base holds is not known");
                self.send(Update::Contents(KnowledgeContents::default()));
            }
        }
    }

    fn step(&self, step: Progress) {
        let mut told = self.told();
        let is_new = told.step.is_none_or(|before| before.phase != step.phase);
        told.step = Some(step);
        if is_new || told.at.elapsed() >= PROGRESS_EVERY {
            told.at = Instant::now();
            drop(told);
            self.progress();
        }
    }

    /// A screen that is behind misses a step and gets the next.
    fn progress(&self) {
        let status = self.status(Activity::Indexing);
        self.told().status = Some(status.clone());
        let _ = self.updates.try_send(Update::Knowledge(status));
    }

    /// The last word on the index must arrive, or the screen would say "indexing" for ever. It is
    /// not repeated, or a screen that nothing happens on would be drawn again and again.
    fn last(&self, activity: Activity) {
        let status = self.status(activity);
        let before = self.told().status.replace(status.clone());
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

    /// A screen that is gone needs no more, and one that stopped this is told by who stops it.
    fn send(&self, update: Update) {
        if !self.watch.is_closed() {
            let _ = self.updates.blocking_send(update);
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self, activity: Activity) -> KnowledgeStatus {
        let step = self.told().step;
        status(self.knowledge, activity, step)
    }
}

fn status(
    knowledge: &KnowledgeBase,
    activity: Activity,
    step: Option<Progress>,
) -> KnowledgeStatus {
    let status = knowledge.status();
    let indexing = activity == Activity::Indexing;
    let reading = step.filter(|step| step.phase == Phase::Reading && step.total > 0);
    // Of the whole base, so that a pause does not begin to count anew.
    let embedded = status.chunks.saturating_sub(status.pending);
    let embedding = (IndexStep::Embedding, embedded, status.chunks);
    let (step, done, total) = reading.map_or(embedding, |files| {
        (IndexStep::Reading, files.done, files.total)
    });
    let is_known = reading.is_some() || status.pending > 0;
    KnowledgeStatus {
        name: status.name,
        documents: status.documents,
        chunks: status.chunks,
        pending: status.pending,
        indexing,
        progress: (indexing && is_known).then(|| IndexProgress {
            step,
            done,
            total,
            at: Timestamp::now(),
        }),
        stopped: activity == Activity::Stopped,
        watching: activity != Activity::Stopped,
    }
}
