//! One run: which nodes, which edges and why, what it cost, what it answered.

use std::ops::Deref;

use crate::domain::{
    AutoApproveRule, Citation, Complexity, Confidence, Cue, DecidedBy, GradedBy, GraderAction,
    KEEP_FROM, NodeName, Outcome, RouteReason, RoutingLimits, RoutingPlan, SentenceSupport,
    ToolCall, Wait, Warnings, edge,
};
use crate::protocol::{
    CostDetails, Event, EventBody, ItemScore, Mode, QuestionPlace, Rerun, RunEnd, RunId, Timestamp,
};
use crate::text::{StreamSanitizer, one_line, sanitize};
use crate::tui::ink::{measure, measure_beside};

use super::EvidenceFold;

/// A run, as far as its events have come.
#[derive(Debug, Clone, Default)]
pub struct RunView {
    /// What the conversation shows of it; its fields are the run's.
    pub exchange: Exchange,
    /// The conversation it belongs to.
    pub session: String,
    /// The settings that routed.
    pub limits: RoutingLimits,
    /// What the analysis came to.
    pub plan: Option<RoutingPlan>,
    /// What decided it, where the engine could tell.
    pub because: Vec<Cue>,
    /// Why a model took its route.
    pub reason: Option<String>,
    /// What the built-in router went by beside a model.
    pub built_in_because: Vec<Cue>,
    /// The route of a model and that of the built-in router beside it, of the first analysis.
    pub two_routes: Option<(Complexity, Complexity)>,
    /// The path as it ran.
    pub visits: Vec<Visit>,
    /// Edges taken.
    pub edges: Vec<TakenEdge>,
    /// Tool calls, in order.
    pub tools: Vec<ToolUse>,
    /// Where those of the last round begin.
    pub round: usize,
    /// What a call of a model waits for, while it does.
    pub waited: Option<PendingCall>,
    /// The last verdict.
    pub grading: Option<Grading>,
    /// Items of evidence.
    pub evidence: EvidenceFold,
    nodes: [NodeView; NodeName::ALL.len()],
    stream: StreamSanitizer,
    /// How long the growing answer is at least when it is laid out anew.
    laid_out_from: usize,
}

/// An answer longer than this is laid out anew when a part of it has come, and not with every piece: each time all
/// of it is read.
const LONG_ANSWER: usize = 64 << 10;
/// Which part that is.
const PART_TO_COME: usize = 16;

impl RunView {
    /// The run that this event begins; `None` when it begins none.
    pub fn begin(event: &Event) -> Option<Self> {
        let EventBody::RunStarted {
            session,
            settings,
            place,
            rerun,
            query,
            within,
            filters,
            mode,
            forced_route,
            ..
        } = &event.body
        else {
            return None;
        };
        let exchange = Exchange {
            id: event.run.clone(),
            place: place.clone(),
            rerun: rerun.clone(),
            query: sanitize(query).into_owned(),
            within: within
                .iter()
                .chain(filters)
                .map(|name| one_line(name, 200))
                .collect(),
            mode: *mode,
            forced: *forced_route,
            started: event.ts,
            ..Exchange::default()
        };
        let mut nodes = [NodeView::default(); NodeName::ALL.len()];
        if let Some(rerun) = rerun {
            for node in &mut nodes[..rerun.from as usize] {
                node.state = NodeState::Skipped("taken over");
            }
        }
        Some(Self {
            exchange,
            session: session.clone(),
            limits: **settings,
            nodes,
            ..Self::default()
        })
    }

