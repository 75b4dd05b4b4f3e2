//! The tasks behind the screen: a worker that answers, and an index that follows the files.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::agent::{CurrentDialogue, Worker};
use crate::kb::{KbError, KnowledgeBase, Phase, Progress, UpdateReport, Watch};
use crate::protocol::{Command, KnowledgeStatus, NoticeLevel, Update};

use super::reading::{self, Receivers};
use super::sessions::Sessions;
use super::upkeep::{Upkeep, keep_up_to_date};
use super::{Engine, EngineError};

/// Commands that may wait for the worker.
const COMMANDS_IN_FLIGHT: usize = 16;
/// How long what goes on behind the screen has for its end.
const IN_ORDER: Duration = Duration::from_millis(1500);
/// How often a long indexing tells how far it is.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Everything that goes on behind one screen; ends with [`Conversation::end`].
pub struct Conversation {
    reading: tokio::task::JoinHandle<()>,
    worker: tokio::task::JoinHandle<()>,
    sessions: tokio::task::JoinHandle<()>,
    dialogue: CurrentDialogue,
    upkeep: tokio::task::JoinHandle<()>,
    watch: Arc<Watch>,
    audit: JoinHandle<()>,
    _engine: Engine,
}

impl Conversation {
    /// Starts the tasks. The screen gets the two channels and nothing else.
    pub fn begin(
        mut engine: Engine,
    ) -> Result<(Self, mpsc::Sender<Command>, mpsc::Receiver<Update>), EngineError> {
        let (commands, received) = mpsc::channel(COMMANDS_IN_FLIGHT);
        let (updates, screen) = mpsc::channel(super::EVENTS_IN_FLIGHT);
        let (events, audit) = engine.audited(updates.clone())?;
        let (questions, asked) = mpsc::channel(COMMANDS_IN_FLIGHT);
        let knowledge = engine.knowledge.clone();
        let (tasks, to_do) = mpsc::channel(COMMANDS_IN_FLIGHT);
        let to = Receivers {
            agent: questions,
            sessions: tasks,
        };
        let reading = reading::dispatch(received, to, updates.clone(), knowledge);
        let reading = tokio::spawn(reading);
        let worker = Worker::new(engine.agent.clone(), asked, events);
        let dialogue = worker.dialogue();
        if let Some(said_before) = engine.said_before.take() {
            dialogue.replace(said_before);
        }
        let worker = tokio::spawn(worker.run());
        let sessions = Sessions {
            log: engine.audit_log.path.clone(),
            exports: engine.exports.clone(),
            live: engine.live.clone(),
            dialogue: dialogue.clone(),
            endpoint_file: engine.endpoint_file.clone(),
            updates: updates.clone(),
        };
        let sessions = tokio::task::spawn_blocking(move || sessions.run(to_do));
        let watch = Arc::new(Watch::new());
        let knowledge = engine.knowledge.clone();
        let (watched, apart) = (watch.clone(), engine.own_files.clone());
        let upkeep = tokio::task::spawn_blocking(move || {
            let telling = Telling::new(&knowledge, &updates);
            telling.progress();
            let keep = || {
                keep_up_to_date(&knowledge, &watched, &apart, &|told| telling.tell(told));
            };
            if panic::catch_unwind(AssertUnwindSafe(keep)).is_err() {
                telling.settle(false);
                telling.send(broke_off());
            }
        });
        let conversation = Self {
            reading,
            worker,
            sessions,
            dialogue,
            upkeep,
            watch,
            audit,
            _engine: engine,
        };
        Ok((conversation, commands, screen))
    }

    /// Ends every task; the screen's channels must be gone, which cancels a run. Waits for their
    /// end, but not for one that does not come: a folder that does not answer, or a disk, holds up
    /// who looks into it for as long as it likes. Says which conversation went on at the end.
    pub async fn end(self) -> String {
        self.watch.close();
        let audit = self.audit;
        let in_order = async {
            let _ = self.reading.await;
            let _ = self.worker.await;
            // The run's last event is what this waits for, before anything else.
            let _ = tokio::task::spawn_blocking(move || audit.join()).await;
            let _ = self.sessions.await;
            let _ = self.upkeep.await;
        };
        if tokio::time::timeout(IN_ORDER, in_order).await.is_err() {
            tracing::warn!("left behind at the end: work that did not stop in time");
        }
        self.dialogue.lock().session().to_owned()
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

/// Tells the screen how far the index is, not more often than it can be read.
struct Telling<'a> {
    knowledge: &'a KnowledgeBase,
    updates: &'a mpsc::Sender<Update>,
    told: Mutex<Told>,
}

struct Told {
    at: Instant,
    phase: Option<Phase>,
    status: Option<KnowledgeStatus>,
    /// What was left out is told once; 'kb-agent index' lists it any time.
    gaps: bool,
}

impl<'a> Telling<'a> {
    fn new(knowledge: &'a KnowledgeBase, updates: &'a mpsc::Sender<Update>) -> Self {
        Self {
            knowledge,
            updates,
            told: Mutex::new(Told {
                at: Instant::now(),
                phase: None,
                status: None,
                gaps: false,
            }),
        }
    }

    fn tell(&self, upkeep: Upkeep) {
        match upkeep {
            Upkeep::Step(step) => self.step(step),
            Upkeep::Words(report) => {
                let first = !std::mem::replace(&mut self.told().gaps, true);
                if let Some(notice) = left_out(&report).filter(|_| first) {
                    self.send(notice);
                }
                self.progress();
            }
            Upkeep::Meaning(_) => {}
            // Whoever does the work is at it as long as there is some.
            Upkeep::Following => self.settle(self.knowledge.status().pending > 0),
            Upkeep::Idle => self.settle(false),
            Upkeep::Trouble(error) => self.send(warning(&error)),
            Upkeep::Notice(message) => self.send(Update::Notice {
                level: NoticeLevel::Info,
                message,
            }),
        }
    }

    fn step(&self, step: Progress) {
        let mut told = self.told();
        if told.at.elapsed() >= PROGRESS_EVERY || told.phase != Some(step.phase) {
            told.at = Instant::now();
            told.phase = Some(step.phase);
            drop(told);
            self.progress();
        }
    }

    /// A screen that is behind misses a step and gets the next.
    fn progress(&self) {
        let status = self.status(true);
        self.told().status = Some(status.clone());
        let _ = self.updates.try_send(Update::Knowledge(status));
    }

    /// The last word on the index must arrive, or the screen would say "indexing" for ever. It is
    /// not repeated, or a screen that nothing happens on would be drawn again and again.
    fn settle(&self, indexing: bool) {
        let status = self.status(indexing);
        if self.told().status.replace(status.clone()).as_ref() != Some(&status) {
            self.send(Update::Knowledge(status));
        }
    }

    /// A screen that is gone hears no more.
    fn send(&self, update: Update) {
        let _ = self.updates.blocking_send(update);
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self, indexing: bool) -> KnowledgeStatus {
        let status = self.knowledge.status();
        KnowledgeStatus {
            name: status.name,
            documents: status.documents,
            chunks: status.chunks,
            pending: status.pending,
            indexing,
            watching: true,
        }
    }
}
