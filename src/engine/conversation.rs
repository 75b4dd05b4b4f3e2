//! The tasks behind the screen: a worker that answers, and an index that follows the files.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::contents::Contents;
use super::indexing::Indexing;
use super::model_chooser::ModelChooser;
use super::reading::{self, Receivers};
use super::samples::sample_maker;
use super::sessions::Sessions;
use super::{Engine, EngineError};
use crate::agent::ports::WaitSink;
use crate::agent::{CurrentDialogue, Worker};
use crate::config::Settings;
use crate::domain::Wait;
use crate::protocol::{Command, Timestamp, Update};

/// Commands that may wait for the worker.
const COMMANDS_IN_FLIGHT: usize = 16;
/// How long what goes on behind the screen has for its end.
const IN_ORDER: Duration = Duration::from_millis(1500);

/// What is behind the screen's two channels.
#[derive(Debug)]
pub struct EngineChannels {
    received: mpsc::Receiver<Command>,
    updates: mpsc::Sender<Update>,
}

/// The screen's two channels, and what is behind them. What is asked before a conversation begins
/// there waits.
pub fn channels() -> (
    (mpsc::Sender<Command>, mpsc::Receiver<Update>),
    EngineChannels,
) {
    let (commands, received) = mpsc::channel(COMMANDS_IN_FLIGHT);
    let (updates, screen) = mpsc::channel(super::EVENTS_IN_FLIGHT);
    ((commands, screen), EngineChannels { received, updates })
}

impl EngineChannels {
    /// Reads documents for a screen without a conversation, of the knowledge base that the settings
    /// name and without its index. Ends when the screen is gone.
    pub async fn read_documents(self, settings: Settings) {
        reading::read_documents(settings, self.received, self.updates).await;
    }
}

/// Everything that goes on behind one screen; ends with [`Conversation::end`].
pub struct Conversation {
    tasks: TaskTracker,
    dialogue: CurrentDialogue,
    /// A server may take its time, and is not waited for.
    _choosing: AbortOnDropHandle<()>,
    end: CancellationToken,
    audit: JoinHandle<()>,
    engine: Engine,
}

impl Conversation {
    /// Starts the tasks. The screen gets the two channels and nothing else.
    pub fn begin(
        mut engine: Engine,
    ) -> Result<(Self, mpsc::Sender<Command>, mpsc::Receiver<Update>), EngineError> {
        // Servers on this machine are for the screen alone, which lists their models.
        engine.local = None;
        let ((commands, updates), ends) = channels();
        Ok((Self::start(ends, engine)?, commands, updates))
    }

    /// Starts the tasks behind a screen that is shown already.
    pub fn start(ends: EngineChannels, mut engine: Engine) -> Result<Self, EngineError> {
        let EngineChannels { received, updates } = ends;
        let (events, audit) = engine.audited(updates.clone())?;
        let tasks = TaskTracker::new();
        let (questions, asked) = mpsc::channel(COMMANDS_IN_FLIGHT);
        let (session_tasks, to_do) = mpsc::channel(COMMANDS_IN_FLIGHT);
        let (index, asked_of_index) = mpsc::channel(COMMANDS_IN_FLIGHT);
        let (models, asked_of_models) = mpsc::channel(COMMANDS_IN_FLIGHT);
        let is_asked = CancellationToken::new();
        let (sink, waits) = WaitSink::new();
        let worker = Worker::new(engine.agent.clone(), asked, events, sink);
        let to = Receivers {
            agent: questions,
            is_asked: is_asked.clone(),
            sessions: session_tasks,
            index,
            log: engine.audit_log.path.clone(),
            config_dir: engine.config_dir.clone(),
            tools: engine.agent.ports.tools.clone(),
            models,
        };
        let endpoint = engine.thinking.endpoint.clone();
        let chooser = ModelChooser::new(endpoint, engine.local.take(), worker.reasoner());
        let choosing = tokio::spawn(chooser.run(asked_of_models, updates.clone()));
        let reading = reading::dispatch(received, to, updates.clone(), engine.knowledge.clone());
        tasks.spawn(reading);
        tasks.spawn(forward_waits(waits, updates.clone()));
        let dialogue = worker.dialogue();
        if let Some(said_before) = engine.said_before.take() {
            *dialogue.lock() = said_before;
        }
        tasks.spawn(worker.run());
        let sessions = Sessions {
            log: engine.audit_log.path.clone(),
            exports: engine.exports.clone(),
            live: engine.live.clone(),
            dialogue: dialogue.clone(),
            knowledge: engine.knowledge.clone(),
            updates: updates.clone(),
        };
        tasks.spawn_blocking(move || sessions.run(to_do));
        let samples = (!engine.profile.is_demo).then(|| {
            let (base, limits) = (engine.knowledge.clone(), engine.agent.limits);
            sample_maker(Handle::current(), base, limits)
        });
        let contents = Contents {
            base: engine.knowledge.clone(),
            adding: engine.adding.clone(),
            updates: updates.clone(),
            samples,
            is_asked,
            left_out: watch::Sender::default(),
        };
        let indexing = Indexing {
            base: engine.knowledge.clone(),
            adding: engine.adding.clone(),
            updates,
            own_files: engine.own_files.clone(),
            contents: Arc::new(contents),
        };
        let end = CancellationToken::new();
        tasks.spawn(indexing.run(asked_of_index, end.clone()));
        tasks.close();
        Ok(Self {
            tasks,
            dialogue,
            _choosing: AbortOnDropHandle::new(choosing),
            end,
            audit,
            engine,
        })
    }

    /// All folders and files that are searched, where some were added to those that the settings
    /// name; else none.
    pub fn sources(&self) -> Vec<PathBuf> {
        let engine = &self.engine;
        engine.adding.all_sources(&engine.knowledge.get())
    }

    /// Ends every task; the screen's channels must be gone, which cancels a run. Waits for their
    /// end, but not for one that does not come: a folder that does not answer, or a disk, holds up
    /// who looks into it for as long as it likes. Says which conversation went on at the end.
    pub async fn end(self) -> String {
        self.end.cancel();
        let audit = self.audit;
        let in_order = async {
            // The run's last event is what this waits for, before anything else.
            let _ = tokio::task::spawn_blocking(move || audit.join()).await;
            self.tasks.wait().await;
            self.engine.end().await;
        };
        if tokio::time::timeout(IN_ORDER, in_order).await.is_err() {
            tracing::warn!("left behind at the end: work that did not stop in time");
        }
        self.dialogue.lock().session().to_owned()
    }
}

/// What runs wait for that have not begun.
async fn forward_waits(mut waits: mpsc::Receiver<Wait>, updates: mpsc::Sender<Update>) {
    while let Some(wait) = waits.recv().await {
        let at = Timestamp::now();
        let _ = updates.send(Update::Starting { wait, at }).await;
    }
}