    /// Takes the next event of this run.
    pub fn apply(&mut self, event: &Event) {
        self.evidence.apply(&event.body);
        // The pieces of an answer come between two reports of its pace.
        let is_written = |waited: &PendingCall| matches!(waited.wait, Wait::Writing { .. });
        self.waited = match event.body {
            EventBody::AnswerDelta { .. } => self.waited.filter(is_written),
            _ => PendingCall::from_event(event),
        };
        match &event.body {
            EventBody::NodeEntered { node, iteration } => self.enter(*node, *iteration, event.ts),
            EventBody::NodeFinished {
                node,
                ms,
                reasoning_calls,
                prompt_tokens,
                completion_tokens,
                by,
                ..
            } => {
                let decider = &mut self.nodes[*node as usize].by;
                *decider = by.or(*decider);
                let tokens = match (prompt_tokens, completion_tokens) {
                    (None, None) => None,
                    (sent, got) => Some(sent.unwrap_or(0).saturating_add(got.unwrap_or(0))),
                };
                self.leave(*node, *ms, *reasoning_calls, tokens);
            }
            EventBody::RouteDecided { from, to, reason } => self.decide(*from, *to, *reason),
            EventBody::RoutingPlan {
                plan,
                because,
                reason,
                built_in,
                built_in_because,
            } => {
                self.exchange.planned = Some(plan.complexity);
                let two_routes = built_in.map(|built_in| (plan.complexity, built_in));
                self.two_routes = self.two_routes.or(two_routes);
                self.plan = Some(plan.clone());
                self.because.clone_from(because);
                self.reason.clone_from(reason);
                self.built_in_because.clone_from(built_in_because);
            }
            EventBody::ToolCalled { call, by } => self.tools.push(ToolUse {
                call: call.clone(),
                by: *by,
                items: None,
                ms: None,
                error: None,
            }),
            EventBody::ToolFinished {
                call,
                items,
                ms,
                error,
                ..
            } => {
                let mut open = self.tools.iter_mut();
                let open = open.find(|used| used.items.is_none() && used.call == *call);
                if let Some(used) = open {
                    used.items = Some(*items);
                    used.ms = Some(*ms);
                    used.error = error.as_deref().map(|error| one_line(error, 200));
                }
            }
            EventBody::EvidenceGraded {
                scores,
                average,
                action,
                by,
            } => {
                self.grading = Some(Grading::new(scores, *average, *action, *by));
                let graded = self.grading;
                if let Some(visit) = self.last_visit(NodeName::GradeEvidence) {
                    visit.graded = graded;
                }
            }
            EventBody::AnswerDelta { text, .. } => {
                let clean = self.stream.push(text);
                self.grow_answer(&clean);
            }
            EventBody::AnswerFinished { .. } => self.exchange.finish_answer(&event.body),
            EventBody::Warning { code, message } => self.exchange.warnings.add(code, message),
            EventBody::RunFinished { .. } => {
                if let Some(finish) = RunResult::from_body(&event.body) {
                    self.end(event.ts, finish);
                }
            }
            _ => {}
        }
    }

    /// Closes a run whose end will never come.
    pub fn abandon(&mut self, error: &str, now: Timestamp) {
        if self.finish.is_none() {
            self.end(
                now,
                RunResult {
                    outcome: Outcome::Failed,
                    calls: self.calls(),
                    saved: 0,
                    tokens: 0,
                    spent: CostDetails::default(),
                    ms: now.0.saturating_sub(self.started.0) as f64,
                    error: Some(error.to_owned()),
                },
            );
        }
    }

    /// Closes it as `closed` was, whose events are the same.
    pub fn end_as(&mut self, closed: &Exchange) {
        self.exchange.is_recorded = closed.is_recorded;
        if let (None, Some(finish)) = (&self.finish, &closed.finish) {
            let now = Timestamp(self.started.0.saturating_add(finish.ms as u64));
            self.end(now, finish.clone());
        }
    }

    /// What is known of one node.
    pub fn node(&self, name: NodeName) -> NodeView {
        self.nodes[name as usize]
    }

    /// Searches begun, graded or not.
    pub fn rounds(&self) -> u32 {
        let searches = self.visits.iter().map(|visit| visit.node);
        searches.filter(|node| *node == NodeName::ToolExec).count() as u32
    }

    /// Reasoning calls made so far.
    pub fn calls(&self) -> u32 {
        let each = self.nodes.iter().map(|node| node.calls);
        let so_far = || each.fold(0, u32::saturating_add);
        self.finish.as_ref().map_or_else(so_far, |end| end.calls)
    }

    /// Tokens both ways so far.
    pub fn tokens(&self) -> u64 {
        let each = self.nodes.iter().filter_map(|node| node.tokens);
        let so_far = || each.fold(0, u64::saturating_add);
        self.finish.as_ref().map_or_else(so_far, |end| end.tokens)
    }

