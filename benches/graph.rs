//! What the graph itself costs: an instant reasoner, tools in memory, every event consumed.
//!
//! One thread does everything, so wall time is processor time. `cargo bench --bench graph`
//! prints the median a query. LangGraph 1.2 in Python was measured at 910 µs for five no-op nodes.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use async_trait::async_trait;
use divan::Bencher;
use kb_agent::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, GradeJob, Grades, Identity, PlanJob, PlannedCalls, Ports,
    Reasoner, ReasonerError, Synthesis, SynthesizeJob, ToolError, Toolbox, WaitSink,
};
use kb_agent::agent::{Agent, RunRequest};
use kb_agent::domain::{
    Complexity, Evidence, EvidenceId, LineRange, Measured, Outcome, PlannedCall, RoutingLimits,
    RoutingPlan, Score, ToolCall, ToolName, Topic, Usage,
};
use kb_agent::protocol::{EventBody, Mode};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

fn main() {
    divan::main();
}

#[divan::bench]
fn chitchat(bencher: Bencher) {
    walk(bencher, Instant::new(Complexity::Chitchat, 1.0), 2);
}

#[divan::bench]
fn simple(bencher: Bencher) {
    walk(bencher, Instant::new(Complexity::Simple, 1.0), 4);
}

#[divan::bench]
fn complex(bencher: Bencher) {
    walk(bencher, Instant::new(Complexity::Complex, 0.9), 5);
}

#[divan::bench]
fn complex_three_rounds(bencher: Bencher) {
    walk(bencher, Instant::new(Complexity::Complex, 0.5), 11);
}

/// Answers one query an iteration and checks that it took as many nodes as it should.
fn walk(bencher: Bencher, reasoner: Instant, nodes: usize) {
    let runtime: Runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let agent = Agent {
        ports: Ports {
            reasoner: Arc::new(reasoner),
            tools: Arc::new(InMemory),
        },
        limits: RoutingLimits::default(),
        session: "bench".to_owned(),
    };
    bencher.bench_local(|| {
        let entered = runtime.block_on(async {
            let question = RunRequest {
                query: "compare one with the other".to_owned(),
                ..RunRequest::default()
            };
            let (events, mut reader) = mpsc::channel(256);
            let running = agent.answer(question, events, CancellationToken::new());
            let reading = async {
                let mut entered = 0;
                while let Some(event) = reader.recv().await {
                    if matches!(event.body, EventBody::NodeEntered { .. }) {
                        entered += 1;
                    }
                    divan::black_box(event);
                }
                entered
            };
            tokio::join!(running, reading).1
        });
        assert_eq!(entered, nodes);
    });
}

struct Instant {
    plan: RoutingPlan,
    grade: f64,
}

impl Instant {
    fn new(complexity: Complexity, grade: f64) -> Self {
        let mut plan = RoutingPlan {
            complexity,
            ..RoutingPlan::default()
        };
        plan.reconcile();
        Self { plan, grade }
    }
}

#[async_trait]
impl Reasoner for Instant {
    fn identity(&self) -> Identity {
        Identity {
            mode: Mode::Llm,
            model: "instant".to_owned(),
        }
    }

    async fn analyze(&self, _: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        Ok(Analysis {
            plan: self.plan.clone(),
            reply: Some("Hello!".to_owned()),
            usage: Usage::ONE_CALL,
            ..Analysis::default()
        })
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<PlannedCalls, ReasonerError> {
        Ok(PlannedCalls {
            calls: vec![PlannedCall::from(ToolCall::GrepSearch {
                query: format!("round {}", job.tool_history.len()),
            })],
            by: None,
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        Ok(Grades {
            scores: Ok(vec![Some(self.grade); job.context.len()]),
            by: None,
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }

    async fn synthesize(
        &self,
        _: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        for piece in ["It ", "is ", "so ", "[1]."] {
            out.push(piece).await;
        }
        Ok(Synthesis {
            replacement: None,
            outcome: Outcome::Answered,
            confidence: None,
            quoted: Vec::new(),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }
}

struct InMemory;

#[async_trait]
impl Toolbox for InMemory {
    async fn run(&self, call: &ToolCall, _: Option<&WaitSink>) -> Result<Vec<Evidence>, ToolError> {
        Ok((0..3)
            .map(|at| Evidence {
                id: EvidenceId(String::new()),
                source: format!("{}.md", call.subject()),
                lines: LineRange {
                    start: at * 10 + 1,
                    end: at * 10 + 5,
                },
                tool: ToolName::GrepSearch,
                score: Score::clamped(0.5),
                text: "a line of text that says something".to_owned(),
                topic: Topic::default(),
                low: false,
                place: None,
                measured: Measured::default(),
                by: None,
            })
            .collect())
    }
}
