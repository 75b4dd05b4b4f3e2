//! What is cancelled, or not wanted any more, stops.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use kb_agent::agent::Agent;
use kb_agent::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, Caller, EmbedError, Embedder, GradeJob, Grades, Identity,
    PlanJob, PlannedCalls, Ports, Reasoner, ReasonerError, Synthesis, SynthesizeJob, Toolbox,
};
use kb_agent::domain::{Evidence, NodeName, Outcome, RoutingLimits, ToolCall, ToolName};
use kb_agent::embed::{BuiltInModel, SentenceEmbedding};
use kb_agent::kb::KnowledgeBase;
use kb_agent::protocol::{EventBody, Mode, RunId};
use kb_agent::reasoner::offline::OfflineReasoner;
use kb_agent::tools::KbToolbox;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::engine::engine;
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::{origin, question_of};
use crate::workplace::{Workplace, events};

#[tokio::test(flavor = "multi_thread")]
async fn ends_the_run_whose_answer_no_one_waits_for_any_more() {
    let endpoint = ScriptedEndpoint::start().await;
    let never = Reply::streamed("{}").after(Duration::from_mins(10));
    endpoint.say(NodeName::AnalyzeAndRoute, never);
    let place = Workplace::empty();
    let engine = engine(&place, &endpoint.base_url()).await.unwrap();
    let given_up = tokio::time::timeout(Duration::from_millis(300), engine.answer_query("hi"));
    assert!(given_up.await.is_err());
    let begun = Instant::now();
    while events(&place.audit(), "run_finished").is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the run goes on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(
        events(&place.audit(), "run_finished")[0]["outcome"],
        "cancelled"
    );
}

/// Work that is not stopped goes on for minutes; a busy machine takes its time with what is.
const SOON: Duration = Duration::from_secs(20);

/// An embedding that takes as long as it is let.
struct Endless;

impl Embedder for Endless {
    fn model_id(&self) -> &'static str {
        "endless"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        std::thread::sleep(Duration::from_secs(20));
        Ok(texts.iter().map(|_| vec![1.0]).collect())
    }

    fn embed_stoppable(
        &self,
        _: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(caller.cancel.cancelled());
        Ok(None)
    }
}

fn base(place: &Workplace, embedder: Arc<dyn Embedder>) -> Arc<KnowledgeBase> {
    let roots = [place.path().join("kb")];
    let base = KnowledgeBase::open(&roots, &place.path().join("index"), embedder).unwrap();
    // On a thread, what is left behind would count against the tests that come after.
    let base = base.reading_by(Some(Path::new(env!("CARGO_BIN_EXE_kb-agent"))));
    base.update_words(&|_| (), &CancellationToken::new())
        .unwrap();
    Arc::new(base)
}

/// How long the threads of `work` go on after no one waits for it any more.
fn goes_on(work: impl Future<Output = ()>) -> Duration {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let given_up = tokio::time::timeout(Duration::from_millis(150), work).await;
        assert!(given_up.is_err(), "it was done before it could be stopped");
    });
    let dropped = Instant::now();
    // Waits for what blocks.
    drop(runtime);
    dropped.elapsed()
}

#[test]
fn ends_every_tool_whose_run_is_cancelled() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let line = "nothing of what is looked for stands in any of these many lines of a log\n";
    place.file("kb/large.log", line.repeat(1_500_000));
    place.file("kb/page.html", "<p>It waits for PROJ-7.</p>");
    let tools = KbToolbox::new(base(&place, Arc::new(Endless)));
    // Another page by now, which is taken apart when it is read.
    let paragraph = "<p>It waits for <b>PROJ-7</b> &amp; <a href='gate.md'>the gate</a>.</p>\n";
    place.file("kb/page.html", paragraph.repeat(130_000));
    let query = || "gate opening hours".to_owned();
    for call in [
        ToolCall::VectorSearch {
            query: query(),
            k: None,
        },
        ToolCall::HybridSearch {
            semantic_query: query(),
            exact_keywords: Vec::new(),
        },
        ToolCall::LocalFileQa {
            query: query(),
            path: None,
            field: None,
            value: None,
        },
        ToolCall::GrepSearch {
            query: r"(\w+ly){2,}[0-9]+\s(not|there)(.*[a-z])?x{3}".to_owned(),
        },
        ToolCall::ReadFile {
            path: "page.html".to_owned(),
            start_line: None,
            end_line: None,
        },
        ToolCall::GraphRelated {
            entity_id: "PROJ-7".to_owned(),
        },
    ] {
        let took = goes_on(async {
            let found = tools.run(&call, None).await;
            panic!("{call:?} ended by itself: {found:?}");
        });
        assert!(took < SOON, "{call:?} went on for {took:?}");
    }
}

