//! Servers that run on this machine are found while no endpoint is set: by the real binary, at ports that a
//! user's table names, so that what else runs here is never asked.

use std::fs;
use std::process::Command;

use kb_agent::domain::NodeName;
use kb_agent::reasoner::llm::local_servers;
use serde_json::{Value, json};

use crate::fault_server::{Act, FaultServer, error, reply};
use crate::models::{escape, shows};
use crate::scripted_endpoint::ScriptedEndpoint;
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events, free_address, text};

const DOWN: &str = "\u{1b}[B";
const CHITCHAT: &str = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": null}"#;
const OFFLINE: &str = "offline · extractive";

/// A table in which these servers alone have a port on this machine.
fn table(servers: &[(&str, &str)]) -> String {
    let built_in = include_str!("../../assets/llm/servers.toml");
    let names = built_in.lines().filter(|line| line.starts_with("name = "));
    let silent = names.map(|name| format!("[[server]]\n{name}\nat = []\n"));
    let own = servers.iter().map(|(title, address)| {
        let port = address.rsplit(':').next().unwrap();
        let name = title.to_lowercase();
        format!("[[server]]\nname = '{name}'\ntitle = '{title}'\nat = []\nlocal_port = {port}\n")
    });
    own.chain(silent).collect()
}

fn place(servers: &[(&str, &str)]) -> Workplace {
    let place = Workplace::with_gate();
    place.file("config/servers.toml", table(servers));
    place
}

fn command(place: &Workplace, args: &[&str]) -> Command {
    let mut command = place.command(args);
    command
        .env("KB_AGENT_LLM_DISCOVER", "1")
        .env("KB_AGENT_LLM_RETRIES", "0")
        .env("KB_AGENT_CONFIG_DIR", place.path().join("config"));
    command
}

fn open(place: &Workplace) -> Terminal {
    Terminal::start(&command(place, &["kb"]), 120, 36)
}

async fn ollama() -> ScriptedEndpoint {
    let models = ["nomic-embed-text", "qwen3:8b", "gemma3:4b"];
    let server = ScriptedEndpoint::offering(&models).await;
    server
        .stream(NodeName::AnalyzeAndRoute, CHITCHAT)
        .stream(NodeName::Synthesize, "Well said.");
    server
}

fn address(server: &ScriptedEndpoint) -> String {
    let url = server.base_url();
    url.trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_owned()
}