    /// Milliseconds from the start to the end, or to `now`.
    pub fn elapsed(&self, now: Timestamp) -> f64 {
        match &self.finish {
            Some(finish) => finish.ms,
            None => now.0.saturating_sub(self.started.0) as f64,
        }
    }

    /// The node at work.
    pub fn active(&self) -> Option<NodeName> {
        let mut nodes = NodeName::ALL.into_iter();
        nodes.find(|name| self.node(*name).state == NodeState::Running)
    }

    /// How often the run went along this edge, and why the last time.
    pub fn edges_taken(&self, from: NodeName, to: NodeName) -> Vec<&TakenEdge> {
        let taken = |edge: &&TakenEdge| edge.from == from && edge.to == to;
        self.edges.iter().filter(taken).collect()
    }

    fn enter(&mut self, node: NodeName, iteration: u32, now: Timestamp) {
        if let Some(last) = self.visits.last()
            && edge(last.node, None).is_some_and(|edge| edge.to == Some(node))
        {
            let from = last.node;
            self.take(from, node, None, String::new());
        }
        self.exchange.was_writing |= node == NodeName::Synthesize;
        if node == NodeName::ToolExec {
            self.round = self.tools.len();
        }
        let view = &mut self.nodes[node as usize];
        view.state = NodeState::Running;
        view.visits += 1;
        view.since = Some(now);
        self.visits.push(Visit {
            node,
            iteration,
            ms: None,
            calls: 0,
            graded: None,
            left: None,
        });
    }

    fn leave(&mut self, node: NodeName, ms: f64, calls: u32, tokens: Option<u64>) {
        let view = &mut self.nodes[node as usize];
        view.state = NodeState::Done;
        view.since = None;
        view.ms += ms;
        view.calls = view.calls.saturating_add(calls);
        if let Some(tokens) = tokens {
            view.tokens = Some(view.tokens.unwrap_or(0).saturating_add(tokens));
        }
        if let Some(visit) = self.last_visit(node) {
            visit.ms = Some(ms);
            visit.calls = calls;
        }
    }

    fn last_visit(&mut self, node: NodeName) -> Option<&mut Visit> {
        self.visits.iter_mut().rfind(|visit| visit.node == node)
    }

    fn decide(&mut self, from: NodeName, to: NodeName, reason: RouteReason) {
        let grading = self.grading.filter(|_| from == NodeName::GradeEvidence);
        let why = why(reason, grading.as_ref(), &self.limits);
        if let Some(visit) = self.last_visit(from) {
            visit.left = Some((reason, why.clone()));
        }
        self.take(from, to, Some(reason), why);
        if to == NodeName::Synthesize {
            let because = match from {
                NodeName::AnalyzeAndRoute => "chitchat",
                NodeName::ToolExec => "simple",
                _ => "not needed",
            };
            for node in &mut self.nodes[..NodeName::Synthesize as usize] {
                if node.state == NodeState::Waiting {
                    node.state = NodeState::Skipped(because);
                }
            }
        }
    }

    fn take(&mut self, from: NodeName, to: NodeName, reason: Option<RouteReason>, why: String) {
        let is_it = |edge: &&mut TakenEdge| (edge.from, edge.to, edge.reason) == (from, to, reason);
        if let Some(edge) = self.edges.iter_mut().find(is_it) {
            edge.count += 1;
            edge.why = why;
            return;
        }
        self.edges.push(TakenEdge {
            from,
            to,
            reason,
            why,
            count: 1,
        });
    }

    fn end(&mut self, now: Timestamp, finish: RunResult) {
        let tail = self.stream.finish();
        if let Some(last) = self.visits.last_mut() {
            last.break_off(self.nodes[last.node as usize].since, now);
        }
        for node in &mut self.nodes {
            node.state = match (node.state, finish.outcome) {
                (NodeState::Running, Outcome::Cancelled) => NodeState::Stopped,
                (NodeState::Running, Outcome::Failed) => NodeState::Failed,
                (NodeState::Running, _) => NodeState::Done,
                (NodeState::Waiting, Outcome::Cancelled) => NodeState::Skipped("cancelled"),
                (NodeState::Waiting, Outcome::Failed) => NodeState::Skipped("run failed"),
                (NodeState::Waiting, _) => NodeState::Skipped("not needed"),
                (state, _) => state,
            };
            if let Some(since) = node.since.take() {
                node.ms += now.0.saturating_sub(since.0) as f64;
            }
        }
        // What the stream held back.
        if self.exchange.citations.is_empty() {
            self.exchange.answer.push_str(&tail);
        }
        self.exchange.finish = Some(finish);
        self.exchange.revision += 1;
    }
}

