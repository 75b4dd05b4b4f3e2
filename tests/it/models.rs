//! Choosing models while the program runs: the real binary in a pseudo-terminal, before a server that
//! lists some.

use std::process::Command;
use std::time::Duration;

use kb_agent::domain::NodeName;
use serde_json::Value;

use crate::fault_server::{Act, FaultServer, error};
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events, free_address};

const ESC: &str = "\u{1b}";
const DOWN: &str = "\u{1b}[B";
const TAB: &str = "\t";
const CHITCHAT: &str = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": null}"#;
const COMPLEX: &str = r#"{"complexity": "complex", "sub_questions": ["What is the gate?", "What is its threshold?"]}"#;
const CALLS: &str =
    r#"{"calls": [{"tool": "hybrid_search", "args": {"semantic_query": "gate threshold"}}]}"#;
const LISTED: [&str; 4] = ["qwen3-8b", "text-embedding-3-small", "qwen3-1b", "gemma-3"];

/// A server whose small talk and whose full pipeline go as they should.
async fn server() -> ScriptedEndpoint {
    let server = ScriptedEndpoint::offering(&LISTED).await;
    server
        .stream(NodeName::AnalyzeAndRoute, CHITCHAT)
        .stream(NodeName::Plan, CALLS)
        .stream(NodeName::GradeEvidence, "[0.9]")
        .stream(NodeName::Synthesize, "Well said.");
    server
}

fn place() -> Workplace {
    Workplace::with_gate()
}

fn at(place: &Workplace, args: &[&str], url: &str) -> Command {
    let mut command = place.command(&[args, &["kb"]].concat());
    command.env("KB_AGENT_LLM_BASE_URL", url);
    command.env("KB_AGENT_LLM_RETRIES", "0");
    command
}

fn open(place: &Workplace, url: &str, columns: u16, rows: u16) -> Terminal {
    let mut command = at(place, &[], url);
    command.env("KB_AGENT_LLM_MODEL", "qwen3-8b");
    let terminal = Terminal::start(&command, columns, rows);
    terminal.wait_for_text("1 doc");
    terminal
}

/// Waits for words in the left pane, however they are broken.
pub fn shows(terminal: &Terminal, words: &str) {
    terminal.wait_for(words, |screen| {
        let (_, columns) = screen.size();
        let lines = screen.rows(0, columns.get() / 2);
        let text = lines.collect::<Vec<_>>().join(" ");
        let shown = text.split_whitespace().filter(|word| *word != "│");
        shown.collect::<Vec<_>>().join(" ").contains(words)
    });
}

/// Closes what shows these words. A key that follows at once would be taken for one with Alt.
pub fn escape(terminal: &mut Terminal, closed: &str) {
    terminal.keys(ESC);
    terminal.wait_for("closed", |screen| !screen.contents().contains(closed));
}

/// Node and model of each chat request.
async fn asked(server: &ScriptedEndpoint) -> Vec<(String, String)> {
    let requests = server.requests().await.into_iter();
    let model = |body: &Value| body["model"].as_str().unwrap_or_default().to_owned();
    requests
        .map(|request| (request.node.clone(), model(&request.body)))
        .collect()
}

