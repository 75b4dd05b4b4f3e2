//! The task between the screen and the agent: it answers in the conversation that goes on, at most
//! one question at a time. A race answers it by two runs.

use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{Complexity, without_limits};
use crate::protocol::{Command, Event, QuestionPlace, RunId};

use super::current_reasoner::CurrentReasoner;
use super::dialogue::{CurrentDialogue, Dialogue};
use super::ports::{NarrowedTools, WaitSink};
use super::run::{Agent, RunRequest};

/// A command, and the documents that its question is kept within.
#[derive(Debug, Clone)]
pub struct ScopedCommand {
    /// The command.
    pub command: Command,
    /// What its question names to be kept within; without it the runs find that out.
    pub narrowed: Option<NarrowedTools>,
}

impl From<Command> for ScopedCommand {
    fn from(command: Command) -> Self {
        Self {
            command,
            narrowed: None,
        }
    }
}

/// Takes commands, one question at a time, until the commands end.
pub struct Worker {
    agent: Agent,
    commands: mpsc::Receiver<ScopedCommand>,
    events: mpsc::Sender<Event>,
    waits: WaitSink,
    dialogue: CurrentDialogue,
    reasoner: CurrentReasoner,
}

impl Worker {
    /// A worker with an empty conversation, which tells `waits` what a run waits for that has not
    /// begun.
    pub fn new(
        agent: Agent,
        commands: mpsc::Receiver<ScopedCommand>,
        events: mpsc::Sender<Event>,
        waits: WaitSink,
    ) -> Self {
        let dialogue = Arc::new(Mutex::new(Dialogue::new(&agent.session)));
        Self {
            reasoner: CurrentReasoner::new(agent.ports.reasoner.clone()),
            agent,
            commands,
            events,
            waits,
            dialogue,
        }
    }

    /// The conversation in which it answers; another one holds from the next question on.
    pub fn dialogue(&self) -> CurrentDialogue {
        self.dialogue.clone()
    }

    /// What thinks; another holds from the next question on.
    pub fn reasoner(&self) -> CurrentReasoner {
        self.reasoner.clone()
    }

    /// Works until the sender of the commands is gone; a run that is still going on is cancelled
    /// then, and its last event is sent before this returns.
    pub async fn run(mut self) {
        while let Some(ScopedCommand { command, narrowed }) = self.commands.recv().await {
            match command {
                Command::Ask {
                    query,
                    route,
                    place,
                } => {
                    let run = self.prepare(query, narrowed, route, place);
                    self.answer(vec![run]).await;
                }
                Command::Race { query, place } => {
                    let route = Some(Complexity::Simple);
                    let short = self.prepare(query.clone(), narrowed.clone(), route, place);
                    let again = QuestionPlace::retry_of(short.id.clone());
                    let whole = self.prepare(query, narrowed, Some(Complexity::Complex), again);
                    self.answer(vec![short, whole]).await;
                }
                Command::Rerun(again) => {
                    let (query, route) = (again.query.clone(), again.route);
                    let mut run = self.prepare(query, narrowed, route, again.place.clone());
                    run.request.rerun = Some(again);
                    self.answer(vec![run]).await;
                }
                Command::Forget => self.dialogue.lock().clear(),
                // There is no run to cancel, and all other commands are handled beside the agent.
                _ => {}
            }
        }
    }

    fn prepare(
        &self,
        query: String,
        narrowed: Option<NarrowedTools>,
        route: Option<Complexity>,
        place: QuestionPlace,
    ) -> PreparedRun {
        let id = RunId::generate();
        let mut dialogue = self.dialogue.lock();
        let history = dialogue.turns_before(&place);
        dialogue.begin(&id, &place);
        PreparedRun {
            id,
            request: RunRequest {
                query,
                route,
                single: false,
                place,
                history,
                waits: Some(self.waits.clone()),
                narrowed,
                rerun: None,
            },
        }
    }

    /// Makes the runs, all at the same time; stopping stops them all.
    async fn answer(&mut self, prepared: Vec<PreparedRun>) {
        let cancel = CancellationToken::new();
        self.dialogue
            .lock()
            .session()
            .clone_into(&mut self.agent.session);
        self.agent.ports.reasoner = self.reasoner.get();
        let runs = prepared.into_iter().map(|PreparedRun { id, request }| {
            let asked = without_limits(&request.query);
            let place = request.place.clone();
            let run =
                self.agent
                    .answer_as(id.clone(), request, self.events.clone(), cancel.clone());
            async { (id, place, asked, run.await) }
        });
        let runs = join_all(runs);
        tokio::pin!(runs);
        let mut listening = true;
        let mut forget = false;
        let answers = loop {
            tokio::select! {
                answers = &mut runs => break answers,
                asked = self.commands.recv(), if listening => match asked.map(|asked| asked.command) {
                    Some(Command::Cancel) => cancel.cancel(),
                    Some(Command::Forget) => forget = true,
                    // One question at a time; all other commands are handled beside the agent.
                    Some(_) => {}
                    None => {
                        listening = false;
                        cancel.cancel();
                    }
                },
            }
        };
        let mut dialogue = self.dialogue.lock();
        // Another conversation may go on by now.
        if dialogue.session() == self.agent.session {
            for (id, place, asked, answer) in answers {
                if let Some(answer) = answer {
                    dialogue.remember(id, place, asked, answer.text_without_quotation());
                }
            }
            if forget {
                dialogue.clear();
            }
        }
    }
}

/// A run that is about to begin.
struct PreparedRun {
    id: RunId,
    request: RunRequest,
}