impl RunView {
    fn grow_answer(&mut self, text: &str) {
        let exchange = &mut self.exchange;
        exchange.answer.push_str(text);
        let length = exchange.answer.len();
        if length >= self.laid_out_from {
            exchange.revision += 1;
            let is_long = length > LONG_ANSWER;
            self.laid_out_from = length + if is_long { length / PART_TO_COME } else { 0 };
        }
    }
}

impl Deref for RunView {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.exchange
    }
}

/// A question and what came of it. It is kept of every run; all else can be folded again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exchange {
    /// Id of the run.
    pub id: RunId,
    /// Where its question stands in the conversation.
    pub place: QuestionPlace,
    /// Where it began, if at a node of another run.
    pub rerun: Option<Box<Rerun>>,
    /// The question, clean.
    pub query: String,
    /// What it was kept within, clean: names, then filters.
    pub within: Vec<String>,
    /// Which engine thought.
    pub mode: Mode,
    /// The route the user chose.
    pub forced: Option<Complexity>,
    /// The route that the analysis came to.
    pub planned: Option<Complexity>,
    /// When it began.
    pub started: Timestamp,
    /// The answer as far as it came, clean.
    pub answer: String,
    /// What its marks stand for, clean.
    pub citations: Vec<Citation>,
    /// Which of its sentences a source says, as far as they were looked at; known once it is finished.
    pub support: Vec<SentenceSupport>,
    /// How likely it is right, where that was measured.
    pub confidence: Option<Confidence>,
    /// Warnings so far.
    pub warnings: Warnings,
    /// Whether the answer was begun.
    pub was_writing: bool,
    /// Whether it is read from the log, which holds no answer that was not finished.
    pub is_recorded: bool,
    /// How it ended; `None` while it goes on.
    pub finish: Option<RunResult>,
    /// Grows when the text of the answer changes: wrapped rows are cached by it.
    pub revision: u64,
}

impl Exchange {
    /// The way it goes, once that is known.
    pub fn complexity(&self) -> Option<Complexity> {
        self.forced.or(self.planned)
    }

    /// The first run of its question.
    pub fn first_run(&self) -> &RunId {
        self.place.retry_of.as_ref().unwrap_or(&self.id)
    }

    /// Takes what an `answer_finished` says, clean.
    fn finish_answer(&mut self, body: &EventBody) {
        let EventBody::AnswerFinished {
            text,
            citations,
            confidence,
            supported,
            ..
        } = body
        else {
            return;
        };
        let clean = |citation: &Citation| Citation {
            source: one_line(&citation.source, 400),
            ..citation.clone()
        };
        let support = supported.iter();
        let support = support.filter_map(|sentence| sentence.within_clean(text));
        self.confidence = *confidence;
        self.answer = sanitize(text).into_owned();
        self.support = support.collect();
        self.citations = citations.iter().map(clean).collect();
        self.revision += 1;
    }

    /// Room for text that will not come any more.
    pub(crate) fn shrink(&mut self) {
        self.answer.shrink_to_fit();
        self.citations.shrink_to_fit();
        self.support.shrink_to_fit();
        self.within.shrink_to_fit();
    }
}

// The parts of a run: nodes, visits, edges, tool calls, verdicts, the end.

/// How far a node has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeState {
    /// The node was not reached.
    #[default]
    Waiting,
    /// The step is running.
    Running,
    /// The node is done.
    Done,
    /// This route does not need it, and why.
    Skipped(&'static str),
    /// It was at work when the run was stopped.
    Stopped,
    /// It was at work when the run broke.
    Failed,
}

