//! The task between the screen and the agent: it answers in the conversation that goes on, at most
//! one run at a time.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::protocol::{Command, Event, RunId};

use super::dialogue::{CurrentDialogue, Dialogue};
use super::run::{Agent, Question};

/// Takes commands, one run at a time, until the commands end.
pub struct Worker {
    agent: Agent,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
    dialogue: CurrentDialogue,
}

impl Worker {
    /// A worker with an empty conversation.
    pub fn new(
        agent: Agent,
        commands: mpsc::Receiver<Command>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let dialogue = CurrentDialogue::default();
        dialogue.replace(Dialogue::of(&agent.session));
        Self {
            agent,
            commands,
            events,
            dialogue,
        }
    }

    /// The conversation in which it answers; another one holds from the next question on.
    pub fn dialogue(&self) -> CurrentDialogue {
        self.dialogue.clone()
    }

    /// Works until the sender of the commands is gone; a run that is still going on is cancelled
    /// then, and its last event is sent before this returns.
    pub async fn run(mut self) {
        while let Some(command) = self.commands.recv().await {
            match command {
                Command::Ask {
                    query,
                    route,
                    retry_of,
                } => {
                    let history = self.dialogue.lock().before(retry_of.as_ref());
                    let question = Question {
                        query,
                        route,
                        retry_of,
                        history,
                    };
                    self.answer(question).await;
                }
                Command::Forget => self.dialogue.lock().clear(),
                // Documents and logs are read beside the agent.
                Command::Cancel | Command::ReadDocument { .. } | Command::Session(_) => {}
            }
        }
    }

    async fn answer(&mut self, question: Question) {
        let (asked, retry_of) = (question.query.clone(), question.retry_of.clone());
        let cancel = CancellationToken::new();
        let id = RunId::generate();
        self.dialogue
            .lock()
            .session()
            .clone_into(&mut self.agent.session);
        let events = self.events.clone();
        let run = self
            .agent
            .answer_as(id.clone(), question, events, cancel.clone());
        tokio::pin!(run);
        let mut listening = true;
        let mut forget = false;
        let answer = loop {
            tokio::select! {
                answer = &mut run => break answer,
                command = self.commands.recv(), if listening => match command {
                    Some(Command::Cancel) => cancel.cancel(),
                    Some(Command::Forget) => forget = true,
                    Some(
                        Command::Ask { .. } | Command::ReadDocument { .. } | Command::Session(_),
                    ) => {}
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
            if let Some(answer) = answer {
                dialogue.remember(id, retry_of, asked, &answer.text);
            }
            if forget {
                dialogue.clear();
            }
        }
    }
}