fn recorded(place: &Workplace, event: &str) -> Vec<String> {
    let log = place.audit();
    let found = events(&log, event).into_iter();
    let model = |event: &Value| event["model"].as_str().unwrap().to_owned();
    found.map(model).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_the_list_leaves_out_what_cannot_chat_and_takes_a_model_for_every_job() {
    let (place, server) = (place(), server().await);
    let mut terminal = open(&place, &server.base_url(), 120, 36);
    let screen = terminal.press_until("/model\r", "gemma-3");
    assert!(!screen.contains("text-embedding"), "{screen}");
    for wanted in ["[all]", "1 cannot chat", "default  as the settings say"] {
        assert!(screen.contains(wanted), "no {wanted}:\n{screen}");
    }
    let used = screen.lines().find(|line| line.contains("● qwen3-8b"));
    assert!(used.unwrap().contains("every job"), "{screen}");
    // The model in use is selected: the next one is below it.
    terminal.keys(DOWN);
    terminal.press_until("\r", "From the next question on: qwen3-1b.");
    terminal.press_until("hello\r", "Well said.");
    let screen = terminal.wait_for_text("saved 2");
    let header = screen.lines().next().unwrap();
    assert!(header.contains("qwen3-1b"), "{screen}");
    terminal.leave();
    let models: Vec<String> = asked(&server).await.into_iter().map(|(_, m)| m).collect();
    assert_eq!(models, ["qwen3-1b", "qwen3-1b"]);
    assert_eq!(recorded(&place, "run_started"), ["qwen3-1b"]);
    assert_eq!(recorded(&place, "model_called"), ["qwen3-1b", "qwen3-1b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_a_model_is_chosen_for_one_job_by_narrowing_and_the_header_tells_both() {
    // Longer than the header of a narrow screen has room for beside the counts.
    const LONG: &str = "qwen3-1b-instruct-q4_k_m";
    let (place, server) = (
        place(),
        ScriptedEndpoint::offering(&["qwen3-8b", LONG, "gemma-3"]).await,
    );
    server
        .stream(NodeName::AnalyzeAndRoute, COMPLEX)
        .stream(NodeName::Plan, CALLS)
        .stream(NodeName::GradeEvidence, "[0.9]")
        .stream(NodeName::Synthesize, "Seven [1].");
    let mut terminal = open(&place, &server.base_url(), 120, 36);
    terminal.press_until("/model\r", "gemma-3");
    for _ in 0..3 {
        terminal.keys(TAB);
    }
    terminal.wait_for_text("[grade]");
    terminal.keys("1b");
    terminal.wait_for("one left", |screen| !screen.contents().contains("gemma-3"));
    let screen = terminal.press_until("\r", "From the next question on: qwen3-8b · grade");
    let header = screen.lines().next().unwrap();
    assert!(
        header.contains(&format!("qwen3-8b · grade {LONG}")),
        "{screen}"
    );
    terminal.resize(60, 20);
    terminal.wait_for("a short header", |screen| {
        let shown = screen.contents();
        shown
            .lines()
            .next()
            .is_some_and(|header| header.contains("qwen3-8b +1"))
    });
    terminal.resize(120, 36);
    terminal.keys("What is the gate and what is its threshold?\r");
    terminal.wait_for_text("Seven [1].");
    terminal.wait_for_text("saved ");
    // And back.
    terminal.press_until("/model default\r", "From the next question on: qwen3-8b.");
    terminal.leave();
    let models = asked(&server).await;
    let of = |node: &str| {
        let found = models.iter().filter(|(asked, _)| asked == node);
        found.map(|(_, m)| m.as_str()).collect::<Vec<_>>()
    };
    for node in ["analyze_and_route", "plan", "synthesize"] {
        assert_eq!(of(node), ["qwen3-8b"], "{node}");
    }
    // One passage is approved by a rule, or graded by the model of that job.
    assert!(of("grade_evidence").iter().all(|model| *model == LONG));
    assert_eq!(recorded(&place, "run_started"), ["qwen3-8b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_a_run_that_goes_on_keeps_its_models_and_the_next_question_has_the_new_ones() {
    let place = place();
    let server = ScriptedEndpoint::offering(&LISTED).await;
    let slowly = Reply::streamed(CHITCHAT).after(Duration::from_secs(3));
    server
        .say(NodeName::AnalyzeAndRoute, slowly)
        .stream(NodeName::AnalyzeAndRoute, CHITCHAT)
        .stream(NodeName::Synthesize, "First said.")
        .stream(NodeName::Synthesize, "Then said.");
    let mut terminal = open(&place, &server.base_url(), 120, 36);
    terminal.press_until("hello\r", "answering …");
    terminal.press_until("/model gemma-3", "> /model gemma-3");
    // What comes with Enter would be pasted text.
    terminal.keys("\r");
    terminal.wait_for("an empty prompt", |screen| {
        !screen.contents().contains("/model gemma-3")
    });
    // Sent behind the choice: it waits for both.
    terminal.press_until("hello again\r", "Then said.");
    terminal.leave();
    let models: Vec<String> = asked(&server).await.into_iter().map(|(_, m)| m).collect();
    assert_eq!(models, ["qwen3-8b", "qwen3-8b", "gemma-3", "gemma-3"]);
    assert_eq!(recorded(&place, "run_started"), ["qwen3-8b", "gemma-3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_a_name_that_is_not_listed_or_cannot_chat_is_refused_in_one_line() {
    let (place, server) = (place(), server().await);
    let mut terminal = open(&place, &server.base_url(), 140, 36);
    terminal.keys("/model qwen3-2b\r");
    shows(
        &terminal,
        "lists no model 'qwen3-2b'; near is qwen3-1b, qwen3-8b",
    );
    terminal.keys("/model grade text-embedding-3-small\r");
    shows(&terminal, "'text-embedding-3-small' cannot chat");
    terminal.press_until("hello\r", "Well said.");
    terminal.leave();
    let models: Vec<String> = asked(&server).await.into_iter().map(|(_, m)| m).collect();
    assert_eq!(models, ["qwen3-8b", "qwen3-8b"]);
}

#[test]
fn ui_offline_there_is_one_line_on_what_to_set() {
    let demo = Workplace::with_demo();
    let mut terminal = Terminal::start(&demo.command(&[]), 120, 36);
    terminal.wait_for_text("38 docs");
    for typed in ["/model\r", "/model qwen3\r"] {
        terminal.keys(typed);
        shows(
            &terminal,
            "Offline there is no model to choose: set KB_AGENT_LLM_BASE_URL",
        );
        escape(&mut terminal, "no model to");
    }
    terminal.press_until("/engine\r", "offline, built in");
    escape(&mut terminal, "offline, built in");
    terminal.leave();
}

#[test]
fn ui_a_server_that_is_down_is_one_line_in_the_place_of_the_list() {
    let gone = free_address();
    let place = place();
    let mut terminal = open(&place, &format!("http://{gone}/v1"), 120, 36);
    terminal.keys("/model\r");
    terminal.wait_for_text(&format!("cannot reach {gone}: connection refused"));
    escape(&mut terminal, "cannot reach");
    terminal.press_until("/model other\r", "cannot reach");
    terminal.leave();
}

#[test]
fn ui_a_server_that_is_silent_does_not_hold_up_the_keys() {
    let server = FaultServer::start(&[("", vec![Act::Hang(Vec::new())])]);
    let place = place();
    let url = server.base_url();
    let mut terminal = open(&place, &url, 120, 36);
    terminal.press_until("/model\r", "asking the server for its models");
    escape(&mut terminal, "asking the server");
    terminal.keys("/model\r");
    // Later than the first request was given up.
    terminal.wait_for_text("did not list its models within 10 s");
    escape(&mut terminal, "did not list");
    terminal.leave();
}

#[test]
fn ui_where_a_server_has_no_list_any_name_is_taken() {
    let server = FaultServer::start(&[("", vec![error("404 Not Found", "", "no such path")])]);
    let place = place();
    let url = server.base_url();
    let mut terminal = open(&place, &url, 120, 36);
    terminal.keys("/model\r");
    terminal.wait_for_text("has no list of models; /model NAME takes one by its name");
    escape(&mut terminal, "has no list");
    terminal.keys("/model plan mine\r");
    terminal.wait_for_text("From the next question on: qwen3-8b · plan mine.");
    terminal.leave();
}
