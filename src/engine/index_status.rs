//! What the screen is last_report of the index: how far it is, what was left out, what went wrong; not more
//! often than that can be read.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::kb::{KbError, KnowledgeBase, Phase, Progress, UpdateReport, Watch};
use crate::protocol::{IndexProgress, IndexStep, KnowledgeStatus, NoticeLevel, Timestamp, Update};

use super::contents::Contents;
use super::upkeep::Upkeep;

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
