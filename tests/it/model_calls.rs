//! What a run tells of its calls of a model, and who may read what was said in them.

use kb_agent::agent::ports::{CallLog, Reasoner};
use kb_agent::domain::NodeName;
use kb_agent::reasoner::llm::EndpointReasoner;
use serde_json::Value;

use crate::llm_jobs::{given, settings};
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::workplace::{Workplace, events, json_lines, text};

const SECRET: &str = "sk-abcdefghijklmnop1234";
const PLAN: &str = r#"{"query_type": "conceptual", "complexity": "simple",
    "suggested_tools": ["hybrid_search"]}"#;
const CALLS: &str = r#"[{"tool": "hybrid_search", "args": {"semantic_query": "threshold"}}]"#;

/// The events of one run by an endpoint, as `ask --json` prints them and as the log holds them.
async fn asked(prompts: Option<&str>) -> (Vec<Value>, Vec<Value>) {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint
        .stream(NodeName::AnalyzeAndRoute, PLAN)
        .stream(NodeName::Plan, CALLS)
        .stream(NodeName::Synthesize, "So it is [1].");
    let demo = Workplace::with_demo();
    let question = format!("which threshold, and is {SECRET} one?");
    let mut command = demo.command(&["ask", "--json", &question]);
    command.env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
    if let Some(prompts) = prompts {
        command.env("KB_AGENT_AUDIT_PROMPTS", prompts);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    (json_lines(&output.stdout), demo.place().audit())
}

#[tokio::test(flavor = "multi_thread")]
async fn model_called_tells_each_call_and_keeps_what_was_said_to_itself() {
    for prompts in [None, Some("0")] {
        let (emitted, log) = asked(prompts).await;
        for lines in [emitted, log] {
            let calls = events(&lines, "model_called");
            let nodes: Vec<_> = calls.iter().map(|call| &call["node"]).collect();
            assert_eq!(nodes, ["analyze_and_route", "plan", "synthesize"]);
            for (at, call) in calls.iter().enumerate() {
                assert_eq!(call["call"], at);
                assert_eq!(call["retries"], 0);
                assert!(call["ms"].as_f64().unwrap() > 0.0);
                assert!(call["model"].is_string());
                assert!(call["prompt_tokens"].as_u64().unwrap() > 0);
                assert_eq!(call.get("prompt"), None, "{call}");
                assert_eq!(call.get("reply"), None, "{call}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_reach_the_log_masked_and_only_when_they_are_asked_for() {
    let (emitted, log) = asked(Some("1")).await;
    for lines in [emitted, log] {
        let calls = events(&lines, "model_called");
        let prompt = calls[0]["prompt"].as_str().unwrap();
        assert!(prompt.starts_with("[system]\n"), "{prompt}");
        assert!(prompt.contains("\n\n[user]\n"), "{prompt}");
        assert!(prompt.contains("is [masked] one?"), "{prompt}");
        assert_eq!(calls[0]["reply"], PLAN);
        assert_eq!(calls[2]["reply"], "So it is [1].");
        for call in calls {
            assert!(!call.to_string().contains("abcdefghijklmnop"), "{call}");
        }
    }
}

#[tokio::test]
async fn a_call_that_fails_is_noted_with_what_was_sent() {
    let endpoint = ScriptedEndpoint::start().await;
    endpoint.say(
        NodeName::AnalyzeAndRoute,
        Reply::error(400, "no such thing"),
    );
    let reasoner = EndpointReasoner::new(settings(endpoint.base_url())).unwrap();
    let (given, log) = (given("which?"), CallLog::default());
    let mut job = given.analyze();
    job.origin.calls = Some(&log);
    assert!(reasoner.analyze(job).await.is_err());
    let [call] = &log.take()[..] else {
        panic!("not one call");
    };
    assert_eq!((call.model.as_str(), &call.reply), ("m", &None));
    assert!(call.prompt.contains("which?"), "{}", call.prompt);
    assert_eq!(log.take(), []);
}

#[test]
fn an_offline_plan_says_what_decided_it_and_calls_no_model() {
    let demo = Workplace::with_demo();
    for (question, cue, measured) in table![
        "Compare vector_search with grep_search", "two things are compared", None;
        "What is corrective grading?", "one meaning is asked for; nothing to compare", Some("complex");
        "hello there", "small talk; nothing to look up", Some("chitchat");
    ] {
        let emitted = demo.ask(&[question]);
        assert!(events(&emitted, "model_called").is_empty());
        let because = &events(&emitted, "routing_plan")[0]["because"];
        assert_eq!(because[0]["cue"], cue, "{because}");
        // The sentence is for people; what was measured stands behind it, with its threshold.
        assert!(!because[0]["weight"].is_number(), "{because}");
        assert_eq!(because[1]["cue"].as_str(), measured, "{because}");
        for number in ["probability", "threshold"] {
            assert_eq!(
                because[1][number].is_number(),
                measured.is_some(),
                "{because}"
            );
        }
    }
    // The user decided, and no rule did.
    let emitted = demo.ask(&["--route", "complex", "What is corrective grading?"]);
    assert_eq!(events(&emitted, "routing_plan")[0].get("because"), None);
}
