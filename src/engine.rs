//! The composition root: settings in, ports built, tasks owned.
//!
//! The only room that knows every part. It hands each part what that part needs and nothing more,
//! so that the agent can be driven without a disk and the screen without an agent.

mod adding;
mod contents;
mod conversation;
pub mod doctor;
mod error;
mod indexing;
mod knowledge;
mod local_servers;
mod model_chooser;
mod models;
mod opening;
mod reading;
mod samples;
mod sessions;
mod steps;
mod updates;
mod upkeep;
mod why;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use adding::{Adding, CurrentBase};
use local_servers::LocalServers;
use models::ThinkingEngine;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::agent::ports::{Identity, WaitSink};
use crate::agent::{Agent, Dialogue};
use crate::audit::{AuditLog, LogSettings, Mask, Session, SessionNotes};
use crate::domain::{Answer, Outcome, Wait};
use crate::kb::KnowledgeBase;
use crate::protocol::{Event, EventBody, JobModels, RecordedSession, Update};
use crate::telemetry::TraceSender;
use crate::text::OrTrouble;

pub use crate::agent::RunRequest;
pub use crate::agent::ports::blocking;
pub use conversation::{Conversation, EngineChannels, channels};
pub use error::EngineError;
pub use knowledge::{
    SAMPLES, document_reader, embed_pending, embed_some, open_knowledge, open_knowledge_at,
    open_knowledge_for_rebuild, open_local_knowledge, recognition, store_administration,
    update_words,
};
pub use opening::{Opening, Profile, mask_of, prepare_data_folder, trace_sender};
pub use sessions::Resume;
pub use steps::{Routed, StepRunner};
pub use upkeep::{Upkeep, keep_up_to_date, own_files};
pub use why::{AskedPassage, explain_passage};

/// Events that may wait between the agent, the audit log and a reader.
const EVENTS_IN_FLIGHT: usize = 256;
/// How long the end of the program waits for a collector.
const LAST_TRACES: Duration = Duration::from_secs(1);

/// Everything that answers questions over one knowledge base.
pub struct Engine {
    agent: Agent,
    thinking: ThinkingEngine,
    /// What is looked for on this machine, where no endpoint is set.
    local: Option<Arc<LocalServers>>,
    knowledge: CurrentBase,
    adding: Arc<Adding>,
    profile: Profile,
    audit_log: LogSettings,
    /// The folder of the user's own settings.
    config_dir: Option<PathBuf>,
    mask: Mask,
    notices: Vec<String>,
    /// Where recorded conversations are exported to.
    exports: PathBuf,
    /// What the program itself writes, which is no change of the files.
    own_files: Vec<PathBuf>,
    /// The sign for other processes that this conversation is open here.
    live: Arc<Mutex<Session>>,
    /// What was said before in the conversation that goes on.
    said_before: Option<Dialogue>,
    /// Sends runs to a collector, where one is set.
    traces: Option<TraceSender>,
}

impl Engine {
    /// Goes on with a recorded conversation: questions are answered as its next ones, under its id.
    pub async fn resume(&mut self, which: Resume) -> Result<RecordedSession, EngineError> {
        let log = self.audit_log.path.clone();
        let knowledge = self.knowledge.get();
        let resume = move || sessions::resume(&log, &which, &knowledge);
        let resumed = tokio::task::spawn_blocking(resume).await;
        let resumed = resumed.trouble("reading the audit log broke off")??;
        resumed.recorded.id.clone_into(&mut self.agent.session);
        *self.live.lock() = resumed.session;
        self.said_before = Some(resumed.dialogue);
        self.notices.extend(resumed.remarks);
        Ok(resumed.recorded)
    }

    /// Calls the conversation so in lists, until it is renamed.
    pub async fn name_conversation(&self, name: &'static str) {
        let (log, session) = (self.audit_log.path.clone(), self.agent.session.clone());
        let rename = move || SessionNotes::rename(&log, &session, Some(name));
        if let Ok(Err(error)) = tokio::task::spawn_blocking(rename).await {
            tracing::warn!("the conversation is not called {name}: {error}");
        }
    }

    /// Answers one question, from the conversation's beginning (R27). Dropping the future cancels
    /// the run.
    pub async fn answer_query(&self, query: &str) -> Result<Answer, EngineError> {
        let request = RunRequest {
            query: query.to_owned(),
            single: true,
            ..RunRequest::default()
        };
        let mut run = self.stream(request, CancellationToken::new()).await?;
        let mut end = None;
        while let Some(event) = run.next_event().await {
            end = Some(event.body);
        }
        run.answer(end).await
    }

