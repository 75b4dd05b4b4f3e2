//! The endpoint engine against llama.cpp's own server over a random-weight model.
//!
//! `tests/llm-server/serve_llm.sh` starts it. The model's words mean nothing, so what is tested
//! is that real bytes are understood and that nonsense is survived.

#![allow(clippy::print_stderr)]

use std::collections::BTreeMap;
use std::time::Duration;

use kb_agent::agent::ports::{Caveat, Reasoner};
use kb_agent::domain::{Complexity, NodeName, Outcome, RoutingPlan};
use kb_agent::engine::RunRequest;
use kb_agent::protocol::{Event, EventBody};
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings, Jobs};
use tokio_util::sync::CancellationToken;

use crate::engine::engine_with;
use crate::llm_jobs::{answer, given, item, settings};
use crate::support::check_stream;
#[cfg(unix)]
use crate::workplace::signal;
use crate::workplace::{Workplace, json_lines, text};

fn reasoner() -> EndpointReasoner {
    let base_url = std::env::var("KB_AGENT_TEST_LLM_URL").expect(
        "KB_AGENT_TEST_LLM_URL is not set: run tests/llm-server/serve_llm.sh 18080 18081 and set \
         it to http://127.0.0.1:18080/v1",
    );
    EndpointReasoner::new(EndpointSettings {
        api_key: std::env::var("KB_AGENT_TEST_LLM_KEY").ok().map(Into::into),
        model: None,
        timeout: Duration::from_mins(1),
        jobs: short(),
        ..settings(base_url)
    })
    .unwrap()
}

/// Random weights do not know when to stop.
fn short() -> Jobs {
    let mut jobs = Jobs::default();
    for job in [
        &mut jobs.analyze,
        &mut jobs.plan,
        &mut jobs.grade,
        &mut jobs.synthesize,
    ] {
        job.max_tokens = Some(256);
    }
    jobs
}

/// The same limits for the binary.
const SHORT: [&str; 4] = [
    "KB_AGENT_LLM_MAX_TOKENS_ANALYZE",
    "KB_AGENT_LLM_MAX_TOKENS_PLAN",
    "KB_AGENT_LLM_MAX_TOKENS_GRADE",
    "KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE",
];

#[tokio::test]
#[cfg_attr(not(feature = "llm-server-tests"), ignore = "needs a chat server")]
async fn the_model_is_found_by_asking() {
    let reasoner = reasoner();
    reasoner.ready(None).await.unwrap();
    assert_eq!(reasoner.identity().model, "tiny-chat");
}

/// A grammar makes even a model of random weights reply in form, unless it runs into its limit.
#[tokio::test]
#[cfg_attr(not(feature = "llm-server-tests"), ignore = "needs a chat server")]
async fn r04_real_nonsense_is_survived_and_counted() {
    let reasoner = reasoner();
    let given = given("What is the threshold?");
    for _ in 0..5 {
        let analysis = reasoner.analyze(given.analyze()).await.unwrap();
        let unreadable = analysis
            .warnings
            .iter()
            .any(|caveat| caveat.code == "analysis_unreadable");
        assert!(
            !unreadable || analysis.plan == RoutingPlan::fallback(),
            "{analysis:?}"
        );
        let usage = analysis.usage;
        assert_eq!((usage.calls, usage.estimated), (1, false));
        assert!(usage.prompt_tokens.is_some_and(|count| count > 100));
        assert!(usage.completion_tokens.is_some_and(|count| count > 0));
        let planned = reasoner.plan(given.plan()).await.unwrap();
        let adapted = |caveat: &Caveat| caveat.code == "endpoint_adapted";
        assert!(!planned.warnings.iter().any(adapted), "{planned:?}");
        let grades = reasoner.grade(given.grade()).await.unwrap();
        assert_eq!(grades.usage.calls, 1);
    }
}

