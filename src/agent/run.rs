//! One run from question to `run_finished`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    Answer, Complexity, ENTRY, NodeName, Outcome, RouteReason, RoutingLimits, Turn, edge,
};
use crate::protocol::{Event, EventBody, QuestionPlace, RerunRequest, RunId};

use super::context::{Run, RunWaits, Stop, guard, milliseconds};
use super::events::EventWriter;
use super::nodes;
use super::ports::{CallLog, NarrowedTools, Ports, WaitSink};
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

/// What one run is asked for.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The question.
    pub query: String,
    /// The route the user chose, if any.
    pub route: Option<Complexity>,
    /// Whether it is asked by itself, outside any conversation.
    pub single: bool,
    /// Where it stands in the conversation.
    pub place: QuestionPlace,
    /// The conversation before it, oldest first.
    pub history: Vec<Turn>,
    /// Where it is reported what is waited for before the run begins.
    pub waits: Option<WaitSink>,
    /// What it names to be kept within, where that was found out before.
    pub narrowed: Option<NarrowedTools>,
    /// The node at which it begins, with the state of another run.
    pub rerun: Option<Box<RerunRequest>>,
}

impl Agent {
    /// Answers one question. Every step goes to `events`; the last is always `run_finished`.
    ///
    /// `None` when the run was cancelled or failed: the stream says why.
    pub async fn answer(
        &self,
        request: RunRequest,
        events: mpsc::Sender<Event>,
        cancel: CancellationToken,
    ) -> Option<Answer> {
        self.answer_as(RunId::generate(), request, events, cancel)
            .await
    }

    /// [`Agent::answer`] by a run of this id.
    pub(super) async fn answer_as(
        &self,
        id: RunId,
        request: RunRequest,
        events: mpsc::Sender<Event>,
        cancel: CancellationToken,
    ) -> Option<Answer> {
        let started = Instant::now();
        let (place, again) = (request.place, request.rerun);
        let narrowed = match request.narrowed {
            Some(narrowed) => Ok(Some(narrowed)),
            None => self.narrow_tools(&request.query, &cancel).await,
        };
        let (narrowed, naming_error) = match narrowed {
            Ok(narrowed) => (narrowed, None),
            Err(stop) => (None, Some(stop)),
        };
        let limited = narrowed.unwrap_or_else(|| {
            NarrowedTools::unlimited(Arc::clone(&self.ports.tools), request.query.clone())
        });
        let ports = Ports {
            tools: limited.tools,
            ..self.ports.clone()
        };
        let query = limited.query;
        let read = ports.reasoner.read(&query, &request.history);
        let mut run = Run {
            ports: &ports,
            limits: &self.limits,
            cancel,
            events: EventWriter::new(id, events),
            calls: CallLog::default(),
            waits: RunWaits::new(),
            state: AgentState {
                asked: request.query,
                query,
                question: read,
                history: request.history,
                forced: request.route,
                ..AgentState::default()
            },
        };
        // The reasoner may have to ask for its model's name first; why it could not comes below.
        let ready = self.ports.reasoner.ready(request.waits.as_ref());
        let ready = run.guard(ready).await;
        drop(request.waits);
        let identity = self.ports.reasoner.identity();
        run.events
            .emit(EventBody::RunStarted {
                session: self.session.clone(),
                single: request.single,
                place,
                rerun: again.as_ref().map(|again| again.rerun.clone().into()),
                query: run.state.asked.clone(),
                within: limited.within,
                filters: limited.filters,
                mode: identity.mode,
                model: identity.model,
                forced_route: run.state.forced,
                settings: Box::new(RoutingLimits {
                    router: ports
                        .reasoner
                        .effective_thresholds(self.limits.router, &run.state.question),
                    ..self.limits
                }),
                base: self.ports.tools.base(),
            })
            .await;
        for remark in limited.remarks {
            run.events.warn("filter_without_effect", remark).await;
        }
        let ready = ready.and_then(|ready| ready.map_err(|error| Stop::Failed(error.to_string())));
        let stopped = match naming_error.map_or(ready, Err) {
            Ok(()) => run.walk_catching_panics(again.as_deref()).await.err(),
            // No node was entered, and no event names one.
            Err(stop) => Some(stop),
        };
        run.finish(stopped, started).await
    }

    async fn narrow_tools(
        &self,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<NarrowedTools>, Stop> {
        let found = AssertUnwindSafe(self.ports.tools.narrow(question)).catch_unwind();
        let found = guard(cancel, found).await?;
        let found = found.map_err(|_| Stop::broken())?;
        found.map_err(|error| Stop::Failed(error.to_string()))
    }
}

impl Run<'_> {
    /// A panic on the way ends the run as failed, and nothing else.
    async fn walk_catching_panics(&mut self, again: Option<&RerunRequest>) -> Result<(), Stop> {
        let walked = AssertUnwindSafe(self.walk(again)).catch_unwind().await;
        walked.unwrap_or_else(|_| Err(Stop::broken()))
    }

    async fn walk(&mut self, again: Option<&RerunRequest>) -> Result<(), Stop> {
        let mut next = Some(match again {
            Some(again) => self.take_over(&again.rerun, &again.events).await?,
            None => ENTRY,
        });
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

        // It was said to the first calls of a run only.
        self.state.instruction = None;
        let own = std::mem::replace(&mut self.state.usage, usage_before);
        self.state.usage.add(own);
        let by = self.state.decided_by.take();
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
                by,
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
            let reason = self.state.reported_reason(from, reason);
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
}
