//! The tasks behind the screen: a worker that answers, and the index that catches up meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::agent::Worker;
use crate::kb::{KnowledgeBase, Phase, Progress};
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
    let tell = |indexing| {
        let status = knowledge.status();
        let _ = updates.try_send(Update::Knowledge(KnowledgeStatus {
            name: status.name,
            documents: status.documents,
            chunks: status.chunks,
            pending: status.pending,
            indexing,
        }));
    };
    tell(true);
    let told = std::sync::Mutex::new((Instant::now(), None::<Phase>));
    let result = update_knowledge(
        knowledge,
        &|progress: Progress| {
            let Ok(mut told) = told.try_lock() else {
                return;
            };
            let due = told.0.elapsed() >= PROGRESS_EVERY || told.1 != Some(progress.phase);
            if due {
                *told = (Instant::now(), Some(progress.phase));
                drop(told);
                tell(progress.phase == Phase::Reading);
            }
        },
        stop,
    );
    tell(false);
    let notice = match result {
        Ok(report) if report.skipped.is_empty() => return,
        Ok(report) => {
            let first = &report.skipped[0];
            Update::Notice {
                level: NoticeLevel::Info,
                message: format!(
                    "{} files were left out, the first: {}: {}; 'kb-agent index' lists them",
                    report.skipped.len(),
                    first.path,
                    first.reason
                ),
            }
        }
        Err(error) => Update::Notice {
            level: NoticeLevel::Warning,
            message: error.to_string(),
        },
    };
    let _ = updates.blocking_send(notice);
}
