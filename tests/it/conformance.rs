//! One suite for both reasoners: what holds for every run, whichever thinks.
//!
//! The offline engine runs as it is; the endpoint engine runs against a scripted server. Both get
//! the same tools over a real index of the demo knowledge base and the same questions.

use std::sync::Arc;

use kb_agent::agent::RunRequest;
use kb_agent::agent::ports::{Reasoner, Toolbox};
use kb_agent::domain::{Complexity, NodeName, Outcome, RoutingLimits, Turn};
use kb_agent::embed::JudgeEmbedder;
use kb_agent::kb::KnowledgeBase;
use kb_agent::protocol::{EventBody, Mode};
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings};
use kb_agent::reasoner::offline::OfflineReasoner;
use kb_agent::tools::KbToolbox;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::frozen_demo;
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::{Finished, question_of, run, run_until};
use crate::workplace::Workplace;
use NodeName::{AnalyzeAndRoute, GradeEvidence, Plan, Synthesize, ToolExec};

/// A question of each route, and how a well-behaved endpoint treats it.
struct Case {
    query: &'static str,
    route: Complexity,
    path: &'static [NodeName],
    /// The nodes that make a reasoning call.
    asks: &'static [&'static str],
    fast_paths: &'static [(&'static str, &'static str)],
    endpoint: fn(&ScriptedEndpoint),
}

const CASES: &[Case] = &[
    Case {
        query: "hello",
        route: Complexity::Chitchat,
        path: &[AnalyzeAndRoute, Synthesize],
        asks: &["analyze_and_route"],
        fast_paths: &[("chitchat", "chitchat")],
        endpoint: |endpoint| {
            let plan = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": "Hello!"}"#;
            endpoint.stream(AnalyzeAndRoute, plan);
        },
    },
    Case {
        query: "What is corrective grading?",
        route: Complexity::Simple,
        path: &[AnalyzeAndRoute, Plan, ToolExec, Synthesize],
        asks: &["analyze_and_route", "plan", "synthesize"],
        fast_paths: &[("simple_skip_grading", "simple")],
        endpoint: |endpoint| {
            let plan = r#"{"complexity": "simple", "query_type": "conceptual", "suggested_tools": ["hybrid_search"]}"#;
            let calls = r#"{"calls": [{"tool": "hybrid_search", "args": {"semantic_query": "corrective grading"}}]}"#;
            endpoint
                .stream(AnalyzeAndRoute, plan)
                .say(Plan, Reply::plain(calls))
                .stream(Synthesize, "It checks evidence [1].");
        },
    },
    Case {
        query: "Read rules.md and thresholds.md and compare them",
        route: Complexity::Complex,
        path: &[AnalyzeAndRoute, Plan, ToolExec, GradeEvidence, Synthesize],
        asks: &["analyze_and_route", "plan", "synthesize"],
        fast_paths: &[("rule_auto_approve", "read_file")],
        endpoint: |endpoint| {
            let plan = r#"{"complexity": "complex", "query_type": "file_discovery", "sub_questions": ["a?", "b?"]}"#;
            let calls = r#"[{"name": "read_file", "arguments": "{\"path\": \"rules.md\"}"},
                            {"name": "read_file", "arguments": {"path": "thresholds.md"}}]"#;
            endpoint
                .stream(AnalyzeAndRoute, plan)
                .stream(Plan, calls)
                .stream(Synthesize, "Rules [1], thresholds [2].");
        },
    },
];

struct Bench {
    tools: Arc<dyn Toolbox>,
    embedder: Arc<JudgeEmbedder>,
    _place: Workplace,
}

impl Bench {
    /// The engine that needs no server.
    fn built_in(&self) -> Arc<dyn Reasoner> {
        Arc::new(OfflineReasoner::new(self.embedder.clone()))
    }
}

/// The demo's files with their words indexed; the offline engine embeds what it grades itself.
fn bench() -> Bench {
    let place = Workplace::empty();
    let embedder = Arc::new(JudgeEmbedder::built_in());
    let pages = [frozen_demo::pages()];
    let knowledge = KnowledgeBase::open(&pages, place.path(), embedder.clone()).unwrap();
    let cancel = CancellationToken::new();
    // Words are enough here: meaning is measured elsewhere and takes seconds to index.
    let after_words = |progress: kb_agent::kb::Progress| {
        if progress.phase == kb_agent::kb::Phase::Embedding {
            cancel.cancel();
        }
    };
    knowledge.update(&after_words, &cancel).unwrap();
    Bench {
        tools: Arc::new(KbToolbox::new(Arc::new(knowledge))),
        embedder,
        _place: place,
    }
}

