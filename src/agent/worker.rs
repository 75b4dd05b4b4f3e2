//! The task between the screen and the agent: it owns the conversation and at most one run.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::Turn;
use crate::protocol::{Command, Event};

use super::citations::without_marks;
use super::run::{Agent, Question};

/// Takes commands, one run at a time, until the commands end.
pub struct Worker {
    agent: Agent,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
    history: Vec<Turn>,
}

impl Worker {
    /// A worker with an empty conversation.
    pub fn new(
        agent: Agent,
        commands: mpsc::Receiver<Command>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            agent,
            commands,
            events,
            history: Vec::new(),
        }
    }

    /// Works until the sender of the commands is gone; a run that is still going on is cancelled
    /// then, and its last event is sent before this returns.
    pub async fn run(mut self) {
        while let Some(command) = self.commands.recv().await {
            match command {
                Command::Ask { query, route } => {
                    let question = Question {
                        query,
                        route,
                        history: self.history.clone(),
                    };
                    self.answer(question).await;
                }
                Command::Forget => self.history.clear(),
                // Documents are read beside the agent, by who has the knowledge base.
                Command::Cancel | Command::ReadDocument { .. } => {}
            }
        }
    }

    async fn answer(&mut self, question: Question) {
        let asked = question.query.clone();
        let cancel = CancellationToken::new();
        let run = self
            .agent
            .answer(question, self.events.clone(), cancel.clone());
        tokio::pin!(run);
        let mut listening = true;
        let mut forget = false;
        let answer = loop {
            tokio::select! {
                answer = &mut run => break answer,
                command = self.commands.recv(), if listening => match command {
                    Some(Command::Cancel) => cancel.cancel(),
                    Some(Command::Forget) => forget = true,
                    Some(Command::Ask { .. } | Command::ReadDocument { .. }) => {}
                    None => {
                        listening = false;
                        cancel.cancel();
                    }
                },
            }
        };
        if let Some(answer) = answer {
            self.history.push(Turn {
                question: asked,
                answer: without_marks(&answer.text),
            });
        }
        if forget {
            self.history.clear();
        }
    }
}
