//! What several test modules drive the agent with.

use std::sync::Arc;

use async_trait::async_trait;
use kb_agent::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, CallOrigin, Caveat, GradeJob, Grades, Identity, PlanJob,
    PlannedCalls, Ports, Reasoner, ReasonerError, Synthesis, SynthesizeJob, ToolError, Toolbox,
    UnreadableGrades, WaitSink,
};
use kb_agent::agent::{Agent, RunRequest};
use kb_agent::domain::{
    Answer, Complexity, Confidence, EDGES, Evidence, EvidenceId, LineRange, Measured, NodeName,
    Outcome, Quotation, RoutingLimits, RoutingPlan, Score, ToolCall, ToolName, Topic, Usage,
};
use kb_agent::kb::{Document, KnowledgeBase};
use kb_agent::protocol::{Event, EventBody, Mode, RunId};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What a scripted reasoner was asked, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum ReasonerCall {
    Analyze {
        failed: Vec<ToolCall>,
        history: usize,
    },
    Plan {
        refine: bool,
        kept: usize,
    },
    Grade {
        items: usize,
    },
    Synthesize {
        items: usize,
        low: usize,
        complexity: Complexity,
    },
}

/// A reasoner that says what the script holds; the last reply of a job repeats.
#[derive(Default)]
pub struct Script {
    pub analyses: Vec<(RoutingPlan, Option<&'static str>)>,
    pub plans: Vec<Vec<ToolCall>>,
    pub grades: Vec<Result<Vec<f64>, UnreadableGrades>>,
    /// How many items of the context are looked at in a grading; `None` for all.
    pub looks_at: Option<usize>,
    pub answer: Vec<&'static str>,
    /// Whether all of it is there at once.
    pub at_once: bool,
    pub confidence: Option<f64>,
    pub quoted: Vec<Quotation>,
    pub caveat: Option<Caveat>,
    pub fail_at: Option<NodeName>,
    /// Waits for ever in this node, after the answer's pieces where it is synthesize.
    pub hang_at: Option<NodeName>,
}

pub struct ScriptedReasoner {
    script: Script,
    at: Mutex<[usize; 3]>,
    pub asked: Mutex<Vec<ReasonerCall>>,
}

impl ScriptedReasoner {
    pub fn new(script: Script) -> Arc<Self> {
        Arc::new(Self {
            script,
            at: Mutex::default(),
            asked: Mutex::default(),
        })
    }

    pub fn asked(&self) -> Vec<ReasonerCall> {
        self.asked.lock().clone()
    }

    fn next<T: Clone>(&self, job: usize, replies: &[T]) -> Option<T> {
        let mut at = self.at.lock();
        let reply = replies
            .get(at[job].min(replies.len().saturating_sub(1)))
            .cloned();
        at[job] += 1;
        reply
    }

    async fn trouble(&self, node: NodeName) -> Result<(), ReasonerError> {
        if self.script.hang_at == Some(node) {
            std::future::pending::<()>().await;
        }
        if self.script.fail_at == Some(node) {
            let line = format!("no answer in {node}");
            return Err(ReasonerError::Unreachable(line.into()));
        }
        Ok(())
    }

    fn caveats(&self) -> Vec<Caveat> {
        self.script.caveat.clone().into_iter().collect()
    }
}

#[async_trait]
impl Reasoner for ScriptedReasoner {
    fn identity(&self) -> Identity {
        Identity {
            mode: Mode::Llm,
            model: "scripted".to_owned(),
        }
    }

    fn answers_at_once(&self) -> bool {
        self.script.at_once
    }

