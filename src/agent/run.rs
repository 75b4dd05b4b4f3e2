//! One run from question to `run_finished`.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    Answer, Complexity, ENTRY, NodeName, Outcome, RouteReason, RoutingLimits, Turn, Usage, Wait,
    edge,
};
use crate::protocol::{Event, EventBody, RunId};

use super::events::EventWriter;
use super::nodes;
use super::ports::{CallLog, CallOrigin, ModelCall, Narrowed, Ports, ReasonerError, WaitSink};
use super::state::AgentState;

/// The five nodes over a reasoner and a toolbox.
#[derive(Clone)]
pub struct Agent {
    /// What it thinks and looks up with.
    pub ports: Ports,
    /// The settings that route.
    pub limits: RoutingLimits,
    /// The conversation its runs belong to, for the audit log.
    pub session: String,
}

/// What to answer.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The question.
    pub query: String,
    /// The route the user chose, if any.
    pub route: Option<Complexity>,
    /// The run whose question this is once more.
    pub retry_of: Option<RunId>,
    /// The conversation before it, oldest first.
    pub history: Vec<Turn>,
    /// Where it is told what is waited for before the run begins.
    pub waits: Option<WaitSink>,
    /// What it names to be kept within, where that was found out before.
    pub narrowed: Option<Narrowed>,
}

impl Agent {
    /// Answers one question. Every step goes to `events`; the last is always `run_finished`.
    ///
    /// `None` when the run was cancelled or failed: the stream says why.
    pub async fn answer(
        &self,
        question: Question,
        events: mpsc::Sender<Event>,
        cancel: CancellationToken,
    ) -> Option<Answer> {
        self.answer_as(RunId::generate(), question, events, cancel)
            .await
    }

    /// [`Agent::answer`] by a run of this id.
    pub(super) async fn answer_as(
        &self,
        id: RunId,
        question: Question,
        events: mpsc::Sender<Event>,
        cancel: CancellationToken,
    ) -> Option<Answer> {
        let started = Instant::now();
        let retry_of = question.retry_of;
        let narrowed = match question.narrowed {
            Some(narrowed) => Ok(Some(narrowed)),
            None => self.narrowed(&question.query, &cancel).await,
        };
        let (narrowed, misnamed) = match narrowed {
            Ok(narrowed) => (narrowed, None),
            Err(stop) => (None, Some(stop)),
        };
        let (ports, within, query) = match narrowed {
            Some(narrowed) => (
                Ports {
                    tools: narrowed.tools,
                    ..self.ports.clone()
                },
                narrowed.within,
                narrowed.query,
            ),
            None => (self.ports.clone(), Vec::new(), question.query.clone()),
        };
        let read = ports.reasoner.read(&query, &question.history);
        let mut run = Run {
            ports: &ports,
            limits: &self.limits,
            cancel,
            events: EventWriter::new(id, events),
            calls: Arc::default(),
            state: AgentState {
                asked: question.query,
                query,
                question: read,
                history: question.history,
                forced: question.route,
                ..AgentState::default()
            },
        };
        // Whoever thinks may have to ask for its name first; why it could not is told below.
        let ready = self.ports.reasoner.ready(question.waits.as_ref());
        let ready = run.guard(ready).await;
        drop(question.waits);
        let identity = self.ports.reasoner.identity();
        run.events
            .emit(EventBody::RunStarted {
                session: self.session.clone(),
                retry_of,
                query: run.state.asked.clone(),
                within,
                mode: identity.mode,
                model: identity.model,
                forced_route: run.state.forced,
                settings: self.limits,
            })
            .await;
        let ready = ready.and_then(|ready| ready.map_err(|error| Stop::Failed(error.to_string())));
        let stopped = match misnamed.map_or(ready, Err) {
            Ok(()) => run.walk_apart().await.err(),
            // No node was entered, and none is told of.
            Err(stop) => Some(stop),
        };
        run.finish(stopped, started).await
    }

    async fn narrowed(
        &self,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<Narrowed>, Stop> {
        let found = AssertUnwindSafe(self.ports.tools.narrowed(question)).catch_unwind();
        let found = guard(cancel, found).await?;
        let found = found.map_err(|_| Stop::broken())?;
        found.map_err(|error| Stop::Failed(error.to_string()))
    }
}

/// Why a run ends before its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// The user stopped it.
    Cancelled,
    /// Something broke; one line.
    Failed(String),
}

impl Stop {
    /// By a panic.
    fn broken() -> Self {
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
    pub(super) calls: Arc<CallLog>,
    pub(super) state: AgentState,
}

impl Run<'_> {
    /// A panic on the way ends the run as failed, and nothing else.
    async fn walk_apart(&mut self) -> Result<(), Stop> {
        let walked = AssertUnwindSafe(self.walk()).catch_unwind().await;
        walked.unwrap_or_else(|_| Err(Stop::broken()))
    }

    async fn walk(&mut self) -> Result<(), Stop> {
        let mut next = Some(ENTRY);
        while let Some(node) = next {
            next = self.step(node).await?;
        }
        Ok(())
    }

