//! Runs as OpenTelemetry traces: to a collector as they end, and as documents.

use std::collections::HashMap;
use std::fs;

use kb_agent::domain::NodeName;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::Value;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::fault_server::{Act, FaultServer};
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::Said;
use crate::workplace::{Workplace, ended, events, free_address, text};

const ENDPOINT: &str = "KB_AGENT_OTLP_ENDPOINT";

/// A collector that takes everything.
async fn collector() -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/traces"))
        .and(header("content-type", "application/x-protobuf"))
        .respond_with(ResponseTemplate::new(200))
        .mount(&server)
        .await;
    server
}

async fn taken(server: &MockServer) -> Vec<ExportTraceServiceRequest> {
    let requests = server.received_requests().await.unwrap();
    let bodies = requests.into_iter().map(|request| request.body);
    bodies
        .map(|body| ExportTraceServiceRequest::decode(&body[..]).unwrap())
        .collect()
}

fn spans(request: &ExportTraceServiceRequest) -> &[Span] {
    &request.resource_spans[0].scope_spans[0].spans
}

fn attributes(pairs: &[KeyValue]) -> HashMap<&str, &Any> {
    let pairs = pairs.iter();
    pairs
        .map(|pair| {
            (
                pair.key.as_str(),
                pair.value.as_ref().unwrap().value.as_ref().unwrap(),
            )
        })
        .collect()
}

fn string<'a>(span: &'a Span, name: &str) -> &'a str {
    match attributes(&span.attributes).get(name) {
        Some(Any::StringValue(value)) => value,
        other => panic!("{name} of {} is {other:?}", span.name),
    }
}

/// The last call of a model.
fn last_call(spans: &[Span]) -> &Span {
    let call = spans.iter().rfind(|span| span.name.starts_with("chat "));
    call.unwrap()
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found = spans.iter().find(|span| span.name == name);
    found.unwrap_or_else(|| panic!("no span {name}"))
}

/// What is looked for is an attribute, and what became of a passage stands beside it.
fn check_attributes(spans: &[Span]) {
    let (run, searched) = (&spans[0], named(spans, "tool_exec"));
    let all = attributes(&run.attributes);
    for name in ["kb_agent.settings.keep_from", "kb_agent.average"] {
        assert!(matches!(all[name], Any::DoubleValue(_)), "{name}: {all:?}");
    }
    string(run, "kb_agent.query_type");
    string(named(spans, "grade_evidence"), "kb_agent.action");
    let found = string(searched, "retrieval.documents.0.document.metadata");
    let found: Value = serde_json::from_str(found).unwrap();
    assert_eq!(found["id"], "e1");
    assert!(
        found["grade"].is_number() && found["cited"].is_boolean(),
        "{found}"
    );
    let mut calls = spans
        .iter()
        .filter(|span| span.name == "execute_tool hybrid_search");
    let has_documents = |span: &Span| {
        attributes(&span.attributes).contains_key("retrieval.documents.0.document.id")
    };
    assert!(calls.any(has_documents));
    let nodes = spans
        .iter()
        .filter(|span| span.parent_span_id == run.span_id);
    let starts: Vec<u64> = nodes.map(|span| span.start_time_unix_nano).collect();
    assert!(starts.is_sorted_by(|a, b| a < b), "{starts:?}");
}