    async fn analyze(&self, job: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        self.asked.lock().push(ReasonerCall::Analyze {
            failed: job
                .failed
                .iter()
                .map(|record| record.call.clone())
                .collect(),
            history: job.history.len(),
        });
        self.trouble(NodeName::AnalyzeAndRoute).await?;
        let (plan, reply) = self.next(0, &self.script.analyses).unwrap_or_default();
        Ok(Analysis {
            plan,
            reply: reply.map(str::to_owned),
            usage: Usage::ONE_CALL,
            warnings: self.caveats(),
            ..Analysis::default()
        })
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<PlannedCalls, ReasonerError> {
        self.asked.lock().push(ReasonerCall::Plan {
            refine: job.refine,
            kept: job.context.len(),
        });
        self.trouble(NodeName::Plan).await?;
        let calls = self.next(1, &self.script.plans).unwrap_or_default();
        Ok(PlannedCalls {
            calls: calls
                .into_iter()
                .map(kb_agent::domain::PlannedCall::from)
                .collect(),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
            by: None,
        })
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        self.asked.lock().push(ReasonerCall::Grade {
            items: job.context.len(),
        });
        self.trouble(NodeName::GradeEvidence).await?;
        let scores = self
            .next(2, &self.script.grades)
            .unwrap_or_else(|| Ok(vec![0.9; job.context.len()]));
        let looks_at = self.script.looks_at.unwrap_or(usize::MAX);
        let seen = |(at, score)| (at < looks_at).then_some(score);
        let seen = |scores: Vec<f64>| scores.into_iter().enumerate().map(seen).collect();
        Ok(Grades {
            scores: scores.map(seen),
            by: None,
            usage: Usage {
                calls: 1,
                prompt_tokens: Some(100),
                completion_tokens: Some(10),
                ..Usage::ONE_CALL
            },
            warnings: Vec::new(),
        })
    }

    async fn synthesize(
        &self,
        job: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        self.asked.lock().push(ReasonerCall::Synthesize {
            items: job.context.len(),
            low: job.context.iter().filter(|item| item.low).count(),
            complexity: job.complexity,
        });
        for piece in &self.script.answer {
            out.push(*piece).await;
        }
        self.trouble(NodeName::Synthesize).await?;
        Ok(Synthesis {
            replacement: None,
            outcome: Outcome::Answered,
            confidence: self.script.confidence.map(Confidence::clamped),
            quoted: self.script.quoted.clone(),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }
}

/// Tools that find what the script holds for each call's subject.
#[derive(Default)]
pub struct ScriptedTools {
    pub items: Vec<(&'static str, Vec<Evidence>)>,
    pub failing: Vec<(&'static str, ToolError)>,
    /// Makes a call wait until as many calls are running at once.
    pub meet: Option<tokio::sync::Barrier>,
    pub called: Mutex<Vec<ToolCall>>,
}

#[async_trait]
impl Toolbox for ScriptedTools {
    async fn run(&self, call: &ToolCall, _: Option<&WaitSink>) -> Result<Vec<Evidence>, ToolError> {
        self.called.lock().push(call.clone());
        if let Some(meet) = &self.meet {
            meet.wait().await;
        }
        let subject = call.subject();
        if let Some((_, error)) = self.failing.iter().find(|(for_it, _)| *for_it == subject) {
            return Err(error.clone());
        }
        Ok(self
            .items
            .iter()
            .find(|(for_it, _)| *for_it == subject)
            .map(|(_, items)| items.clone())
            .unwrap_or_default())
    }
}

/// An item on line `at` of `a.md`.
pub fn item(at: usize, tool: ToolName, score: f64) -> Evidence {
    Evidence {
        id: EvidenceId(String::new()),
        source: "a.md".to_owned(),
        lines: LineRange { start: at, end: at },
        tool,
        score: Score::clamped(score),
        text: format!("line {at}"),
        topic: Topic::default(),
        low: false,
        place: None,
        measured: Measured::default(),
        by: None,
    }
}

/// `count` items found by `tool`, on lines of their own.
pub fn items(count: usize, tool: ToolName, score: f64) -> Vec<Evidence> {
    (0..count)
        .map(|at| item(at * 10 + 1, tool, score))
        .collect()
}

pub fn hybrid(query: &str) -> ToolCall {
    ToolCall::HybridSearch {
        semantic_query: query.to_owned(),
        exact_keywords: Vec::new(),
    }
}

pub fn plan_for(complexity: Complexity) -> RoutingPlan {
    let mut plan = RoutingPlan {
        complexity,
        ..RoutingPlan::default()
    };
    if complexity == Complexity::Complex {
        plan.sub_questions = vec!["one?".to_owned(), "two?".to_owned()];
    }
    plan.reconcile();
    plan
}

/// An array of tuples: a case a line, its fields apart by commas.
macro_rules! table {
    ($($($field:expr),+);+ $(;)?) => {
        [$(($($field),+)),+]
    };
}

/// What is required of a text; where it is not so, the text is shown.
pub trait Said {
    fn must_hold(&self, part: &str);
    fn must_lack(&self, part: &str);
    fn must_begin_with(&self, part: &str);
    fn must_end_with(&self, part: &str);
}

impl Said for str {
    #[track_caller]
    fn must_hold(&self, part: &str) {
        assert!(self.contains(part), "{part} is missing: {self}");
    }

    #[track_caller]
    fn must_lack(&self, part: &str) {
        assert!(!self.contains(part), "{part} is there: {self}");
    }

    #[track_caller]
    fn must_begin_with(&self, part: &str) {
        assert!(self.starts_with(part), "it begins not with {part}: {self}");
    }

    #[track_caller]
    fn must_end_with(&self, part: &str) {
        assert!(self.ends_with(part), "it ends not with {part}: {self}");
    }
}

/// What in the events of a run fits a pattern.
macro_rules! picked {
    ($finished:expr, $pattern:pat => $value:expr) => {
        $finished
            .bodies()
            .into_iter()
            .filter_map(|body| match body {
                $pattern => Some($value),
                _ => None,
            })
    };
}

/// One finished run: what came out and the stream it left.
pub struct Finished {
    pub answer: Option<Answer>,
    pub events: Vec<Event>,
}

impl Finished {
    pub fn bodies(&self) -> Vec<&EventBody> {
        self.events.iter().map(|event| &event.body).collect()
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.events.iter().map(|event| event.body.name()).collect()
    }

    pub fn path(&self) -> Vec<NodeName> {
        match self.bodies().last() {
            Some(EventBody::RunFinished { path, .. }) => path.clone(),
            other => panic!("the last event is {other:?}"),
        }
    }

    pub fn outcome(&self) -> Outcome {
        match self.bodies().last() {
            Some(EventBody::RunFinished { outcome, .. }) => *outcome,
            other => panic!("the last event is {other:?}"),
        }
    }

    /// Reasoning calls made, and calls saved.
    pub fn calls(&self) -> (u32, u32) {
        match self.bodies().last() {
            Some(EventBody::RunFinished {
                reasoning_calls,
                calls_saved,
                ..
            }) => (*reasoning_calls, *calls_saved),
            other => panic!("the last event is {other:?}"),
        }
    }

    pub fn warnings(&self) -> Vec<&str> {
        picked!(self, EventBody::Warning { code, .. } => code.as_str()).collect()
    }

    /// `(path_type, rule_name)` of every short cut.
    pub fn fast_paths(&self) -> Vec<(&'static str, &str)> {
        picked!(
            self,
            EventBody::FastPathHit { path_type, rule_name, .. } =>
                (path_type.as_str(), rule_name.as_str())
        )
        .collect()
    }

    pub fn text(&self) -> &str {
        &self.answer.as_ref().expect("an answer").text
    }
}

/// Runs one question to its end and checks what holds for every stream.
pub async fn run(
    reasoner: Arc<dyn Reasoner>,
    tools: Arc<dyn Toolbox>,
    limits: RoutingLimits,
    question: RunRequest,
) -> Finished {
    run_until(reasoner, tools, limits, question, |_| false).await
}

/// [`run`], cancelled as soon as an event satisfies `stop`.
pub async fn run_until(
    reasoner: Arc<dyn Reasoner>,
    tools: Arc<dyn Toolbox>,
    limits: RoutingLimits,
    question: RunRequest,
    stop: impl Fn(&Event) -> bool,
) -> Finished {
    let agent = Agent {
        ports: Ports { reasoner, tools },
        limits,
        session: "session".to_owned(),
    };
    let (sender, mut receiver) = mpsc::channel(256);
    let cancel = CancellationToken::new();
    let trigger = cancel.clone();
    let running = agent.answer(question, sender, cancel);
    let reading = async {
        let mut events = Vec::new();
        while let Some(event) = receiver.recv().await {
            if stop(&event) {
                trigger.cancel();
            }
            events.push(event);
        }
        events
    };
    let (answer, events) = tokio::join!(running, reading);
    check_stream(&events);
    Finished { answer, events }
}

/// R23: what is sent to be cited is numbered once, before the answer, and the answer's citations have
/// these numbers and no others, in the order in which the text first uses them.
fn check_numbers(events: &[Event]) {
    let mut context: Vec<EvidenceId> = Vec::new();
    let mut numbered: Option<Vec<(usize, EvidenceId)>> = None;
    for event in events {
        match &event.body {
            EventBody::EvidenceAdded { items } => {
                context.extend(items.iter().map(|item| item.id.clone()));
            }
            EventBody::EvidenceRemoved { id, .. } => context.retain(|known| known != id),
            EventBody::EvidenceNumbered { items } => {
                assert_eq!(numbered, None, "numbered once");
                let items = items.iter().map(|item| (item.n, item.id.clone()));
                let items: Vec<_> = items.collect();
                for (at, (n, id)) in items.iter().enumerate() {
                    assert_eq!(*n, at + 1);
                    assert!(context.contains(id), "{id} is numbered and not there");
                }
                numbered = Some(items);
            }
            EventBody::AnswerFinished {
                text, citations, ..
            } => {
                let mut first_used = Vec::new();
                let marked = marked_numbers(text);
                for citation in citations {
                    let cited = (citation.n, citation.id.clone());
                    let known = numbered.as_ref().is_some_and(|all| all.contains(&cited));
                    assert!(known, "{cited:?} is cited and not numbered");
                    first_used.push(marked.iter().position(|n| *n == citation.n));
                }
                assert!(!first_used.contains(&None), "{citations:?} in {text}");
                let in_order = first_used.is_sorted() || text.contains('`');
                assert!(in_order, "{citations:?} in {text}");
            }
            _ => {}
        }
    }
}

/// The numbers in the marks of an answer, in its order.
fn marked_numbers(text: &str) -> Vec<usize> {
    let after_open = text.split('[').skip(1);
    let inside = after_open.filter_map(|rest| rest.split_once(']').map(|(inside, _)| inside));
    let numbers = inside.flat_map(|inside| inside.split([',', '，', '、']));
    numbers.filter_map(|n| n.trim().parse().ok()).collect()
}

/// What every stream keeps: one run, no gaps, one end, legal edges.
pub fn check_stream(events: &[Event]) {
    assert!(matches!(events[0].body, EventBody::RunStarted { .. }));
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event.seq, at as u64, "a gap at {event:?}");
        assert_eq!(event.run, events[0].run);
        assert_eq!(event.schema, 1);
    }
    let ends = events
        .iter()
        .filter(|event| matches!(event.body, EventBody::RunFinished { .. }))
        .count();
    assert_eq!(ends, 1);
    let Some(EventBody::RunFinished { path, outcome, .. }) = events.last().map(|e| &e.body) else {
        panic!("the stream does not end with run_finished");
    };
    for pair in path.windows(2) {
        let legal = EDGES
            .iter()
            .any(|edge| edge.from == pair[0] && edge.to == Some(pair[1]));
        assert!(legal, "{} → {} is no edge", pair[0], pair[1]);
    }
    check_numbers(events);
    if matches!(outcome, Outcome::Answered | Outcome::NotFound) {
        assert_eq!(path.last(), Some(&NodeName::Synthesize));
        let streamed: String = events
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::AnswerDelta { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let finished = events.iter().find_map(|event| match &event.body {
            EventBody::AnswerFinished { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(
            finished,
            Some(streamed.as_str()),
            "deltas add up to the answer"
        );
    }
}

pub fn question_of(query: &str) -> RunRequest {
    RunRequest {
        query: query.to_owned(),
        ..RunRequest::default()
    }
}

/// Where a job of this run comes from.
pub fn origin(run: &RunId, node: NodeName) -> CallOrigin<'_> {
    CallOrigin {
        run,
        node,
        calls: None,
        waits: None,
        instruction: None,
    }
}

pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Whether the processor's products of bytes saturate, as those of x86 do without VNNI: the model's
/// vectors then differ a little, and for the worse.
pub fn saturates() -> bool {
    #[cfg(target_arch = "x86_64")]
    return !std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// All documents of a base, ordered by name.
pub fn documents(base: &KnowledgeBase) -> Vec<Arc<Document>> {
    let mut documents = Vec::new();
    let cancel = CancellationToken::new();
    let gather = |document: &Arc<Document>| documents.push(Arc::clone(document));
    base.for_each_document(&cancel, gather).unwrap();
    documents
}
