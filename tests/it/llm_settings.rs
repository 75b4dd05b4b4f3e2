//! What users can set about the endpoint: a model for each job, prices, prompts, servers.

use std::fs;
use std::sync::Arc;

use kb_agent::domain::{GradedBy, RoutingLimits, ToolName};
use kb_agent::protocol::EventBody;
use kb_agent::reasoner::llm::EndpointReasoner;
use serde_json::Value;

use crate::fault_server::{Act, FaultServer, reply, says};
use crate::llm_jobs::settings;
use crate::scripted_endpoint::unmarked;
use crate::support::{Said, ScriptedTools, items, question_of, run};
use crate::workplace::{Workplace, events, one_line, text};

const SIMPLE: &str = r#"{"complexity": "simple", "query_type": "exact"}"#;
const CALLS: &str = r#"{"calls": [{"tool": "grep_search", "args": {"query": "gate"}}]}"#;

fn place() -> Workplace {
    let place = Workplace::with_gate();
    place.index();
    place
}

fn server() -> FaultServer {
    FaultServer::start(&[
        ("analyze_and_route", vec![says(SIMPLE)]),
        ("plan", vec![says(CALLS)]),
        ("synthesize", vec![says("Seven [1].")]),
    ])
}

fn ask(place: &Workplace, server: &FaultServer, settings: &[(&str, &str)]) -> std::process::Output {
    let mut command = place.command(&["ask", "--kb", "kb", "What is the gate?"]);
    command
        .env("KB_AGENT_LLM_BASE_URL", server.base_url())
        .env("KB_AGENT_LLM_MODEL", "large")
        .env("KB_AGENT_CONFIG_DIR", place.path().join("config"));
    for (name, value) in settings {
        command.env(name, value);
    }
    command.output().unwrap()
}

fn bodies(server: &FaultServer) -> Vec<Value> {
    let seen = server.seen();
    seen.iter()
        .map(|seen| serde_json::from_str(&seen.body).unwrap())
        .collect()
}