#[tokio::test]
#[cfg_attr(not(feature = "llm-server-tests"), ignore = "needs a chat server")]
async fn r23_a_real_stream_arrives_in_pieces() {
    let reasoner = reasoner();
    let given = given("What is the threshold?");
    let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
    assert!(pieces.len() > 1, "{pieces:?}");
    assert_eq!(result.unwrap().outcome, Outcome::Answered);
}

#[tokio::test]
#[cfg_attr(not(feature = "llm-server-tests"), ignore = "needs a chat server")]
async fn a_real_overflow_is_trimmed_and_asked_once_more() {
    let reasoner = reasoner();
    let mut given = given("What is the threshold?");
    given.context = (0..4)
        .map(|_| item("a.md", &"évidence ".repeat(600)))
        .collect();
    let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
    let synthesis = result.unwrap();
    assert!(!pieces.is_empty());
    let codes = synthesis.warnings.iter().map(|caveat| caveat.code);
    let codes: Vec<_> = codes.collect();
    assert!(codes.contains(&"context_overflow"), "{codes:?}");
}

fn read_back(output: &std::process::Output) -> Vec<Event> {
    json_lines(&output.stdout)
        .into_iter()
        .map(|value| serde_json::from_value(value).unwrap())
        .collect()
}

#[test]
#[cfg_attr(not(feature = "llm-server-tests"), ignore = "needs a chat server")]
fn whole_runs_walk_legal_edges_end_and_count_usage() {
    let url = std::env::var("KB_AGENT_TEST_LLM_URL").unwrap();
    let demo = Workplace::with_demo();
    for route in ["auto", "chitchat", "simple", "complex"] {
        for question in ["hello", "compare plan with tool_exec", "路由是什么？"] {
            let output = demo
                .command(&["ask", "--json", "--route", route, question])
                .env("KB_AGENT_LLM_BASE_URL", &url)
                .env("KB_AGENT_LLM_DECIDES", "model")
                .envs(SHORT.map(|name| (name, "256")))
                .output()
                .unwrap();
            let events = read_back(&output);
            check_stream(&events);
            let Some(EventBody::RunFinished {
                outcome,
                prompt_tokens,
                completion_tokens,
                error,
                ..
            }) = events.last().map(|event| &event.body)
            else {
                panic!("no end");
            };
            assert!(*prompt_tokens > 100 && *completion_tokens > 0);
            if *outcome != Outcome::Answered {
                // The evidence may be more than this small model's context holds.
                let error = error.as_deref().unwrap_or_default();
                assert!(
                    error.contains("context size"),
                    "{route}: {question}: {error}"
                );
                assert_eq!(output.status.code(), Some(1));
                assert!(text(&output.stderr).contains(error));
            }
        }
    }
}