fn header(screen: &str) -> &str {
    screen.lines().next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn local_servers_are_told_in_one_line_listed_and_taken_for_the_session() {
    let server = ollama().await;
    let place = place(&[("Ollama", &address(&server)), ("Gone", &free_address())]);
    let mut terminal = open(&place);
    let line = "Ollama runs here with qwen3:8b and 1 more: /model uses it";
    shows(&terminal, line);
    let screen = terminal.wait_for_text("1 doc");
    header(&screen).must_hold(OFFLINE);
    assert!(server.requests().await.is_empty());
    for (typed, refused) in [
        (
            "/model grade gemma3:4b\r",
            "choose a model of Ollama for all of them first",
        ),
        (
            "/model qwen4\r",
            "no server found on this machine lists 'qwen4'",
        ),
    ] {
        terminal.keys(typed);
        shows(&terminal, refused);
    }
    let screen = terminal.press_until("/model\r", "gemma3:4b");
    screen.must_lack("nomic");
    screen.must_hold("Ollama");
    // The first model is selected: the settings hold none.
    let screen = terminal.press_until("\r", "From the next question on: qwen3:8b.");
    header(&screen).must_hold("qwen3:8b");
    header(&screen).must_lack("offline");
    terminal.press_until("hello\r", "Well said.");
    // One job by another model of the same server, and back to where it began.
    terminal.keys("/model grade gemma3:4b\r");
    shows(
        &terminal,
        "From the next question on: qwen3:8b · grade gemma3:4b.",
    );
    let screen = terminal.press_until("/model default\r", OFFLINE);
    header(&screen).must_hold(OFFLINE);
    terminal.leave();
    let asked = server.requests().await;
    assert_eq!(asked.len(), 2);
    for request in asked {
        assert_eq!(request.body["model"], "qwen3:8b");
        assert_eq!(request.authorization, None);
    }
    let log = place.audit();
    let started = events(&log, "run_started");
    assert_eq!(
        (&started[0]["mode"], &started[0]["model"]),
        (&json!("llm"), &json!("qwen3:8b"))
    );
    assert!(!place.path().join("config/.env").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn local_servers_are_written_to_the_users_own_file_by_s() {
    let server = ollama().await;
    let place = place(&[("Ollama", &address(&server))]);
    let own = place.file(
        "config/.env",
        "# mine\nKB_AGENT_LLM_MODEL=\nKB_AGENT_MOUSE=off\n",
    );
    let mut terminal = open(&place);
    terminal.wait_for_text("Ollama runs here");
    terminal.press_until("/model\r", "gemma3:4b");
    terminal.keys(DOWN);
    terminal.keys("s");
    shows(&terminal, "and at every start: gemma3:4b. Written to");
    let screen = terminal.wait_for_text("1 doc");
    header(&screen).must_hold("gemma3:4b");
    terminal.leave();
    let url = server.base_url();
    let expected = format!(
        "# mine\nKB_AGENT_LLM_MODEL=gemma3:4b\nKB_AGENT_MOUSE=off\nKB_AGENT_LLM_BASE_URL={url}\n"
    );
    assert_eq!(fs::read_to_string(own).unwrap(), expected);
    // The next start has an endpoint, and looks for none.
    let mut terminal = open(&place);
    let screen = terminal.wait_for_text("1 doc");
    header(&screen).must_hold("gemma3:4b");
    terminal
        .press_until("hello\r", "Well said.")
        .must_lack("runs here");
    terminal.leave();
}

#[test]
fn local_servers_where_there_is_none_are_one_line_and_the_list_can_be_left() {
    let silent = FaultServer::start(&[("", vec![Act::Hang(Vec::new())])]);
    let place = place(&[("Gone", &free_address()), ("Silent", silent.address())]);
    let mut terminal = open(&place);
    terminal.wait_for_text("1 doc");
    // A question is not held up, and neither is the end.
    terminal.press_until("What is the threshold of the gate?\r", "seven");
    terminal.press_until("/model\r", "no server that lists models was found");
    escape(&mut terminal, "no server that lists");
    terminal.press_until("/model qwen3\r", "no server that lists models was found");
    terminal.leave();
}

#[test]
fn local_servers_are_not_looked_for_where_the_setting_or_an_endpoint_says_so() {
    let listed = || FaultServer::start(&[("", vec![listing(&json!({"data": [{"id": "m"}]}))])]);
    let (server, endpoint) = (listed(), listed());
    let place = place(&[("Ollama", server.address())]);
    for (name, value) in [
        ("KB_AGENT_LLM_DISCOVER", "0".to_owned()),
        ("KB_AGENT_LLM_BASE_URL", endpoint.base_url()),
    ] {
        let mut command = command(&place, &["kb"]);
        command.env(name, value);
        let mut terminal = Terminal::start(&command, 120, 36);
        terminal.wait_for_text("1 doc");
        // The list comes after what would have been found.
        let shown = if name.ends_with("DISCOVER") {
            "no model to choose"
        } else {
            "default"
        };
        terminal.press_until("/model\r", shown);
        escape(&mut terminal, shown);
        terminal.leave();
        assert!(server.seen().is_empty(), "{name}");
    }
}

fn listing(body: &Value) -> Act {
    let headers = "Content-Type: application/json\r\n";
    Act::Keep(reply("200 OK", headers, body.to_string()))
}

#[tokio::test]
async fn local_servers_are_asked_for_the_listing_alone_and_no_other_program_is_taken_for_one() {
    let good = FaultServer::start(&[("", vec![listing(&json!({"data": [{"id": "m"}]}))])]);
    let page = reply(
        "200 OK",
        "Content-Type: text/html\r\n",
        "<html>It works</html>",
    );
    let endless = (
        b"HTTP/1.1 200 OK\r\n\r\n{\"data\": [".to_vec(),
        vec![b' '; 65536],
    );
    let elsewhere = format!("Location: http://{}/v1/models\r\n", good.address());
    let others = [
        Act::Keep(page),
        listing(&json!({"data": [{"id": 3}]})),
        error("404 Not Found", "", "no such path"),
        error("401 Unauthorized", "", "who are you"),
        Act::Keep(reply("302 Found", &elsewhere, "")),
        Act::Flood(endless.0, endless.1),
        Act::Hang(b"HTTP/1.1 200 OK\r\n\r\n{".to_vec()),
        Act::Reset,
    ];
    let others = others.map(|act| FaultServer::start(&[("", vec![act])]));
    let titles: Vec<String> = (0..others.len()).map(|at| format!("Other{at}")).collect();
    let mut servers: Vec<(&str, &str)> = titles
        .iter()
        .map(String::as_str)
        .zip(others.iter().map(FaultServer::address))
        .collect();
    servers.push(("Good", good.address()));
    let place = place(&servers);
    let found = local_servers(Some(&place.path().join("config")))
        .await
        .unwrap();
    let titles: Vec<&str> = found.iter().map(|server| server.title.as_str()).collect();
    assert_eq!(titles, ["Good"]);
    assert_eq!(found[0].base_url, good.base_url());
    let seen = good.seen();
    // A redirect was not followed.
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].line, "GET /v1/models HTTP/1.1");
    assert_eq!(seen[0].body, "");
    let mut headers: Vec<&str> = seen[0].headers.keys().map(String::as_str).collect();
    headers.sort_unstable();
    assert_eq!(headers, ["accept", "accept-encoding", "host", "user-agent"]);
}

#[test]
fn local_servers_are_told_by_doctor() {
    let server = FaultServer::start(&[("", vec![listing(&json!({"data": [{"id": "m"}]}))])]);
    let place = place(&[("Ollama", server.address())]);
    let check = |discover: &str| {
        let mut command = command(&place, &["doctor", "--json", "--kb", "kb"]);
        // A proxy is not for this machine.
        command.env("HTTP_PROXY", "http://127.0.0.1:9");
        let output = command
            .env("KB_AGENT_LLM_DISCOVER", discover)
            .output()
            .unwrap();
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = all["checks"].as_array().unwrap().iter();
        let mut checks = checks.filter(|check| check["name"] == "this machine");
        checks.next().cloned()
    };
    let found = check("1").unwrap();
    assert_eq!(
        (&found["area"], &found["status"]),
        (&json!("endpoint"), &json!("ok"))
    );
    assert_eq!(found["detail"], "Ollama runs here with m");
    let next = found["next"].as_str().unwrap();
    next.must_begin_with(&format!("set KB_AGENT_LLM_BASE_URL={}", server.base_url()));
    assert_eq!(check("0"), None);
    drop(server);
    place.file("config/servers.toml", table(&[("Ollama", &free_address())]));
    let none = check("1").unwrap();
    assert_eq!(
        (&none["status"], &none["next"]),
        (&json!("ok"), &Value::Null)
    );
    place.file("config/servers.toml", "[[server]]\nname = 1\n");
    let broken = check("1").unwrap();
    broken["detail"].as_str().unwrap().must_hold("servers.toml");
}

#[test]
fn local_servers_are_not_looked_for_in_plain_mode_which_lists_no_models() {
    let server = FaultServer::start(&[("", vec![listing(&json!({"data": [{"id": "m"}]}))])]);
    let place = place(&[("Ollama", server.address())]);
    let asked = place.file("lines", "hello\n");
    let mut command = command(&place, &["--plain", "kb"]);
    command.stdin(fs::File::open(asked).unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success());
    text(&output.stdout).must_hold("offline, extractive");
    text(&output.stderr).must_lack("runs here");
    assert!(server.seen().is_empty());
}