#[test]
fn every_job_has_its_model_its_temperature_and_its_limit() {
    let (place, server) = (place(), server());
    let settings = [
        ("KB_AGENT_LLM_MODEL_ANALYZE", "small"),
        ("KB_AGENT_LLM_MODEL_PLAN", "medium"),
        ("KB_AGENT_LLM_TEMPERATURE_SYNTHESIZE", "0.7"),
        ("KB_AGENT_LLM_MAX_TOKENS_ANALYZE", "256"),
    ];
    let output = ask(&place, &server, &settings);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let sent_settings: Vec<_> = bodies(&server)
        .iter()
        .map(|body| {
            (
                body["model"].as_str().unwrap().to_owned(),
                body["temperature"].as_f64().unwrap(),
                body["max_tokens"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        sent_settings,
        [
            ("small".to_owned(), 0.0, 256),
            ("medium".to_owned(), 0.0, 1_000),
            ("large".to_owned(), 0.7, 8_192)
        ]
    );
}

#[test]
fn a_cost_is_known_estimated_or_unknown_and_shown_as_what_it_is() {
    let place = place();
    let footer = |server: &FaultServer| {
        let output = ask(&place, server, &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().last().unwrap().to_owned()
    };
    let unknown = footer(&server());
    unknown.must_hold(" · 330 tokens · cost unknown · ");

    place.file(
        "config/prices.toml",
        "[[price]]\nserver = '*'\nmodel = 'large'\ninput = 10\noutput = 100\n",
    );
    let known = footer(&server());
    // Three calls of 100 tokens sent and 10 received, $10 and $100 for a million.
    assert!(known.contains(" · 330 tokens · $0.0060 · "), "{known}");
    let log = place.audit();
    let end = log.last().unwrap();
    assert_eq!(end["cost_usd"].as_f64(), Some(0.006));
    assert!(end["estimated"].is_null());
    let nodes: Vec<_> = events(&log, "node_finished")
        .iter()
        .rev()
        .take(4)
        .map(|node| node["cost_usd"].as_f64())
        .collect();
    assert_eq!(
        nodes,
        [Some(0.002), None, Some(0.002), Some(0.002)],
        "tool_exec costs nothing"
    );

    let uncounted =
        r#"{"choices": [{"message": {"content": "Seven [1]."}, "finish_reason": "stop"}]}"#;
    let estimating = FaultServer::start(&[
        ("analyze_and_route", vec![says(SIMPLE)]),
        ("plan", vec![says(CALLS)]),
        (
            "synthesize",
            vec![Act::Keep(reply("200 OK", "", uncounted))],
        ),
    ]);
    let estimated = footer(&estimating);
    estimated.must_hold(" · ~");
    estimated.must_hold(" · ~$0.0");
    assert_eq!(place.audit().last().unwrap()["estimated"], true);
}

#[test]
fn what_was_cached_and_what_was_thought_is_reported_by_call_and_run() {
    let place = place();
    let usage = r#"{"prompt_tokens": 100, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 40}}"#;
    let body = format!(
        r#"{{"choices": [{{"message": {{"content": "Seven [1]."}}, "finish_reason": "stop"}}], "usage": {usage}}}"#
    );
    let server = FaultServer::start(&[
        ("analyze_and_route", vec![says(SIMPLE)]),
        ("plan", vec![says(CALLS)]),
        ("synthesize", vec![Act::Keep(reply("200 OK", "", body))]),
    ]);
    assert!(ask(&place, &server, &[]).status.success());
    let log = place.audit();
    let node = *events(&log, "node_finished").last().unwrap();
    let end = log.last().unwrap();
    for event in [node, end] {
        assert_eq!(event["cached_tokens"], 64);
        assert_eq!(event["reasoning_tokens"], 40);
    }
    assert_eq!(end["prompt_tokens"], 300);
    assert_eq!(end["completion_tokens"], 70);
}

#[test]
fn prompts_can_be_replaced_and_a_mistake_is_reported_before_anything_is_asked() {
    let (place, server) = (place(), server());
    place.file(
        "config/prompts/synthesize.md",
        "Be brief.\n=== user ===\n{{evidence}}\n\n{{question}}\n",
    );
    assert!(ask(&place, &server, &[]).status.success());
    let sent = bodies(&server);
    assert_eq!(sent[2]["messages"][0]["content"], "Be brief.");
    assert!(
        sent[2]["messages"][1]["content"]
            .as_str()
            .unwrap()
            .starts_with("<evidence-")
    );
    assert_ne!(sent[0]["messages"][0]["content"], "Be brief.");

    let asked = server.seen().len();
    for (name, file, line) in table![
        "prompts/synthesize.md", "Be brief.\n=== user ===\n{{question}}\n",
            "prompts/synthesize.md: has no {{evidence}}: without it the prompt cannot work";
        "prices.toml", "[[price]]\nserver = 'x'\n", "prices.toml: TOML parse error";
        "servers.toml", "[[server]]\nname = 'x'\n", "servers.toml: TOML parse error";
    ] {
        let path = place.file(&format!("config/{name}"), file);
        let output = ask(&place, &server, &[]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let said = one_line(&output);
        assert!(said.contains(line), "{said}");
        fs::remove_file(path).unwrap();
    }
    assert_eq!(server.seen().len(), asked, "nothing was asked");
}

#[test]
fn a_server_of_the_users_is_spoken_to_as_their_table_says() {
    let (place, server) = (place(), server());
    place.file(
        "config/servers.toml",
        "[[server]]\nname = 'gateway'\nat = ['127.0.0.1']\nauth = 'x-team-key'\npath = 'chat'\nlimit = 'none'\nusage = 'unasked'\nstructured = 'prompt'\n",
    );
    assert!(
        ask(&place, &server, &[("KB_AGENT_LLM_API_KEY", "k-123456")])
            .status
            .success()
    );
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /v1/chat HTTP/1.1");
    assert_eq!(seen[0].headers["x-team-key"], "k-123456");
    assert!(!seen[0].headers.contains_key("authorization"));
    for body in bodies(&server) {
        for left_out in ["max_tokens", "stream_options", "response_format"] {
            assert!(body[left_out].is_null(), "{left_out}");
        }
    }
    let output = ask(&place, &server, &[("KB_AGENT_LLM_SERVER", "nobody")]);
    assert_eq!(output.status.code(), Some(2));
    let line = one_line(&output);
    line.must_begin_with(
        "kb-agent: KB_AGENT_LLM_SERVER is 'nobody': it must be one of gateway, openai, azure",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_twenty_items_are_graded_whole() {
    const ITEMS: usize = 48;
    let scores: Vec<f64> = (0..ITEMS).map(|at| (40 + at) as f64 / 128.0).collect();
    let server = FaultServer::start(&[
        (
            "analyze_and_route",
            vec![says(
                r#"{"complexity": "complex", "sub_questions": ["a?", "b?"]}"#,
            )],
        ),
        (
            "plan",
            vec![says(
                r#"{"calls": [{"tool": "hybrid_search", "args": {"semantic_query": "gates"}}]}"#,
            )],
        ),
        (
            "grade_evidence",
            vec![says(&serde_json::json!({"scores": scores}).to_string())],
        ),
        ("synthesize", vec![says("Wide [48].")]),
    ]);
    let mut found = items(ITEMS, ToolName::HybridSearch, 0.5);
    for item in &mut found {
        item.text = "A gate is as wide as its wall is high. ".repeat(60);
    }
    let tools = ScriptedTools {
        items: vec![("gates", found)],
        ..ScriptedTools::default()
    };
    let reasoner = EndpointReasoner::new(settings(server.base_url()));
    let question = question_of("How wide is each gate, and why?");
    let limits = RoutingLimits {
        max_iterations: 1,
        ..RoutingLimits::default()
    };
    let run = run(
        Arc::new(reasoner.unwrap()),
        Arc::new(tools),
        limits,
        question,
    )
    .await;
    let graded = picked!(
        run, EventBody::EvidenceGraded { scores, by, .. } => (scores.clone(), *by)
    )
    .next();
    let (given, by) = graded.unwrap();
    let given: Vec<_> = given.iter().map(|item| item.score.value()).collect();
    assert_eq!((given, by), (scores, GradedBy::Grader));
    let sent = server.seen();
    let asked = sent.iter().filter(|seen| seen.node() == "grade_evidence");
    let asked: Vec<_> = asked.collect();
    assert_eq!(asked.len(), 1, "one call");
    let body: Value = serde_json::from_str(&asked[0].body).unwrap();
    let prompt = body["messages"][1]["content"].as_str().unwrap();
    let numbered = prompt
        .lines()
        .filter(|line| line.starts_with('[') && !line.starts_with("[…"));
    assert_eq!(numbered.count(), ITEMS);
    assert!(prompt.contains("exactly 48 numbers"));
    assert_eq!(run.answer.unwrap().citations[0].n, ITEMS);
}

#[test]
fn questions_are_answered_in_their_own_language() {
    let place = place();
    for (question, wanted) in [
        (
            "What is the gate?",
            "Answer in the language of the question.",
        ),
        ("门槛是多少？", "请用中文回答。"),
    ] {
        let server = server();
        let mut command = place.command(&["ask", "--kb", "kb", question]);
        command.envs(server.settings());
        assert!(command.output().unwrap().status.success());
        let sent = bodies(&server);
        let prompt = sent[2]["messages"][1]["content"].as_str().unwrap();
        assert!(prompt.lines().last().unwrap().contains(wanted), "{prompt}");
    }
}

#[test]
fn what_does_not_change_comes_first_so_that_caches_hit() {
    let place = place();
    let server = server();
    for question in ["What is the gate?", "How high is the gate, and why?"] {
        let mut command = place.command(&["ask", "--kb", "kb", question]);
        command.envs(server.settings());
        assert!(command.output().unwrap().status.success());
    }
    let sent = bodies(&server);
    for (one, other) in [(0, 3), (1, 4), (2, 5)] {
        let (one, other) = (&sent[one], &sent[other]);
        assert_eq!(one["messages"][0], other["messages"][0]);
        assert_eq!(one["response_format"], other["response_format"]);
        assert_ne!(one["messages"][1], other["messages"][1]);
    }
    // But for the mark of the request, which nothing before it can know, the same evidence stands
    // before the question, which is what differs.
    let prompt_at = |at: usize| unmarked(sent[at]["messages"][1]["content"].as_str().unwrap());
    let (one, other) = (prompt_at(2), prompt_at(5));
    let same = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(one[..same].contains("</evidence>"), "{}", &one[..same]);
}
