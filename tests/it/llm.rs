//! The endpoint engine against scripted servers: the four jobs.

use std::sync::Arc;

use kb_agent::agent::ports::{Reasoner, ReasonerError};
use kb_agent::domain::{
    Complexity, NodeName, Outcome, QueryType, RoutingPlan, ToolCall, ToolName, Turn,
};
use kb_agent::embed::{BuiltInModel, SentenceEmbedding};
use kb_agent::protocol::Mode;
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings};
use kb_agent::reasoner::offline::OfflineReasoner;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::llm_jobs::{COUNTED, answer, given, reasoner_at, settings};
use crate::scripted_endpoint::{MODEL, Reply, ScriptedEndpoint};

#[tokio::test]
async fn r01_one_call_yields_the_whole_plan() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.stream(
        NodeName::AnalyzeAndRoute,
        r#"{"query_type": "exact", "complexity": "complex", "sub_questions": ["a", "b"],
                "suggested_tools": ["grep_search"], "grep_keywords": ["PROJ-123"]}"#,
    );
    let reasoner = reasoner_at(&endpoint).await;
    let analysis = reasoner
        .analyze(given("PROJ-123 and PROJ-124?").analyze())
        .await
        .unwrap();
    assert_eq!(
        analysis.plan,
        RoutingPlan {
            query_type: QueryType::Exact,
            complexity: Complexity::Complex,
            sub_questions: vec!["a".to_owned(), "b".to_owned()],
            suggested_tools: vec![ToolName::GrepSearch],
            grep_keywords: vec!["PROJ-123".to_owned()],
            ..RoutingPlan::default()
        }
    );
    assert_eq!(analysis.usage, COUNTED);
    assert_eq!(analysis.warnings, vec![]);
    assert_eq!(endpoint.nodes().await, ["analyze_and_route"]);
}

#[tokio::test]
async fn r02_chitchat_comes_with_its_reply() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.stream(
        NodeName::AnalyzeAndRoute,
        r#"{"query_type": "chitchat", "complexity": "chitchat", "reply": "你好！"}"#,
    );
    let reasoner = reasoner_at(&endpoint).await;
    let analysis = reasoner.analyze(given("你好").analyze()).await.unwrap();
    assert_eq!(analysis.plan.complexity, Complexity::Chitchat);
    assert_eq!(analysis.reply.as_deref(), Some("你好！"));
}

/// Two times small talk is misspelled in one word, which no classifier of messages can tell.
#[tokio::test]
async fn r02_a_model_that_calls_everything_small_talk_is_not_believed() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(
        NodeName::AnalyzeAndRoute,
        Reply::plain(r#"{"query_type": "chitchat", "complexity": "chitchat", "reply": "Yes!"}"#),
    );
    let embedder = Arc::new(SentenceEmbedding::new(BuiltInModel::English));
    let reasoner = reasoner_at(&endpoint)
        .await
        .with_offline(OfflineReasoner::new(embedder));
    let golden = include_str!("fixtures/golden.jsonl").lines();
    let golden = golden.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut believed = Vec::new();
    for question in golden.filter_map(|line| line["query"].as_str().map(str::to_owned)) {
        let question: &str = question.leak();
        let analysis = reasoner.analyze(given(question).analyze()).await.unwrap();
        match analysis.plan.complexity {
            Complexity::Chitchat => believed.push(question),
            _ => assert_eq!(analysis.warnings[0].code, "small_talk_doubted"),
        }
    }
    assert_eq!(believed, ["trobleshooting", "glosary"]);
    for talk in [
        "hello",
        "thanks!",
        "Who are you?",
        "你好",
        "Danke!",
        "Привет!",
    ] {
        let analysis = reasoner.analyze(given(talk).analyze()).await.unwrap();
        assert_eq!(analysis.plan.complexity, Complexity::Chitchat, "{talk}");
        assert_eq!(analysis.reply.as_deref(), Some("Yes!"), "{talk}");
    }
}

#[tokio::test]
async fn r04_an_unreadable_analysis_falls_back_and_still_counts() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.stream(
        NodeName::AnalyzeAndRoute,
        "I would rather talk about the weather.",
    );
    let reasoner = reasoner_at(&endpoint).await;
    let analysis = reasoner.analyze(given("why?").analyze()).await.unwrap();
    assert_eq!(analysis.plan, RoutingPlan::fallback());
    assert_eq!(analysis.warnings.len(), 1);
    assert_eq!(analysis.warnings[0].code, "analysis_unreadable");
    assert_eq!(analysis.usage, COUNTED);
}

#[tokio::test]
async fn r11_the_plan_is_calls_and_what_cannot_be_called_is_said() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.stream(NodeName::Plan, "```json\n[{\"tool\": \"grep_search\", \"args\": {\"query\": \"x\"}}, {\"tool\": \"web\", \"args\": {}}]\n```");
    let reasoner = reasoner_at(&endpoint).await;
    let planned = reasoner.plan(given("x?").plan()).await.unwrap();
    let calls: Vec<ToolCall> = planned.calls.into_iter().map(|it| it.call).collect();
    assert_eq!(
        calls,
        [ToolCall::GrepSearch {
            query: "x".to_owned()
        }]
    );
    assert_eq!(planned.warnings.len(), 1);
    assert_eq!(planned.usage, COUNTED);
}