    async fn enter(&mut self, node: NodeName) {
        let iteration = self.state.iteration;
        self.state.path.push(node);
        self.events
            .emit(EventBody::NodeEntered { node, iteration })
            .await;
    }

    /// Runs one node and takes the edge that its decision names.
    async fn step(&mut self, node: NodeName) -> Result<Option<NodeName>, Stop> {
        let iteration = self.state.iteration;
        let entered = Instant::now();
        let usage_before = std::mem::take(&mut self.state.usage);
        self.enter(node).await;

        let result = match node {
            NodeName::AnalyzeAndRoute => nodes::analyze_and_route(self).await,
            NodeName::Plan => nodes::plan(self).await,
            NodeName::ToolExec => nodes::tool_exec(self).await,
            NodeName::GradeEvidence => nodes::grade_evidence(self).await,
            NodeName::Synthesize => nodes::synthesize(self).await,
        };

        let own = std::mem::replace(&mut self.state.usage, usage_before);
        self.state.usage.add(own);
        let decision = result?;
        self.events
            .emit(EventBody::NodeFinished {
                node,
                iteration,
                ms: milliseconds(entered),
                reasoning_calls: own.calls,
                prompt_tokens: own.prompt_tokens,
                completion_tokens: own.completion_tokens,
                spent: own.into(),
            })
            .await;
        self.follow(node, decision).await
    }

    async fn follow(
        &mut self,
        from: NodeName,
        decision: Option<RouteReason>,
    ) -> Result<Option<NodeName>, Stop> {
        let Some(edge) = edge(from, decision) else {
            return Err(Stop::Failed(format!(
                "the graph has no edge from {from} for {decision:?}"
            )));
        };
        if let (Some(reason), Some(to)) = (decision, edge.to) {
            let reason = self.state.told_reason(from, reason);
            self.events
                .emit(EventBody::RouteDecided { from, to, reason })
                .await;
        }
        Ok(edge.to)
    }

    async fn finish(mut self, stopped: Option<Stop>, started: Instant) -> Option<Answer> {
        let (outcome, error) = match (stopped, &self.state.answer) {
            (Some(Stop::Cancelled), _) => (Outcome::Cancelled, None),
            (Some(Stop::Failed(line)), _) => (Outcome::Failed, Some(line)),
            (None, Some(answer)) => (answer.outcome, None),
            (None, None) => (
                Outcome::Failed,
                Some("the run ended without an answer".to_owned()),
            ),
        };
        let state = self.state;
        self.events
            .emit(EventBody::RunFinished {
                outcome,
                complexity: state.routing_plan.map(|plan| plan.complexity),
                path: state.path,
                iterations: state.iteration,
                reasoning_calls: state.usage.calls,
                calls_saved: state.calls_saved,
                prompt_tokens: state.usage.prompt_tokens.unwrap_or(0),
                completion_tokens: state.usage.completion_tokens.unwrap_or(0),
                spent: state.usage.into(),
                ms: milliseconds(started),
                error,
            })
            .await;
        state.answer.filter(|answer| answer.outcome == outcome)
    }

    /// Waits for a port, or for the user to stop the run, whichever comes first.
    pub(super) async fn guard<T>(&self, port: impl Future<Output = T>) -> Result<T, Stop> {
        guard(&self.cancel, port).await
    }

    /// The same for a call of the reasoner, which tells meanwhile what it waits for.
    pub(super) async fn attend<T>(
        &self,
        node: NodeName,
        waits: &mut mpsc::Receiver<Wait>,
        call: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        let tell = |wait| self.events.emit_if_room(EventBody::Waiting { node, wait });
        let attended = async {
            tokio::pin!(call);
            loop {
                tokio::select! {
                    biased;
                    value = &mut call => break value,
                    Some(wait) = waits.recv() => tell(wait),
                }
            }
        };
        let value = self.guard(attended).await;
        while let Ok(wait) = waits.try_recv() {
            tell(wait);
        }
        value
    }

    /// Counts a call that was begun and came to nothing, and stops the run.
    pub(super) fn lost_call(&mut self, stop: Stop) -> Stop {
        self.state.usage.add(Usage::ONE_CALL);
        stop
    }

    /// Takes the result of a reasoning call; one that is cut off or fails is counted all the same.
    pub(super) async fn settle<T>(
        &mut self,
        node: NodeName,
        called: Result<Result<T, ReasonerError>, Stop>,
    ) -> Result<T, Stop> {
        for call in self.calls.take() {
            let number = self.state.model_calls;
            self.state.model_calls += 1;
            self.events.emit(model_called(node, number, call)).await;
        }
        match called {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(self.lost_call(Stop::Failed(error.to_string()))),
            Err(stop) => Err(self.lost_call(stop)),
        }
    }

    /// Who is asking, for headers and logs.
    pub(super) fn origin<'a>(&'a self, node: NodeName, waits: &'a WaitSink) -> CallOrigin<'a> {
        CallOrigin {
            run: self.events.run(),
            node,
            calls: Some(&self.calls),
            waits: Some(waits),
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
