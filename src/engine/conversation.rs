//! The tasks behind the screen: a worker that answers, and the index that catches up meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::agent::Worker;
use crate::kb::{KbError, KnowledgeBase, Phase, Progress, UpdateReport};
use crate::protocol::{Command, KnowledgeStatus, NoticeLevel, Update};

use super::knowledge::update_knowledge;
use super::{Engine, EngineError};

/// Commands that may wait for the worker.
const COMMANDS_IN_FLIGHT: usize = 16;
/// How often a long indexing tells how far it is.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Everything that goes on behind one screen; ends with [`Conversation::end`].
pub struct Conversation {
    worker: tokio::task::JoinHandle<()>,
    indexing: tokio::task::JoinHandle<()>,
    stop_indexing: Arc<AtomicBool>,
    audit: JoinHandle<()>,
    _engine: Engine,
}

impl Conversation {
    /// Starts the tasks. The screen gets the two channels and nothing else.
    pub fn begin(
        engine: Engine,
    ) -> Result<(Self, mpsc::Sender<Command>, mpsc::Receiver<Update>), EngineError> {
        let (commands, received) = mpsc::channel(COMMANDS_IN_FLIGHT);
        let (updates, screen) = mpsc::channel(super::EVENTS_IN_FLIGHT);
        let (events, audit) = engine.audited(updates.clone())?;
        let worker = tokio::spawn(Worker::new(engine.agent.clone(), received, events).run());
        let stop_indexing = Arc::new(AtomicBool::new(false));
        let knowledge = engine.knowledge.clone();
        let stop = stop_indexing.clone();
        let indexing = tokio::task::spawn_blocking(move || index(&knowledge, &updates, &stop));
        let conversation = Self {
            worker,
            indexing,
            stop_indexing,
            audit,
            _engine: engine,
        };
        Ok((conversation, commands, screen))
    }

    /// Waits for every task. The screen's channels must be gone: that cancels a run.
    pub async fn end(self) {
        self.stop_indexing.store(true, Ordering::Relaxed);
        let _ = self.worker.await;
        let _ = self.indexing.await;
        let _ = tokio::task::spawn_blocking(move || self.audit.join()).await;
    }
}

/// Brings the index up to date and tells the screen as it goes.
fn index(knowledge: &KnowledgeBase, updates: &mpsc::Sender<Update>, stop: &AtomicBool) {
    let progress = Telling::new(knowledge, updates);
    progress.tell(true);
    let mut waiting = false;
    let result = loop {
        match update_knowledge(knowledge, &|step| progress.step(step), stop) {
            Err(locked @ KbError::Locked) if !stop.load(Ordering::Relaxed) => {
                // Another process indexes: what it has finished is taken over as it comes.
                if !std::mem::replace(&mut waiting, true) {
                    let _ = updates.blocking_send(warning(&locked));
                }
                if let Err(error) = knowledge.refresh() {
                    break Err(error);
                }
                progress.tell(true);
            }
            result => break result,
        }
    };
    // The last word on the index must arrive, or the screen would say "indexing" for ever.
    let _ = updates.blocking_send(progress.status(false));
    let notice = match result {
        Ok(report) => left_out(&report),
        Err(error) => Some(warning(&error)),
    };
    if let Some(notice) = notice {
        let _ = updates.blocking_send(notice);
    }
}

fn warning(error: &KbError) -> Update {
    Update::Notice {
        level: NoticeLevel::Warning,
        message: error.to_string(),
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

/// Tells the screen how far the index is, not more often than it can be read.
struct Telling<'a> {
    knowledge: &'a KnowledgeBase,
    updates: &'a mpsc::Sender<Update>,
    told: Mutex<(Instant, Option<Phase>)>,
}

impl<'a> Telling<'a> {
    fn new(knowledge: &'a KnowledgeBase, updates: &'a mpsc::Sender<Update>) -> Self {
        Self {
            knowledge,
            updates,
            told: Mutex::new((Instant::now(), None)),
        }
    }

    fn step(&self, step: Progress) {
        let Ok(mut told) = self.told.try_lock() else {
            return;
        };
        if told.0.elapsed() >= PROGRESS_EVERY || told.1 != Some(step.phase) {
            *told = (Instant::now(), Some(step.phase));
            drop(told);
            self.tell(true);
        }
    }

    /// A screen that is behind misses a step and gets the next.
    fn tell(&self, indexing: bool) {
        let _ = self.updates.try_send(self.status(indexing));
    }

    fn status(&self, indexing: bool) -> Update {
        let status = self.knowledge.status();
        Update::Knowledge(KnowledgeStatus {
            name: status.name,
            documents: status.documents,
            chunks: status.chunks,
            pending: status.pending,
            indexing,
        })
    }
}
