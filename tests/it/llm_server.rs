//! The endpoint engine against llama.cpp's own server over a random-weight model.
//!
//! `tests/llm-server/serve_llm.sh` starts it. The model's words mean nothing, so what is tested
//! is that real bytes are understood and that nonsense is survived.

use std::time::Duration;

use kb_agent::agent::ports::Reasoner;
use kb_agent::domain::{Complexity, Outcome, RoutingPlan};
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings};

use crate::llm_jobs::{TOOLS, answer, given, item};

async fn reasoner() -> EndpointReasoner {
    let base_url = std::env::var("KB_AGENT_TEST_LLM_URL").expect(
        "KB_AGENT_TEST_LLM_URL is not set: run tests/llm-server/serve_llm.sh 18080 18081 and set \
         it to http://127.0.0.1:18080/v1",
    );
    EndpointReasoner::connect(EndpointSettings {
        base_url,
        api_key: std::env::var("KB_AGENT_TEST_LLM_KEY").ok().map(Into::into),
        model: None,
        timeout: Duration::from_mins(1),
        tools: &TOOLS,
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn the_model_is_found_by_asking() {
    assert_eq!(reasoner().await.identity().model, "tiny-chat");
}

#[tokio::test]
async fn r04_real_nonsense_is_survived_and_counted() {
    let reasoner = reasoner().await;
    let given = given("What is the threshold?");
    let analysis = reasoner.analyze(given.analyze()).await.unwrap();
    assert_eq!(analysis.plan, RoutingPlan::fallback());
    assert_eq!(analysis.usage.calls, 1);
    assert!(
        analysis
            .usage
            .prompt_tokens
            .is_some_and(|count| count > 100)
    );
    assert!(
        analysis
            .usage
            .completion_tokens
            .is_some_and(|count| count > 0)
    );
    let planned = reasoner.plan(given.plan()).await.unwrap();
    assert_eq!(planned.calls, vec![]);
    let grades = reasoner.grade(given.grade()).await.unwrap();
    assert!(grades.scores.is_err(), "{grades:?}");
}

#[tokio::test]
async fn r23_a_real_stream_arrives_in_pieces() {
    let reasoner = reasoner().await;
    let given = given("What is the threshold?");
    let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
    assert!(pieces.len() > 1, "{pieces:?}");
    assert_eq!(result.unwrap().outcome, Outcome::Answered);
}

#[tokio::test]
async fn a_real_overflow_names_the_sizes() {
    let reasoner = reasoner().await;
    let mut given = given("What is the threshold?");
    given.context = (0..20)
        .map(|_| item("a.md", &"évidence ".repeat(600)))
        .collect();
    let error = reasoner.grade(given.grade()).await.unwrap_err().to_string();
    assert!(
        error.contains("exceeds the available context size"),
        "{error}"
    );
    assert!(error.contains("give the model a larger context"), "{error}");
}