/// What is known of one node, over all visits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NodeView {
    /// How far it has come.
    pub state: NodeState,
    /// How often it was entered.
    pub visits: u32,
    /// How long the finished visits took, milliseconds.
    pub ms: f64,
    /// Reasoning calls it made.
    pub calls: u32,
    /// Tokens both ways; `None` when they were not counted.
    pub tokens: Option<u64>,
    /// Who decided the last time, where a model or the program could.
    pub by: Option<DecidedBy>,
    /// When the visit that is going on began.
    pub since: Option<Timestamp>,
}

/// One visit of a node, in the path as it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// The node.
    pub node: NodeName,
    /// Gradings made before.
    pub iteration: u32,
    /// How long it took, to its end or to that of the run; `None` while it goes on.
    pub ms: Option<f64>,
    /// Reasoning calls it made.
    pub calls: u32,
    /// The verdict it gave.
    pub graded: Option<Grading>,
    /// Why the next node came next: the rule, and its arithmetic.
    pub left: Option<(RouteReason, String)>,
}

/// An edge that the run went along.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenEdge {
    /// The node that was left.
    pub from: NodeName,
    /// The node that was entered.
    pub to: NodeName,
    /// The reason; `None` for an edge that is always taken.
    pub reason: Option<RouteReason>,
    /// The reason with its arithmetic.
    pub why: String,
    /// How many times the run took it.
    pub count: u32,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// What was called.
    pub call: ToolCall,
    /// Whose call it was, where a model and the program plan beside each other.
    pub by: Option<DecidedBy>,
    /// How many items it found; `None` while it runs.
    pub items: Option<usize>,
    /// How long it took, milliseconds; `None` while it runs.
    pub ms: Option<f64>,
    /// Why it failed, clean.
    pub error: Option<String>,
}

/// What a call of a model waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PendingCall {
    /// What is waited for.
    pub wait: Wait,
    /// Time of the report.
    pub reported_at: Timestamp,
    /// The node that waits; `None` before the run begins.
    pub node: Option<NodeName>,
}

/// The last verdict on the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grading {
    /// The mean over what remained; `None` where nothing did.
    pub average: Option<f64>,
    /// How many items it gave a grade.
    pub items: usize,
    /// How many others it did not look at.
    pub not_looked_at: usize,
    /// How many did not stay: the weak ones, and those that it did not look at.
    pub dropped: usize,
    /// The decision that followed.
    pub action: GraderAction,
    /// The grader or the rule that decided.
    pub by: GradedBy,
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// The outcome.
    pub outcome: Outcome,
    /// Reasoning calls made.
    pub calls: u32,
    /// Calls that the full pipeline would have made besides.
    pub saved: u32,
    /// Tokens both ways.
    pub tokens: u64,
    /// What else is known of the cost.
    pub spent: CostDetails,
    /// Milliseconds.
    pub ms: f64,
    /// Why it failed, clean.
    pub error: Option<String>,
}

impl PendingCall {
    /// What is waited for after this event; nothing, where it tells of something else.
    pub fn from_event(event: &Event) -> Option<Self> {
        match event.body {
            EventBody::Waiting { node, wait } if wait != Wait::Over => Some(Self {
                wait,
                reported_at: event.ts,
                node: Some(node),
            }),
            _ => None,
        }
    }

    /// The same on one line, at this moment.
    pub fn line(&self, now: Timestamp) -> String {
        let passed = now.0.saturating_sub(self.reported_at.0) as f64;
        self.wait.line_of(self.node, passed)
    }
}

impl Grading {
    /// What an `evidence_graded` says. Its average of nothing is a 0 that was not measured.
    pub fn new(scores: &[ItemScore], average: f64, action: GraderAction, by: GradedBy) -> Self {
        let remaining = scores.iter().filter(|item| item.score.value() >= KEEP_FROM);
        Self {
            average: (remaining.clone().count() > 0).then_some(average),
            items: scores.iter().filter(|item| !item.not_looked_at).count(),
            not_looked_at: scores.iter().filter(|item| item.not_looked_at).count(),
            dropped: scores.len() - remaining.count(),
            action,
            by,
        }
    }

    /// The average, or the sign for none.
    pub fn measured(&self) -> String {
        self.average.map_or_else(|| "–".to_owned(), measure)
    }
}