#[test]
fn ends_the_embedding_of_an_answer_that_no_one_waits_for() {
    let reasoner = OfflineReasoner::new(Arc::new(Endless));
    let run = RunId::generate();
    let item = |text: &str| Evidence {
        source: "gate.md".to_owned(),
        text: text.to_owned(),
        ..crate::support::item(1, ToolName::HybridSearch, 1.0)
    };
    let context = [item("The gate opens at seven."), item("Bread rises.")];
    let took = goes_on(async {
        let question = kb_agent::domain::Question::default();
        let job = GradeJob {
            origin: origin(&run, NodeName::GradeEvidence),
            query: "When does the gate open?",
            question: &question,
            history: &[],
            sub_questions: &[],
            context: &context,
        };
        let graded = reasoner.grade(job).await;
        panic!("it ended by itself: {graded:?}");
    });
    assert!(took < SOON, "it went on for {took:?}");
}

#[test]
fn ends_a_long_embedding_between_two_texts() {
    let embedder = SentenceEmbedding::new(BuiltInModel::English);
    embedder.embed(&["loads the model"]).unwrap();
    let texts: Vec<String> = (0..3000)
        .map(|n| format!("{n} {}", "a sentence of some length ".repeat(30)))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let cancel = CancellationToken::new();
    std::thread::scope(|scope| {
        let made = scope.spawn(|| embedder.embed_stoppable(&texts, (&cancel).into()));
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        assert_eq!(made.join().unwrap(), Ok(None));
    });
}

#[test]
fn ends_a_walk_and_takes_nothing_for_gone() {
    let place = Workplace::empty();
    for n in 0..30 {
        place.file(&format!("kb/{n}.md"), format!("# Note {n}\n\nText.\n"));
    }
    let base = base(&place, Arc::new(Endless));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let stopped = base.update_words(&|_| (), &cancel);
    assert!(stopped.is_err(), "{stopped:?}");
    assert_eq!(base.status().documents, 30);
}

/// An embedding, and a thinking engine, with a fault.
struct Faulty;

impl Embedder for Faulty {
    fn model_id(&self) -> &'static str {
        "faulty"
    }

    fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        panic!("a fault of the embedding");
    }
}

#[async_trait]
impl Reasoner for Faulty {
    fn identity(&self) -> Identity {
        Identity {
            mode: Mode::Offline,
            model: "faulty".to_owned(),
        }
    }

    async fn analyze(&self, _: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        panic!("a fault of the engine");
    }

    async fn plan(&self, _: PlanJob<'_>) -> Result<PlannedCalls, ReasonerError> {
        unreachable!()
    }

    async fn grade(&self, _: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        unreachable!()
    }

    async fn synthesize(
        &self,
        _: SynthesizeJob<'_>,
        _: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        unreachable!()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_nothing_but_the_tool_or_the_run_that_panics() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let tools = Arc::new(KbToolbox::new(base(&place, Arc::new(Faulty))));
    let call = ToolCall::VectorSearch {
        query: "gate".to_owned(),
        k: None,
    };
    let error = tools.run(&call, None).await.unwrap_err().to_string();
    assert!(error.contains("vector_search"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    let agent = Agent {
        ports: Ports {
            reasoner: Arc::new(Faulty),
            tools,
        },
        limits: RoutingLimits::default(),
        session: "s".to_owned(),
    };
    let (events, mut received_events) = tokio::sync::mpsc::channel(64);
    let question = question_of("hi");
    let answer = agent.answer(question, events, CancellationToken::new());
    assert_eq!(answer.await, None);
    let mut last = None;
    while let Some(event) = received_events.recv().await {
        last = Some(event.body);
    }
    let Some(EventBody::RunFinished { outcome, error, .. }) = last else {
        panic!("{last:?}");
    };
    assert_eq!(outcome, Outcome::Failed);
    assert!(error.is_some_and(|line| line.contains("broke off")));
}
