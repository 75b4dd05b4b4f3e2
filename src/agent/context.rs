//! A run as the nodes see it: the ports, the events, the state, and why it may end early.

use std::future::Future;
use std::time::Instant;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{DecidedBy, NodeName, PathType, RoutingLimits, Usage, Wait};
use crate::protocol::EventBody;

use super::events::EventWriter;
use super::ports::{CallLog, CallOrigin, ModelCall, Ports, ReasonerError, WaitSink};
use super::state::AgentState;

/// Why a run ends before its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// The user stopped it.
    Cancelled,
    /// Something broke; one line.
    Failed(String),
}

impl Stop {
    /// The stop after a node or a tool panicked.
    pub(super) fn broken() -> Self {
        let line = "the run broke off, which is a fault of kb-agent; the diagnostics say where";
        Self::Failed(line.to_owned())
    }
}

/// A run that is going on: what the nodes work with.
pub(super) struct Run<'a> {
    pub(super) ports: &'a Ports,
    pub(super) limits: &'a RoutingLimits,
    pub(super) cancel: CancellationToken,
    pub(super) events: EventWriter,
    pub(super) calls: CallLog,
    pub(super) waits: RunWaits,
    pub(super) state: AgentState,
}

/// What the calls of a run wait for, one node after the other: no call may keep the sink when it is
/// over, or what it reports then counts for the next node.
pub(super) struct RunWaits {
    pub(super) sink: WaitSink,
    /// Read by the node that has made the call, which borrows from the run meanwhile.
    pub(super) received: tokio::sync::Mutex<mpsc::Receiver<Wait>>,
}

impl RunWaits {
    pub(super) fn new() -> Self {
        let (sink, received) = WaitSink::new();
        Self {
            sink,
            received: received.into(),
        }
    }
}

impl Run<'_> {
    /// Waits for a port, or for the user to stop the run, whichever comes first.
    pub(super) async fn guard<T>(&self, port: impl Future<Output = T>) -> Result<T, Stop> {
        guard(&self.cancel, port).await
    }

    /// The same for a call of the reasoner, which tells meanwhile what it waits for.
    pub(super) async fn guard_call<T>(
        &self,
        node: NodeName,
        call: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        let mut waits = self.waits.received.lock().await;
        let emit = |wait| self.events.emit_if_room(EventBody::Waiting { node, wait });
        let telling = async {
            tokio::pin!(call);
            loop {
                tokio::select! {
                    biased;
                    value = &mut call => break value,
                    Some(wait) = waits.recv() => emit(wait),
                }
            }
        };
        let value = self.guard(telling).await;
        while let Ok(wait) = waits.try_recv() {
            emit(wait);
        }
        value
    }

    /// Counts a call that was begun and came to nothing, with the tokens that are known of it, and
    /// stops the run.
    fn lost_call(&mut self, stop: Stop, spent: Usage) -> Stop {
        self.state.usage.add(Usage { calls: 1, ..spent });
        stop
    }

    /// Takes the result of a reasoning call; one that is cut off or fails is counted all the same.
    pub(super) async fn settle<T>(
        &mut self,
        node: NodeName,
        called: Result<Result<T, ReasonerError>, Stop>,
    ) -> Result<T, Stop> {
        let mut spent = Usage::default();
        for call in self.calls.take() {
            spent.add(Usage {
                prompt_tokens: call.prompt_tokens,
                completion_tokens: call.completion_tokens,
                estimated: call.prompt_tokens.is_some(),
                ..Usage::default()
            });
            let number = self.state.model_calls;
            self.state.model_calls += 1;
            self.events.emit(model_called(node, number, call)).await;
        }
        match called {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(self.lost_call(Stop::Failed(error.to_string()), spent)),
            Err(stop) => Err(self.lost_call(stop, spent)),
        }
    }

    /// Reads the question as it stands where it may name a topic of its own and the documents have a heading or a name
    /// for it: "What about sick pay?"
    pub(super) fn separate_from_conversation(&mut self, spoken_of: Option<&[String]>) {
        let question = &self.state.question;
        let is_unsure = question.continues.as_ref().is_some_and(|it| it.is_unsure);
        let is_named = spoken_of.is_some_and(|topics| topics.contains(&question.subject));
        if is_unsure && is_named {
            self.state.stands_alone = true;
            self.state.question = self.ports.reasoner.read(&self.state.query, &[]);
        }
    }

    /// Parses the rewritten question, where there is one.
    pub(super) fn parse_rewritten_question(&mut self) {
        let plan = self.state.routing_plan.as_ref();
        if let Some(text) = plan.and_then(|plan| plan.rewritten.as_ref()) {
            self.state.question = self.ports.reasoner.read(text, &[]);
        }
    }

    /// Notes who decided in the node at work, and counts the call that the program's own decision leaves out if it made
    /// none.
    pub(super) fn note_decider(&mut self, by: Option<DecidedBy>, usage: Usage) {
        self.state.decided_by = by;
        if usage.calls == 0 {
            self.state.calls_saved += by.map_or(0, DecidedBy::calls_saved);
        }
    }

    /// Counts the calls that a short cut leaves out, and says so.
    pub(super) async fn cut_short(&mut self, path_type: PathType, rule_name: &str) {
        self.state.calls_saved += path_type.calls_saved();
        self.events
            .emit(EventBody::FastPathHit {
                path_type,
                rule_name: rule_name.to_owned(),
                query: self.state.asked.clone(),
            })
            .await;
    }

    /// Who is asking, for headers and logs.
    pub(super) fn origin(&self, node: NodeName) -> CallOrigin<'_> {
        CallOrigin {
            run: self.events.run(),
            node,
            calls: Some(&self.calls),
            waits: Some(&self.waits.sink),
            instruction: self.state.instruction_for(node),
        }
    }
}

fn model_called(node: NodeName, number: u32, call: ModelCall) -> EventBody {
    EventBody::ModelCalled {
        node,
        call: number,
        model: call.model,
        ms: call.ms,
        prompt_tokens: call.prompt_tokens,
        completion_tokens: call.completion_tokens,
        retries: call.retries,
        prompt: Some(call.prompt),
        reply: call.reply,
    }
}

/// Waits for a port, or for the run to be stopped.
pub(super) async fn guard<T>(
    cancel: &CancellationToken,
    port: impl Future<Output = T>,
) -> Result<T, Stop> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Stop::Cancelled),
        value = port => Ok(value),
    }
}

/// Milliseconds since `start`, to the microsecond.
pub(super) fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_micros() as f64 / 1000.0
}