#[tokio::test]
async fn a_run_that_ends_is_sent_as_a_trace_without_texts_and_exported_as_the_same() {
    let (server, demo) = (collector().await, Workplace::with_demo());
    let question = "What is the difference between REFINE and RE_RETRIEVE?";
    let mut command = demo.command(&["ask", question]);
    command.env(ENDPOINT, server.uri());
    let output = ended(command);
    assert!(output.status.success(), "{}", text(&output.stderr));

    let taken = taken(&server).await;
    let [request] = taken.as_slice() else {
        panic!("{} requests", taken.len());
    };
    let resource = request.resource_spans[0].resource.as_ref().unwrap();
    let resource = attributes(&resource.attributes);
    assert_eq!(
        resource["service.name"],
        &Any::StringValue("kb-agent".to_owned())
    );
    let spans = spans(request);
    let run = &spans[0];
    assert_eq!(run.name, "invoke_agent kb-agent");
    assert!(run.parent_span_id.is_empty());
    assert_eq!(string(run, "openinference.span.kind"), "AGENT");
    assert_eq!(string(run, "kb_agent.route"), "complex");
    assert_eq!(string(run, "kb_agent.outcome"), "answered");
    let id = demo.place().audit()[0]["run"]
        .as_str()
        .unwrap()
        .replace('-', "");
    let trace = run.trace_id.iter().map(|byte| format!("{byte:02x}"));
    assert_eq!(trace.collect::<String>(), id);

    let searched = named(spans, "tool_exec");
    assert_eq!(searched.parent_span_id, run.span_id);
    assert_eq!(string(searched, "openinference.span.kind"), "RETRIEVER");
    string(searched, "retrieval.documents.0.document.id").must_hold(".md:");
    let documents = attributes(&searched.attributes);
    assert!(
        matches!(documents["retrieval.documents.0.document.score"], Any::DoubleValue(score) if *score > 0.0)
    );
    let tool = named(spans, "execute_tool hybrid_search");
    assert_eq!(tool.parent_span_id, searched.span_id);
    assert_eq!(string(tool, "gen_ai.tool.name"), "hybrid_search");
    let graded = named(spans, "grade_evidence");
    let decisions: Vec<&str> = graded
        .events
        .iter()
        .map(|event| event.name.as_str())
        .collect();
    assert!(
        decisions.contains(&"evidence_graded") && decisions.contains(&"route_decided"),
        "{decisions:?}"
    );
    for span in spans {
        assert_eq!(span.trace_id, run.trace_id);
        assert!(
            span.start_time_unix_nano <= span.end_time_unix_nano,
            "{span:?}"
        );
        assert!(
            span.start_time_unix_nano >= run.start_time_unix_nano,
            "{span:?}"
        );
    }
    let all = format!("{request:?}");
    for word in [
        "difference",
        "input.value",
        "output.value",
        "document.content",
    ] {
        all.must_lack(word);
    }

    check_attributes(spans);

    let exported = demo
        .run_well(&["export", "last", "--format", "otlp"])
        .stdout;
    assert_eq!(text(&exported).lines().count(), 1);
    let exported: ExportTraceServiceRequest = serde_json::from_slice(&exported).unwrap();
    assert_eq!(&exported, request);
    let refused = demo.run(&["export", "last", "--send"]);
    assert_eq!(refused.status.code(), Some(2));
    text(&refused.stderr).must_hold(ENDPOINT);
}

#[tokio::test]
async fn an_old_run_is_sent_with_headers_to_a_collector_that_is_busy_at_first() {
    let (server, place) = (MockServer::start().await, Workplace::empty());
    place.run_well(&["ask", "hello"]);
    let busy = ResponseTemplate::new(503).insert_header("retry-after", "0");
    Mock::given(method("POST"))
        .respond_with(busy)
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(header("authorization", "Basic cGs6c2s="))
        .respond_with(ResponseTemplate::new(200))
        .mount(&server)
        .await;
    let send = |headers: &str| {
        let mut command = place.command(&["export", "last", "--send"]);
        command
            .env(ENDPOINT, server.uri())
            .env("KB_AGENT_OTLP_HEADERS", headers);
        ended(command)
    };
    let accepted = send("Authorization=Basic%20cGs6c2s=");
    assert!(accepted.status.success(), "{}", text(&accepted.stderr));
    text(&accepted.stdout).must_hold("sent 1 run to ");
    assert_eq!(taken(&server).await.len(), 2);
    let failed = send("authorization=other");
    assert_eq!(failed.status.code(), Some(1));
    text(&failed.stderr).must_hold("KB_AGENT_OTLP_HEADERS");
}

#[tokio::test]
async fn what_failed_is_marked_with_its_kind() {
    let (server, place) = (collector().await, Workplace::with_gate());
    place.index();
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.stream(
        NodeName::AnalyzeAndRoute,
        r#"{"query_type": "chitchat", "complexity": "chitchat"}"#,
    );
    endpoint.say(NodeName::Synthesize, Reply::error(500, "broken"));
    let mut command = place.command(&["ask", "--kb", "kb", "--route", "chitchat", "hello"]);
    command
        .env(ENDPOINT, server.uri())
        .env("KB_AGENT_LLM_RETRIES", "0")
        .env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
    assert_eq!(ended(command).status.code(), Some(1));
    let taken = taken(&server).await;
    let spans = spans(&taken[0]);
    let call = last_call(spans);
    for span in [&spans[0], named(spans, "synthesize"), call] {
        assert_eq!(span.status.as_ref().unwrap().code, 2, "{}", span.name);
        assert_eq!(string(span, "error.type"), "500");
    }
    assert_eq!(string(call, "gen_ai.provider.name"), "openai");
}