/// A hundred runs with a grammar for every reply, and a hundred with nothing but the prompt; every
/// third is cancelled, each in another node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(not(feature = "llm-server-tests"), ignore = "needs a chat server")]
async fn two_hundred_runs_end_whatever_a_model_says() {
    const RUNS: usize = 100;
    let url = std::env::var("KB_AGENT_TEST_LLM_URL").unwrap();
    let mut unreadable = Vec::new();
    for structured in ["json_schema", "prompt"] {
        let place = Workplace::empty();
        let server =
            format!("[[server]]\nname = \"this\"\nat = [\"*\"]\nstructured = \"{structured}\"\n");
        place.file("data/servers.toml", &server);
        let limits = SHORT.map(|name| (name, if name.ends_with("PLAN") { "128" } else { "48" }));
        let model_decides = [
            ("KB_AGENT_LLM_SERVER", "this"),
            ("KB_AGENT_LLM_DECIDES", "model"),
        ];
        let settings = [&model_decides[..], &limits[..]].concat();
        let engine = engine_with(&place, &url, &settings).await.unwrap();
        let indexed = engine
            .knowledge()
            .update(&|_| (), &CancellationToken::new());
        assert_eq!(indexed.unwrap().added, 1);
        let mut outcomes = BTreeMap::<&str, usize>::new();
        let mut warnings = BTreeMap::<String, usize>::new();
        for at in 0..RUNS {
            let route = [
                None,
                Some(Complexity::Chitchat),
                Some(Complexity::Simple),
                Some(Complexity::Complex),
            ][at % 4];
            let query = ["hello", "compare plan with tool_exec", "路由是什么？"][at % 3];
            let stop_in = (at % 3 == 0).then(|| NodeName::ALL[at / 3 % NodeName::ALL.len()]);
            let cancel = CancellationToken::new();
            let question = RunRequest {
                query: query.to_owned(),
                route,
                ..RunRequest::default()
            };
            let mut run = engine.stream(question, cancel.clone()).await.unwrap();
            let mut events = Vec::new();
            let mut entered = false;
            while let Some(event) = run.next_event().await {
                if let EventBody::NodeEntered { node, .. } = &event.body
                    && Some(*node) == stop_in
                {
                    entered = true;
                    cancel.cancel();
                }
                if let EventBody::Warning { code, .. } = &event.body {
                    *warnings.entry(code.clone()).or_default() += 1;
                }
                events.push(event);
            }
            check_stream(&events);
            let Some(EventBody::RunFinished {
                outcome,
                prompt_tokens,
                ..
            }) = events.last().map(|event| &event.body)
            else {
                panic!("{structured} {at}: no end");
            };
            // What was cancelled in its first node has had no reply that could be counted.
            assert!(
                entered || *prompt_tokens > 0,
                "{structured} {at}: {events:?}"
            );
            *outcomes.entry(outcome.as_str()).or_default() += 1;
        }
        eprintln!("{structured}: {outcomes:?}, warnings {warnings:?}");
        unreadable.push(warnings.get("analysis_unreadable").copied().unwrap_or(0));
        // What the model asks for is mostly found nowhere; that nothing breaks is what matters.
        assert_eq!(
            outcomes.keys().copied().collect::<Vec<_>>(),
            ["answered", "cancelled", "not_found"]
        );
        // A run may be over before its cancel arrives, most of all in its last node.
        assert!(outcomes["cancelled"] >= RUNS / 10, "{outcomes:?}");
    }
    // A grammar makes readable what without one never is: both ways were really gone.
    assert!(unreadable[0] < unreadable[1], "{unreadable:?}");
}

#[cfg(unix)]
#[test]
#[cfg_attr(not(feature = "llm-server-tests"), ignore = "needs a chat server")]
fn runs_are_closed_when_cancelled_at_any_stage() {
    use std::io::BufRead;
    use std::process::Stdio;
    let url = std::env::var("KB_AGENT_TEST_LLM_URL").unwrap();
    let demo = Workplace::with_demo();
    for stage in ["analyze_and_route", "plan", "grade_evidence", "synthesize"] {
        let mut child = demo
            .command(&[
                "ask",
                "--json",
                "--route",
                "complex",
                "compare plan with tool_exec",
            ])
            .env("KB_AGENT_LLM_BASE_URL", &url)
            .env("KB_AGENT_LLM_DECIDES", "model")
            .envs(SHORT.map(|name| (name, "256")))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut events: Vec<Event> = Vec::new();
        for line in std::io::BufReader::new(child.stdout.take().unwrap()).lines() {
            let event: Event = serde_json::from_str(&line.unwrap()).unwrap();
            if let EventBody::NodeEntered { node, .. } = &event.body
                && node.as_str() == stage
            {
                signal("INT", child.id());
            }
            events.push(event);
        }
        check_stream(&events);
        // A node may be done before the signal arrives; then the run ends as it would have.
        let Some(EventBody::RunFinished { outcome, .. }) = events.last().map(|event| &event.body)
        else {
            panic!("no end");
        };
        let code = child.wait().unwrap().code();
        match outcome {
            Outcome::Cancelled => assert_eq!(code, Some(130), "{stage}"),
            Outcome::Failed => assert_eq!(code, Some(1), "{stage}"),
            other => assert_eq!((*other, code), (Outcome::Answered, Some(0)), "{stage}"),
        }
    }
}
