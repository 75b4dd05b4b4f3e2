//! Replies that end: every judgement has a schema with bounds and a limit of its own, servers that
//! refuse the bounds are asked without, and a model that thinks gets room for that.

use std::process::Output;

use serde_json::{Value, json};

use crate::fault_server::{Act, FaultServer, ending, error, piece, says, stream};
use crate::workplace::{Workplace, events, text};

const COMPLEX: &str = r#"{"complexity": "complex", "query_type": "exact", "sub_questions": ["What is the gate?", "What is the door?"]}"#;
const CALLS: &str = r#"{"calls": [{"tool": "read_file", "args": {"path": "a.md"}}, {"tool": "read_file", "args": {"path": "b.md"}}, {"tool": "grep_search", "args": {"query": "wall"}}]}"#;
const SCORES: &str = r#"{"scores": [0.9, 0.8, 0.7]}"#;

fn place() -> Workplace {
    let place = Workplace::empty();
    let words = "The threshold of the gate is seven, and nobody knows why. ".repeat(40);
    for name in ["a", "b"] {
        place.file(&format!("kb/{name}.md"), format!("# {name}\n\n{words}\n"));
    }
    place.file("kb/c.md", "# Wall\n\nThe wall is blue.\n");
    place.index();
    place
}

fn served(analyze: Vec<Act>, grade: Vec<Act>) -> FaultServer {
    FaultServer::start(&[
        ("analyze_and_route", analyze),
        ("plan", vec![says(CALLS)]),
        ("grade_evidence", grade),
        ("synthesize", vec![says("Seven [1].")]),
    ])
}