fn endpoint_reasoner(endpoint: &ScriptedEndpoint) -> Arc<dyn Reasoner> {
    let settings = EndpointSettings {
        model: None,
        timeout: Duration::from_secs(5),
        ..crate::llm_jobs::settings(endpoint.base_url())
    };
    Arc::new(EndpointReasoner::new(settings).unwrap())
}

fn check(case: &Case, mode: Mode, finished: &Finished) {
    let what = format!("{mode:?}: {}", case.query);
    assert_eq!(finished.path(), case.path, "{what}");
    assert_eq!(finished.calls().0 as usize, case.asks.len(), "{what}");
    assert_eq!(finished.fast_paths(), case.fast_paths, "{what}");
    assert_eq!(finished.outcome(), Outcome::Answered, "{what}");
    let Some(EventBody::RunStarted { mode: reported, .. }) = finished.bodies().first().copied()
    else {
        panic!("no start");
    };
    assert_eq!(*reported, mode);
    let complexity = picked!(
        finished, EventBody::RoutingPlan { plan, .. } => plan.complexity
    )
    .next();
    assert_eq!(complexity, Some(case.route), "{what}");
    let answer = finished.answer.as_ref().unwrap();
    assert_eq!(
        answer.citations.is_empty(),
        case.route == Complexity::Chitchat,
        "{what}"
    );
    assert!(finished.text().len() > 4, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_to_r10_every_route_on_both_reasoners() {
    let bench = bench();
    for case in CASES {
        let finished = run(
            bench.built_in(),
            bench.tools.clone(),
            RoutingLimits::default(),
            question_of(case.query),
        )
        .await;
        check(case, Mode::Offline, &finished);

        let endpoint = ScriptedEndpoint::start().await;
        (case.endpoint)(&endpoint);
        let reasoner = endpoint_reasoner(&endpoint);
        let finished = run(
            reasoner,
            bench.tools.clone(),
            RoutingLimits::default(),
            question_of(case.query),
        )
        .await;
        check(case, Mode::Llm, &finished);
        assert_eq!(endpoint.nodes().await, case.asks);
    }
}

/// Grading replies as models really give them; each must end in a graded or fallback run.
#[tokio::test(flavor = "multi_thread")]
async fn r18_every_odd_grading_reply_leads_on() {
    let bench = bench();
    let think = "<think>[0.1, 0.1, 0.1]</think>";
    for (reply, by) in [
        ("They all look fine.", "fallback"),
        ("[0.9]", "fallback"),
        (
            "[0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]",
            "fallback",
        ),
        ("[NaN, NaN, NaN]", "fallback"),
        ("[0.9, null, 0.9]", "fallback"),
        ("[\"high\", \"low\", \"high\"]", "fallback"),
        ("[1e999, 0.9, 0.9]", "fallback"),
        ("", "fallback"),
        ("[]", "fallback"),
        ("{\"scores\": [0.9, 0.9, 0.9]}", "grader"),
        ("```json\n[0.9, 0.9, 0.9]\n```", "grader"),
        ("Here you are: [0.9, 0.9, 0.9]. Anything else?", "grader"),
        ("[900000, 0.9, -4]", "grader"),
        (&format!("{think}[0.8, 0.9, 1.0]"), "grader"),
    ] {
        let endpoint = ScriptedEndpoint::start().await;
        let plan =
            r#"{"complexity": "complex", "query_type": "exact", "sub_questions": ["a?", "b?"]}"#;
        let calls = r#"[{"tool": "read_file", "args": {"path": "rules.md", "start_line": 1, "end_line": 3}},
            {"tool": "read_file", "args": {"path": "tools.md", "start_line": 1, "end_line": 3}},
            {"tool": "read_file", "args": {"path": "events.md", "start_line": 1, "end_line": 3}},
            {"tool": "read_file", "args": {"path": "../../etc/passwd"}},
            {"tool": "grep_search", "args": {"query": "no-such-word-anywhere"}}]"#;
        endpoint
            .stream(AnalyzeAndRoute, plan)
            .stream(Plan, calls)
            .say(GradeEvidence, Reply::plain(reply))
            .stream(Synthesize, "Fine [1].");
        let limits = RoutingLimits {
            max_iterations: 1,
            ..RoutingLimits::default()
        };
        let reasoner = endpoint_reasoner(&endpoint);
        let finished = run(
            reasoner,
            bench.tools.clone(),
            limits,
            question_of("which is which?"),
        )
        .await;
        assert_eq!(finished.outcome(), Outcome::Answered, "{reply}");
        let graded = picked!(
            finished, EventBody::EvidenceGraded { by, scores, .. } => (by.as_str(), scores.len())
        )
        .next();
        assert_eq!(graded, Some((by, 3)), "{reply}");
        let refused: Vec<_> = picked!(
            finished, EventBody::ToolFinished { error: Some(error), items: 0, .. } => error.as_str()
        )
        .collect();
        assert_eq!(refused.len(), 1, "the file outside: {refused:?}");
        assert!(
            refused[0].contains("outside the knowledge base"),
            "{refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r22_both_reasoners_end_when_nothing_is_ever_found() {
    let bench = bench();
    let nothing: Arc<dyn Toolbox> = Arc::new(crate::support::ScriptedTools::default());
    let question = "Compare quantum basket weaving with the history of tea";
    let finished = run(
        bench.built_in(),
        nothing.clone(),
        RoutingLimits::default(),
        question_of(question),
    )
    .await;
    assert_eq!(finished.outcome(), Outcome::NotFound);
    assert_eq!(
        finished
            .path()
            .iter()
            .filter(|node| **node == GradeEvidence)
            .count(),
        3
    );

    let endpoint = ScriptedEndpoint::start().await;
    endpoint
        .stream(AnalyzeAndRoute, r#"{"complexity": "complex"}"#)
        .stream(Plan, "I cannot plan this.");
    let reasoner = endpoint_reasoner(&endpoint);
    let finished = run(
        reasoner,
        nothing,
        RoutingLimits::default(),
        question_of(question),
    )
    .await;
    assert_eq!(finished.outcome(), Outcome::NotFound);
    assert_eq!(finished.calls().0, 6);
    assert!(!endpoint.nodes().await.contains(&"synthesize".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn r05_r25_the_conversation_goes_along_without_sources() {
    let bench = bench();
    let endpoint = ScriptedEndpoint::start().await;
    (CASES[1].endpoint)(&endpoint);
    let reasoner = endpoint_reasoner(&endpoint);
    let first = run(
        reasoner.clone(),
        bench.tools.clone(),
        RoutingLimits::default(),
        question_of(CASES[1].query),
    )
    .await;
    let question = RunRequest {
        history: vec![Turn {
            question: CASES[1].query.to_owned(),
            answer: kb_agent::agent::without_marks(first.text()),
        }],
        ..question_of("and its default?")
    };
    run(
        reasoner,
        bench.tools.clone(),
        RoutingLimits::default(),
        question,
    )
    .await;
    let requests = endpoint.requests().await;
    let last_analysis = requests
        .iter()
        .rev()
        .find(|request| request.node == "analyze_and_route")
        .unwrap();
    let sent = last_analysis.body.to_string();
    assert!(sent.contains("It checks evidence."), "the answer's text");
    assert!(
        !sent.contains("[1]") && !sent.contains("corrective-grading.md"),
        "not its sources"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_answer_keeps_its_stream_closed() {
    let bench = bench();
    let endpoint = ScriptedEndpoint::start().await;
    (CASES[1].endpoint)(&endpoint);
    let reasoner = endpoint_reasoner(&endpoint);
    let finished = run_until(
        reasoner,
        bench.tools.clone(),
        RoutingLimits::default(),
        question_of(CASES[1].query),
        |event| matches!(event.body, EventBody::AnswerDelta { .. }),
    )
    .await;
    // The last pieces may already have been on their way.
    assert!(matches!(
        finished.outcome(),
        Outcome::Cancelled | Outcome::Answered
    ));
}
