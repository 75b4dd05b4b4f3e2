//! Services whose own API is another one, through the addresses at which they speak this one: replies
//! as their documentation shows them.

use kb_agent::agent::ports::Reasoner;
use kb_agent::domain::Complexity;
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings};
use serde_json::{Value, json};

use crate::fault_server::{Act, FaultServer, reply, says, stream};
use crate::llm_jobs::{answer, given, settings};

fn as_json(body: &Value) -> Act {
    let headers = "Content-Type: application/json\r\n";
    Act::Keep(reply("200 OK", headers, body.to_string()))
}

fn chunks(chunks: &[Value]) -> Act {
    let events = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    stream(events.collect::<String>() + "data: [DONE]\n\n")
}

fn reasoner(server: &FaultServer, name: &str) -> EndpointReasoner {
    let settings = EndpointSettings {
        server: Some(name.to_owned()),
        model: None,
        api_key: Some("sk-test".to_owned().into()),
        ..settings(server.base_url())
    };
    EndpointReasoner::new(settings).unwrap()
}

#[tokio::test]
async fn r23_claude_is_asked_at_its_compatible_address() {
    let chunk = |delta: Value, reason: Value| {
        json!({"id": "msg_01XFDUDYJgAACzvnptvVoYEL", "object": "chat.completion.chunk",
            "created": 1_764_288_000, "model": "claude-sonnet-4-5-20250929",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let models = json!({"data": [{"type": "model", "id": "claude-sonnet-4-5-20250929",
        "display_name": "Claude Sonnet 4.5", "created_at": "2025-09-29T00:00:00Z"}],
        "first_id": "claude-sonnet-4-5-20250929", "has_more": false, "last_id": null});
    let server = FaultServer::start(&[
        ("", vec![as_json(&models)]),
        (
            "grade_evidence",
            vec![says("```json\n{\"scores\": [0.9, 0.1]}\n```")],
        ),
        (
            "synthesize",
            vec![chunks(&[
                chunk(json!({"role": "assistant", "content": ""}), Value::Null),
                chunk(json!({"content": "It is 0.8 "}), Value::Null),
                chunk(json!({"content": "[1]."}), Value::Null),
                chunk(json!({}), json!("stop")),
            ])],
        ),
    ]);
    let reasoner = reasoner(&server, "anthropic");
    let given = given("What is the threshold?");
    let grades = reasoner.grade(given.grade()).await.unwrap();
    assert_eq!(grades.scores.unwrap(), [Some(0.9), Some(0.1)]);
    let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
    assert_eq!(pieces.concat(), "It is 0.8 [1].");
    assert_eq!(result.unwrap().warnings, []);
    let seen = server.seen();
    for seen in &seen {
        assert_eq!(seen.headers["anthropic-version"], "2023-06-01");
    }
    assert_eq!(seen[0].headers["x-api-key"], "sk-test");
    assert!(!seen[0].headers.contains_key("authorization"));
    assert_eq!(seen[1].headers["authorization"], "Bearer sk-test");
    // What is not heeded is not asked for: the form stands in the prompt.
    assert!(!seen[1].body.contains("response_format"));
    assert!(seen[1].body.contains("claude-sonnet-4-5-20250929"));
}

#[tokio::test]
async fn r23_gemini_is_asked_at_its_compatible_address() {
    let chunk = |content: &str, reason: Value, tokens: u32| {
        json!({"choices": [{"delta": {"content": content, "role": "assistant",
            "extra_content": {"google": {"thought_signature": "CiQBVKhc7"}}},
            "finish_reason": reason, "index": 0}],
            "created": 1_764_288_000, "id": "xyz", "model": "gemini-2.5-flash",
            "object": "chat.completion.chunk",
            "usage": {"completion_tokens": tokens, "prompt_tokens": 400, "total_tokens": 400 + tokens}})
    };
    let models = json!({"object": "list", "data": [
        {"id": "models/gemini-embedding-001", "object": "model", "owned_by": "google"},
        {"id": "models/imagen-4.0-generate-001", "object": "model", "owned_by": "google"},
        {"id": "models/gemini-2.5-flash", "object": "model", "owned_by": "google"}]});
    let refused = json!([{"error": {"code": 400, "status": "INVALID_ARGUMENT",
        "message": "Invalid JSON payload received. Unknown name \"maxItems\": Cannot find field."}}]);
    let refused = reply(
        "400 Bad Request",
        "Content-Type: application/json\r\n",
        refused.to_string(),
    );
    let server = FaultServer::start(&table![
        "", vec![as_json(&models)];
        "grade_evidence", vec![Act::Keep(refused), says("{\"scores\": [0.9, 0.1]}")];
        "synthesize",
            vec![chunks(&[chunk("It is 0.8 ", Value::Null, 4), chunk("[1].", json!("stop"), 9)])];
    ]);
    let reasoner = reasoner(&server, "gemini");
    let given = given("What is the threshold?");
    let grades = reasoner.grade(given.grade()).await.unwrap();
    assert_eq!(grades.scores.unwrap(), [Some(0.9), Some(0.1)]);
    let (pieces, result) = answer(&reasoner, given.synthesize(Complexity::Simple)).await;
    assert_eq!(pieces.concat(), "It is 0.8 [1].");
    let synthesis = result.unwrap();
    assert_eq!(synthesis.warnings, []);
    assert_eq!(synthesis.usage.completion_tokens, Some(9));
    let seen = server.seen();
    assert_eq!(seen[0].headers["authorization"], "Bearer sk-test");
    let body: Value = serde_json::from_str(&seen[2].body).unwrap();
    assert_eq!(body["model"], "models/gemini-2.5-flash");
    assert_eq!(body["response_format"]["type"], "json_schema");
    assert!(!seen[2].body.contains("maxItems"));
}