impl RunResult {
    /// What a `run_finished` says.
    pub fn from_body(body: &EventBody) -> Option<Self> {
        let end = RunEnd::from_body(body)?;
        Some(Self {
            outcome: end.outcome,
            calls: end.calls,
            saved: end.saved,
            tokens: end.tokens(),
            spent: end.spent,
            ms: end.ms,
            error: end.error.map(|error| one_line(&error, 400)),
        })
    }

    /// Whether it ended before its time: what was not done by then was not saved.
    pub fn broke_off(&self) -> bool {
        matches!(self.outcome, Outcome::Cancelled | Outcome::Failed)
    }
}

impl Visit {
    /// The run ended; a visit that went on since then ended with it.
    pub fn break_off(&mut self, since: Option<Timestamp>, now: Timestamp) {
        let until = |since: Timestamp| now.0.saturating_sub(since.0) as f64;
        self.ms = self.ms.or(since.map(until));
    }
}

/// The word for how a run ended.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::NotFound => "not found",
        Outcome::Cancelled => "cancelled",
        Outcome::Failed => "failed",
    }
}

/// The reason with its arithmetic, where a verdict stands behind it.
pub fn why(reason: RouteReason, grading: Option<&Grading>, limits: &RoutingLimits) -> String {
    let word = reason.as_str();
    let Some(grading) = grading else {
        return word.to_owned();
    };
    let grounds = grounds(grading, limits);
    match reason {
        RouteReason::MaxIterations => {
            let max = limits.max_iterations;
            format!("{grounds}, {max} of {max} gradings → {word}")
        }
        _ => format!("{grounds} → {word}"),
    }
}

/// What the grader's action was founded on.
fn grounds(grading: &Grading, limits: &RoutingLimits) -> String {
    match grading.by {
        GradedBy::NoEvidence => "no evidence".to_owned(),
        GradedBy::Rule(rule) => {
            let founded = match rule {
                AutoApproveRule::FewContext => {
                    format!(": {} ≤ {}", grading.items, limits.auto_approve_max_items)
                }
                AutoApproveRule::HighVectorScore => {
                    format!(": all ≥ {:.2}", limits.vector_score_threshold)
                }
                AutoApproveRule::LocalFileQa | AutoApproveRule::ReadFile => String::new(),
            };
            format!("rule {}{founded}", rule.as_str())
        }
        GradedBy::Grader | GradedBy::Hand | GradedBy::Fallback => {
            let name = match grading.by {
                GradedBy::Fallback => "fallback",
                _ => "avg",
            };
            let Some(average) = grading.average else {
                return format!("nothing ≥ {:.2}", limits.thresholds.keep_from);
            };
            let sufficient = limits.thresholds.sufficient_from;
            let sign = if average < sufficient { "<" } else { "≥" };
            let average = measure_beside(average, &[sufficient]);
            format!("{name} {average} {sign} {sufficient:.2}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::SCHEMA;

    #[test]
    fn shown_sentences_stay_in_their_places_where_control_sequences_go() {
        let text = "It bakes. [1] It\u{1b}[2J flies.";
        let supported = vec![SentenceSupport {
            start: "It bakes. [1] ".len(),
            end: text.len(),
            supported: false,
            added: None,
        }];
        let mut run = RunView::default();
        run.apply(&Event {
            schema: SCHEMA,
            ts: Timestamp(0),
            run: RunId("r".into()),
            seq: 0,
            body: EventBody::AnswerFinished {
                text: text.to_owned(),
                citations: Vec::new(),
                confidence: None,
                confidence_level: None,
                supported,
                quotation_from: None,
            },
        });
        let place = &run.support[0];
        assert_eq!(&run.answer[place.start..place.end], "It flies.");
    }

    #[test]
    fn ui_an_answer_is_laid_out_with_every_piece_until_it_is_long() {
        let mut run = RunView::default();
        for (piece, times, layouts) in [(64, 1_024, 1_024), (1_024, 1_024, 1_080)] {
            for _ in 0..times {
                run.grow_answer(&"x".repeat(piece));
            }
            let laid_out = run.revision;
            assert!(laid_out <= layouts, "{laid_out}");
        }
    }
}