#[tokio::test]
async fn a_trace_with_texts_holds_prompts_and_usage_and_no_secret() {
    let (server, place) = (collector().await, Workplace::with_gate());
    place.index();
    let endpoint = ScriptedEndpoint::start().await;
    let plan = r#"{"query_type": "chitchat", "complexity": "chitchat"}"#;
    endpoint.say(NodeName::AnalyzeAndRoute, Reply::streamed(plan));
    endpoint.say(NodeName::Synthesize, Reply::streamed("Hello to you."));
    let secret = "sk-proj-4f9d2c7b1e8a6035d1f27c94b8a3e650";
    let question = format!("hi, my key is {secret}");
    let arguments = ["ask", "--kb", "kb", "--route", "chitchat", &question];
    let mut command = place.command(&arguments);
    command
        .env(ENDPOINT, format!("{}/v1/traces", server.uri()))
        .env("KB_AGENT_AUDIT_PROMPTS", "1")
        .env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
    let output = ended(command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let taken = taken(&server).await;
    let spans = spans(&taken[0]);
    let call = last_call(spans);
    assert_eq!(string(call, "openinference.span.kind"), "LLM");
    string(call, "input.value").must_hold("my key is");
    string(call, "output.value").must_hold("Hello to you.");
    assert_eq!(string(call, "llm.input_messages.0.message.role"), "system");
    assert_eq!(string(call, "output.mime_type"), "text/plain");
    string(named(spans, "synthesize"), "output.value").must_hold("Hello to you.");
    let counted = attributes(&call.attributes);
    assert!(matches!(counted["gen_ai.usage.input_tokens"], Any::IntValue(count) if *count > 0));
    string(&spans[0], "input.value").must_hold("hi, my key is");
    string(&spans[0], "output.value").must_hold("Hello to you.");
    format!("{taken:?}").must_lack(secret);
}

#[test]
fn a_collector_that_is_down_or_silent_delays_and_fails_nothing() {
    let silent = FaultServer::start(&[("", vec![Act::Hang(Vec::new())])]);
    for (address, line) in [
        (free_address(), "traces are not taken: "),
        (
            silent.address().to_owned(),
            "a trace that the collector did not take in time",
        ),
    ] {
        let place = Workplace::with_gate();
        place.index();
        let mut command =
            place.command(&["ask", "--kb", "kb", "What is the threshold of the gate?"]);
        command.env(ENDPOINT, format!("http://{address}"));
        let output = ended(command);
        assert!(output.status.success());
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout).must_hold("seven");
        assert_eq!(
            events(&place.audit(), "run_finished")[0]["outcome"],
            "answered"
        );
        let logs = fs::read_dir(place.data().join("logs")).unwrap();
        let logs = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap());
        let logs: String = logs.collect();
        assert_eq!(logs.matches(line).count(), 1, "{logs}");
    }
}

#[tokio::test]
async fn doctor_says_whether_the_collector_takes_traces() {
    let (server, place) = (collector().await, Workplace::with_gate());
    let check = |address: String| {
        let mut command = place.command(&["doctor", "--json", "--kb", "kb"]);
        command.env(ENDPOINT, address);
        let report: Value = serde_json::from_slice(&ended(command).stdout).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        let mut checks = checks.into_iter();
        checks.find(|check| check["area"] == "traces").unwrap()
    };
    assert_eq!(check(server.uri())["status"], "ok");
    let down = check(format!("http://{}", free_address()));
    assert_eq!(down["status"], "broken", "{down}");
    down["next"].as_str().unwrap().must_hold(ENDPOINT);
    let other = check(format!("{}/elsewhere", server.uri()));
    other["detail"].as_str().unwrap().must_hold("404");
}

#[test]
fn where_traces_go_is_for_the_user_to_say() {
    let place = Workplace::holding([
        ("kb/gate.md", "# Gate\n"),
        (
            ".env",
            "KB_AGENT_OTLP_ENDPOINT=http://collector.example:4318\n",
        ),
    ]);
    let output = place.run(&["ask", "--kb", "kb", "hello"]);
    assert_eq!(output.status.code(), Some(0));
    text(&output.stderr).must_hold(ENDPOINT);
    let mut command = place.command(&["ask", "hello"]);
    command.env(ENDPOINT, "collector");
    let output = ended(command);
    assert_eq!(output.status.code(), Some(2));
    text(&output.stderr).must_hold("KB_AGENT_OTLP_ENDPOINT is 'collector': it must be");
}