    /// The same, event by event: what the panes draw.
    pub async fn stream(
        &self,
        mut request: RunRequest,
        cancel: CancellationToken,
    ) -> Result<Running, EngineError> {
        // What it names to be kept within must be there.
        let narrowing = self.agent.ports.tools.narrow(&request.query);
        let finished = cancel.run_until_cancelled(narrowing).await;
        request.narrowed = finished.ok_or(EngineError::Cancelled)??;
        let (readers, updates) = mpsc::channel(EVENTS_IN_FLIGHT);
        let (events, audit) = self.audited(readers)?;
        let (sink, waits) = WaitSink::new();
        request.waits = Some(sink);
        let agent = self.agent.clone();
        let dropped = cancel.child_token();
        let cancel = dropped.clone();
        let task = tokio::spawn(async move { agent.answer(request, events, cancel).await });
        Ok(Running {
            _cancel: dropped.drop_guard(),
            waits,
            updates,
            task,
            audit,
            complaint: None,
        })
    }

    /// The event as it may leave the program: prompts and replies only where the settings want them,
    /// and then masked.
    pub fn published(&self, mut event: Event) -> Event {
        if !self.audit_log.prompts {
            event.drop_prompts();
        } else if let EventBody::ModelCalled { prompt, reply, .. } = &mut event.body {
            for text in [prompt, reply].into_iter().flatten() {
                *text = self.mask.mask_text(text).into_owned();
            }
        }
        event
    }

    /// Waits a moment for what is still being sent of runs that have ended.
    pub async fn end(&self) {
        if let Some(traces) = &self.traces {
            traces.end(LAST_TRACES).await;
        }
    }

    /// What is searched.
    pub fn knowledge(&self) -> Arc<KnowledgeBase> {
        self.knowledge.get()
    }

    /// Which engine thinks, with which model.
    pub fn identity(&self) -> Identity {
        self.agent.ports.reasoner.identity()
    }

    /// Which model does which job.
    pub fn models(&self) -> JobModels {
        self.thinking.models()
    }

    /// What the person should know before the first question, one line each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// A writer whose events pass through the audit log on their way to `readers`.
    fn audited(
        &self,
        readers: mpsc::Sender<Update>,
    ) -> Result<(mpsc::Sender<Event>, JoinHandle<()>), EngineError> {
        let mut log = AuditLog::open(&self.audit_log, self.mask.clone())?;
        if let Some(traces) = &self.traces {
            let mut buffer = traces.run_buffer();
            log.copy_to(move |event| buffer.take(event));
        }
        let (events, written) = mpsc::channel(EVENTS_IN_FLIGHT);
        Ok((events, log.spawn(written, readers)?))
    }
}

/// A run that is going on. Dropping it cancels the run, which still ends as every run does.
pub struct Running {
    _cancel: DropGuard,
    waits: mpsc::Receiver<Wait>,
    updates: mpsc::Receiver<Update>,
    task: tokio::task::JoinHandle<Option<Answer>>,
    audit: JoinHandle<()>,
    complaint: Option<String>,
}

impl Running {
    /// What is waited for before the run begins; `None` once it has begun.
    pub async fn next_wait(&mut self) -> Option<Wait> {
        self.waits.recv().await
    }

    /// The next event, already in the audit log; `None` after `run_finished`.
    pub async fn next_event(&mut self) -> Option<Event> {
        loop {
            match self.updates.recv().await? {
                Update::Event(event) => return Some(event),
                Update::Notice { message, .. } => self.complaint = Some(message),
                // All else is for a screen.
                _ => {}
            }
        }
    }

    /// What went wrong beside the run, such as an audit log that cannot be written.
    pub fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// The answer, once the events have ended; `end` is the last of them.
    pub async fn answer(self, end: Option<EventBody>) -> Result<Answer, EngineError> {
        let answer = self.task.await.trouble("the run broke off")?;
        // The events have ended, so the thread is at its end too.
        let _ = self.audit.join();
        let why = match (answer, end) {
            (Some(answer), _) => return Ok(answer),
            (None, Some(EventBody::RunFinished { outcome, error, .. })) => {
                if outcome == Outcome::Cancelled {
                    return Err(EngineError::Cancelled);
                }
                error
            }
            (None, _) => None,
        };
        let silent = || "the run ended without a word".to_owned();
        Err(why.unwrap_or_else(silent).into())
    }
}