#[tokio::test]
async fn r17_all_items_are_graded_in_one_call() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.stream(
        NodeName::GradeEvidence,
        "<think>[0.1, 0.1]?</think>[0.9, 0.2]",
    );
    let reasoner = reasoner_at(&endpoint).await;
    let grades = reasoner.grade(given("threshold?").grade()).await.unwrap();
    assert_eq!(grades.scores, Ok(vec![Some(0.9), Some(0.2)]));
    assert_eq!(grades.usage, COUNTED);
    assert_eq!(endpoint.nodes().await, ["grade_evidence"]);
}

#[tokio::test]
async fn r18_a_judgement_elsewhere_than_in_the_content_is_found() {
    let message = |message: Value| {
        let body = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]});
        Reply::raw(200, "application/json", body.to_string())
    };
    let streamed = |deltas: &[Value]| {
        let events = deltas.iter().map(|delta| {
            let chunk = json!({"choices": [{"index": 0, "delta": delta}]});
            format!("data: {chunk}\n\n")
        });
        let body = events.collect::<String>() + "data: [DONE]\n\n";
        Reply::raw(200, "text/event-stream", body)
    };
    let scores = r#"{"scores": [0.9, 0.2]}"#;
    let piece = |index: usize, name: &str, piece: &str| json!({"tool_calls": [{"index": index, "function": {"name": name, "arguments": piece}}]});
    let called = json!([{"id": "c", "type": "function", "function": {"name": "grades", "arguments": scores}}]);
    for (reply, read) in [
        (
            message(json!({"content": null, "reasoning_content": scores})),
            true,
        ),
        (message(json!({"content": "", "tool_calls": called})), true),
        (
            message(
                json!({"content": null, "function_call": {"name": "grades", "arguments": scores}}),
            ),
            true,
        ),
        (
            streamed(&[
                json!({"role": "assistant", "content": null}),
                piece(0, "grades", ""),
                piece(0, "", &scores[..9]),
                piece(0, "", &scores[9..]),
            ]),
            true,
        ),
        (
            streamed(&[
                json!({"content": null, "reasoning_content": &scores[..5]}),
                json!({"content": "", "reasoning_content": &scores[5..]}),
            ]),
            true,
        ),
        (
            message(
                json!({"content": "", "reasoning_content": "Maybe [0.9, 0.2]? Or [0.1, 0.1]."}),
            ),
            false,
        ),
    ] {
        let endpoint = ScriptedEndpoint::start().await;
        endpoint.say(NodeName::GradeEvidence, reply.clone());
        let reasoner = reasoner_at(&endpoint).await;
        let grades = reasoner.grade(given("threshold?").grade()).await.unwrap();
        let scores = grades.scores.ok();
        assert_eq!(
            scores,
            read.then(|| vec![Some(0.9), Some(0.2)]),
            "{reply:?}"
        );
    }
}

#[tokio::test]
async fn r18_grades_of_another_scale_are_divided_with_a_warning() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(NodeName::GradeEvidence, Reply::plain("{'scores': [9, 2,]}"));
    let reasoner = reasoner_at(&endpoint).await;
    let grades = reasoner.grade(given("threshold?").grade()).await.unwrap();
    assert_eq!(grades.scores, Ok(vec![Some(0.9), Some(0.2)]));
    assert_eq!(grades.warnings[0].code, "grades_rescaled");
}

#[tokio::test]
async fn r18_grades_are_raw_and_their_absence_has_a_reason() {
    let endpoint = ScriptedEndpoint::start().await;
    for reply in [
        "[1.7, -0.2]",
        "[0.9]",
        "[\"high\", 0.1]",
        "Both fit [1][2].",
    ] {
        endpoint.say(NodeName::GradeEvidence, Reply::plain(reply));
    }
    let reasoner = reasoner_at(&endpoint).await;
    let given = given("threshold?");
    let mut read = Vec::new();
    for _ in 0..4 {
        let grades = reasoner.grade(given.grade()).await.unwrap();
        read.push(grades.scores.map_err(|why| why.to_string()));
    }
    assert_eq!(
        read,
        [
            Ok(vec![Some(1.7), Some(-0.2)]),
            Ok(vec![Some(0.9)]),
            Err("score 1 is \"high\", not a number".to_owned()),
            Err("the reply holds no list of numbers".to_owned()),
        ]
    );
}

#[tokio::test]
async fn r23_the_answer_streams_piece_by_piece() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(
        NodeName::Synthesize,
        Reply::streamed_in(&["The ", "default ", "is 0.8 [1]. ", "It ", "can ", "be set."]),
    );
    let reasoner = reasoner_at(&endpoint).await;
    let given = given("threshold?");
    let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
    // The first sentence comes whole: a thought may begin it that nothing opened.
    assert_eq!(
        pieces,
        ["The default is 0.8 [1]. ", "It ", "can ", "be set."]
    );
    let synthesis = result.unwrap();
    assert_eq!(synthesis.outcome, Outcome::Answered);
    assert_eq!(synthesis.usage, COUNTED);
    assert_eq!(synthesis.warnings, vec![]);
}