fn ask(place: &Workplace, server: &FaultServer, settings: &[(&str, &str)]) -> Output {
    let mut command = place.command(&["ask", "--kb", "kb", "Compare gate and door"]);
    command
        .envs(server.settings())
        .envs(settings.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

fn bodies(server: &FaultServer) -> Vec<Value> {
    let seen = server.seen();
    let read = |body: &str| serde_json::from_str(body).unwrap();
    seen.iter().map(|seen| read(&seen.body)).collect()
}

fn limits(server: &FaultServer) -> Vec<u64> {
    let limit = |body: &Value| body["max_tokens"].as_u64().unwrap();
    bodies(server).iter().map(limit).collect()
}

/// What a model says that thinks in a field of its own and does not come to its reply.
fn only_thinks() -> Act {
    let thought = json!({"choices": [{"delta": {"reasoning_content": "Let me see. "}}]});
    let cut = json!({"choices": [{"delta": {}, "finish_reason": "length"}], "usage": {"prompt_tokens": 100, "completion_tokens": 800}});
    stream(format!(
        "data: {thought}\n\ndata: {cut}\n\ndata: [DONE]\n\n"
    ))
}

#[test]
fn ends_every_judgement_within_hundreds_of_tokens_and_grades_by_their_number() {
    let (place, server) = (place(), served(vec![says(COMPLEX)], vec![says(SCORES)]));
    ask(&place, &server, &[]);
    assert_eq!(limits(&server), [800, 1_000, 128 + 3 * 16, 8_192]);
    let schema = bodies(&server)[2]["response_format"]["json_schema"]["schema"].clone();
    assert_eq!(schema["properties"]["scores"]["maxItems"], 3);

    let server = served(vec![says(COMPLEX)], vec![says(SCORES)]);
    ask(
        &place,
        &server,
        &[("KB_AGENT_LLM_MAX_TOKENS_GRADE", "2000")],
    );
    assert_eq!(limits(&server), [800, 1_000, 2_000, 8_192]);
}

#[test]
fn ends_a_refusal_of_bounds_with_a_request_without_them() {
    let place = place();
    let refusal = |words: &str| error("400 Bad Request", "", words);
    let has = |body: &Value, bound: &str| body["response_format"].to_string().contains(bound);
    for (said, left) in table![
        "Invalid schema for response_format: 'maxLength' is not permitted.", [false, true];
        "Invalid schema for response_format: 'maxItems' is not permitted.", [false, false];
        "Failed to initialize samplers: failed to parse grammar", [false, false];
    ] {
        let server = served(vec![refusal(said), says(COMPLEX)], vec![says(SCORES)]);
        ask(&place, &server, &[]);
        let bodies = bodies(&server);
        assert!(has(&bodies[0], "maxLength") && has(&bodies[0], "maxItems"));
        // Remembered from then on, and the schema stays.
        for body in &bodies[1..4] {
            assert_eq!(
                [has(body, "maxLength"), has(body, "maxItems")],
                left,
                "{said}"
            );
            assert_eq!(body["response_format"]["type"], "json_schema");
        }
        assert_eq!(bodies.len(), 5);
        let log = place.audit();
        let warned = events(&log, "warning").into_iter().rfind(|warning| {
            let message = warning["message"].as_str().unwrap();
            message.ends_with("refuses bounds in a schema: done without")
        });
        assert!(warned.is_some(), "{said}");
    }
    // The table knows who refuses them.
    let server = served(vec![says(COMPLEX)], vec![says(SCORES)]);
    ask(&place, &server, &[("KB_AGENT_LLM_SERVER", "azure")]);
    assert!(bodies(&server).iter().all(|body| !has(body, "maxItems")));
}

#[test]
fn ends_thinking_with_room_for_it() {
    let place = place();
    let thinks_aloud = {
        let cut = json!({"choices": [{"delta": {}, "finish_reason": "length"}]});
        stream(piece("<think>Let me see. ") + &format!("data: {cut}\n\ndata: [DONE]\n\n"))
    };
    for thinking in [only_thinks(), thinks_aloud] {
        let server = served(vec![thinking, says(COMPLEX)], vec![says(SCORES)]);
        let output = ask(&place, &server, &[]);
        assert_eq!(limits(&server), [800, 4_896, 5_096, 4_096 + 176, 8_192]);
        let said = text(&output.stdout);
        assert!(said.contains("Seven [1]."), "{said}");
    }
    // What was thought in vain is paid for, and counted.
    let server = served(vec![only_thinks(), says(COMPLEX)], vec![says(SCORES)]);
    let output = ask(&place, &server, &[]);
    let said = text(&output.stdout);
    assert!(said.contains(" 1340 tokens"), "{said}");

    // A model that is known to think has the room at once; a limit that was set is kept to.
    let server = served(vec![says(COMPLEX)], vec![says(SCORES)]);
    ask(&place, &server, &[("KB_AGENT_LLM_MODEL_GRADE", "qwen3:4b")]);
    assert_eq!(limits(&server), [800, 1_000, 4_096 + 176, 8_192]);
    let server = served(vec![only_thinks()], vec![says(SCORES)]);
    ask(
        &place,
        &server,
        &[("KB_AGENT_LLM_MAX_TOKENS_ANALYZE", "256")],
    );
    assert_eq!(limits(&server)[..2], [256, 1_000]);
    // A model that rambles without a thought is not asked again.
    let cut = json!({"choices": [{"delta": {}, "finish_reason": "length"}]});
    let rambles =
        stream(piece("{\"complexity\": \"comp") + &format!("data: {cut}\n\n") + &ending());
    let server = served(vec![rambles], vec![says(SCORES)]);
    ask(&place, &server, &[]);
    assert_eq!(limits(&server)[..2], [800, 1_000]);
}

#[test]
fn ends_of_judgements_do_not_shorten_the_answer() {
    let place = place();
    let overflow = error("400 Bad Request", "", "the prompt is too long");
    let server = served(vec![says(COMPLEX)], vec![overflow, says(SCORES)]);
    ask(&place, &server, &[]);
    assert_eq!(limits(&server), [800, 1_000, 176, 176, 8_192]);
}