#[tokio::test]
async fn r23_thoughts_are_never_shown_even_cut_in_pieces() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(
        NodeName::Synthesize,
        Reply::streamed_in(&[
            "<th",
            "ink>Let me ",
            "see</thi",
            "nk>\n",
            "\nIt is ",
            "< 1 [1].",
        ]),
    );
    let reasoner = reasoner_at(&endpoint).await;
    let given = given("threshold?");
    let (pieces, _) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
    assert_eq!(pieces.concat(), "It is < 1 [1].");
}

#[tokio::test]
async fn r23_an_empty_answer_is_an_error() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint
        .say(NodeName::Synthesize, Reply::streamed_in(&[]))
        .stream(NodeName::Synthesize, "<think>all of it")
        .say(NodeName::Synthesize, Reply::plain(" \n"));
    let reasoner = reasoner_at(&endpoint).await;
    let given = given("threshold?");
    for _ in 0..3 {
        let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
        assert_eq!(pieces, Vec::<String>::new());
        assert!(
            matches!(&result, Err(ReasonerError::Protocol(trouble)) if trouble.what.contains("an empty answer")),
            "{result:?}"
        );
    }
}

#[tokio::test]
async fn r24_chitchat_is_answered_without_any_rule_about_evidence() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.stream(NodeName::Synthesize, "Hello!");
    let reasoner = reasoner_at(&endpoint).await;
    let mut given = given("hi");
    given.history = vec![Turn {
        question: "What is RRF?".to_owned(),
        answer: "A way to fuse rankings.".to_owned(),
    }];
    let (pieces, _) = answer(&reasoner, given.synthesize(Complexity::Chitchat)).await;
    assert_eq!(pieces.concat(), "Hello!");
    let sent = endpoint.requests().await.remove(0);
    assert!(!sent.body.to_string().contains("<evidence n="));
    assert!(!sent.message("system").contains("evidence"));
    assert!(sent.message("user").contains("A way to fuse rankings."));
}

#[tokio::test]
async fn requests_say_which_run_and_node_they_belong_to() {
    let endpoint = ScriptedEndpoint::start().await;
    for node in NodeName::ALL {
        endpoint.stream(node, "[]");
    }
    let reasoner = reasoner_at(&endpoint).await;
    let given = given("x?");
    reasoner.analyze(given.analyze()).await.unwrap();
    reasoner.plan(given.plan()).await.unwrap();
    reasoner.grade(given.grade()).await.unwrap();
    let (_, result) = answer(&reasoner, given.synthesize(Complexity::Complex)).await;
    result.unwrap();
    let requests = endpoint.requests().await;
    let nodes: Vec<_> = requests.iter().map(|sent| sent.node.as_str()).collect();
    assert_eq!(
        nodes,
        ["analyze_and_route", "plan", "grade_evidence", "synthesize"]
    );
    assert!(requests.iter().all(|sent| sent.run == "run-1"));
    assert!(requests.iter().all(|sent| sent.authorization.is_none()));
    assert!(requests.iter().all(|sent| sent.body["model"] == "m"));
    assert!(requests.iter().all(|sent| sent.body["stream"] == true));
    assert!(
        requests
            .iter()
            .all(|sent| sent.body["stream_options"]["include_usage"] == true)
    );
    let temperatures: Vec<_> = requests
        .iter()
        .map(|sent| sent.body["temperature"].as_f64())
        .collect();
    assert_eq!(temperatures, [Some(0.0), Some(0.0), Some(0.0), Some(0.2)]);
}

#[tokio::test]
async fn the_first_model_listed_is_used_when_none_is_named() {
    let endpoint = ScriptedEndpoint::start().await;
    let reasoner = EndpointReasoner::new(EndpointSettings {
        model: None,
        ..settings(format!("{}/", endpoint.base_url()))
    })
    .unwrap();
    assert_eq!(reasoner.identity().mode, Mode::Llm);
    assert_eq!(reasoner.identity().model, "model not known yet");
    reasoner.ready(None).await.unwrap();
    assert_eq!(reasoner.identity().model, MODEL);
}

#[tokio::test]
async fn the_key_is_sent_and_never_shown() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(
        NodeName::Plan,
        Reply::error(401, "Incorrect API key provided: sk-very-secret."),
    );
    let settings = EndpointSettings {
        api_key: Some(SecretString::from("sk-very-secret")),
        ..settings(endpoint.base_url())
    };
    let shown = format!("{settings:?}");
    let reasoner = EndpointReasoner::new(settings).unwrap();
    let error = reasoner.plan(given("x?").plan()).await.unwrap_err();
    let sent = endpoint.requests().await.remove(0);
    assert_eq!(sent.authorization.as_deref(), Some("Bearer sk-very-secret"));
    assert!(error.to_string().contains("provided: [key]"), "{error}");
    for shown in [shown, format!("{reasoner:?}"), format!("{error} {error:?}")] {
        assert!(!shown.contains("sk-very"), "{shown}");
    }
}
