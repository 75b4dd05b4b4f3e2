//! What the real terminal gets beside the cells: title, progress, bell; and an index that the
//! person stops.

use std::time::Duration;

use kb_agent::domain::NodeName;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace};

const CTRL_C: &str = "\u{3}";
const PUSH_TITLE: &str = "\u{1b}[22;2t";
const POP_TITLE: &str = "\u{1b}[23;2t";
const NO_PROGRESS: &str = "\u{1b}]9;4;0\u{1b}\\";
const ANSWERING: &str = "\u{1b}]9;4;3\u{1b}\\";

fn title(of: &str) -> String {
    format!("\u{1b}]2;{of}\u{1b}\\")
}

fn leave(mut terminal: Terminal) -> String {
    terminal.keys([CTRL_C, CTRL_C].concat());
    let (code, written) = terminal.end_with_written();
    assert_eq!(code, 0);
    written
}

fn open(demo: &Demo, term: &str) -> Terminal {
    let mut command = demo.command(&[]);
    command.env("TERM", term);
    let terminal = Terminal::start(&command, 140, 40);
    terminal.wait_for_text("38 docs");
    terminal
}

#[test]
fn the_title_names_the_base_and_the_question_and_is_the_old_one_again_afterwards() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, "xterm-256color");
    terminal.wait_for_written(&title("kb-agent · demo-kb"));
    terminal.press_until("hello\u{1b}[0m there\r", "saved 3");
    let written = leave(terminal);
    let asked = written.find("\u{1b}]2;◐ hello").expect("the question");
    assert!(written[asked..].contains(&title("kb-agent · demo-kb")));
    assert!(written[asked..].contains(ANSWERING));
    assert_eq!(written.matches(PUSH_TITLE).count(), 1);
    assert_eq!(written.matches(POP_TITLE).count(), 1);
    assert!(written.rfind(POP_TITLE) > written.rfind("\u{1b}]2;"));
    assert!(written.rfind(NO_PROGRESS) > written.rfind(ANSWERING));
    assert!(!written.contains('\u{7}'), "a short answer rings no bell");
}

#[test]
fn a_console_without_a_window_is_sent_no_title() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, "linux");
    terminal.press_until("hello\r", "saved 3");
    let written = leave(terminal);
    for sequence in [PUSH_TITLE, POP_TITLE, "\u{1b}]2;", "\u{1b}]9;"] {
        assert!(!written.contains(sequence), "{sequence:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_takes_title_and_progress_back() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let hangs = Reply::streamed("{}").after(Duration::from_mins(10));
    let endpoint = runtime.block_on(async {
        let endpoint = ScriptedEndpoint::start().await;
        endpoint.say(NodeName::AnalyzeAndRoute, hangs);
        endpoint
    });
    let demo = Workplace::with_demo();
    let mut command = demo.command(&[]);
    command.env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
    let mut terminal = Terminal::start(&command, 140, 40);
    terminal.wait_for_text("38 docs");
    terminal.keys("what hangs?\r");
    terminal.wait_for_written(&title("◐ what hangs?"));
    terminal.wait_for_written(ANSWERING);
    terminal.signal("TERM");
    let (_, written) = terminal.end_with_written();
    assert!(written.rfind(NO_PROGRESS) > written.rfind(ANSWERING));
    assert_eq!(written.matches(POP_TITLE).count(), 1);
}

#[test]
fn an_answer_that_took_long_rings_once_when_the_window_is_not_looked_at() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let reply = r#"{"complexity": "chitchat", "reply": "Still here."}"#;
    let late = Reply::streamed(reply).after(Duration::from_millis(10_100));
    let endpoint = runtime.block_on(async {
        let endpoint = ScriptedEndpoint::start().await;
        endpoint.say(NodeName::AnalyzeAndRoute, late);
        endpoint
    });
    let demo = Workplace::with_demo();
    let mut command = demo.command(&[]);
    command.env("KB_AGENT_LLM_BASE_URL", endpoint.base_url());
    let mut terminal = Terminal::start(&command, 140, 40);
    terminal.wait_for_text("38 docs");
    terminal.keys("are you there?\r");
    terminal.wait_for_written(ANSWERING);
    terminal.press_until("\u{1b}[O", "Still here.");
    terminal.wait_for_written("\u{7}");
    assert_eq!(leave(terminal).matches('\u{7}').count(), 1);
}

/// A server that embeds one text at a time and never ends with those in bulk.
async fn endless_server() -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(|request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let texts = body["input"].as_array().unwrap().len();
            let data: Vec<Value> = (0..texts)
                .map(|at| json!({"index": at, "embedding": [1.0, 0.5]}))
                .collect();
            let answer = ResponseTemplate::new(200).set_body_json(json!({"data": data}));
            match texts {
                1 => answer,
                _ => answer.set_delay(Duration::from_mins(10)),
            }
        })
        .mount(&server)
        .await;
    server
}

#[test]
fn an_embedding_that_takes_long_is_stopped_and_goes_on_when_asked() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(endless_server());
    let place = Workplace::empty();
    for name in ["gate", "door"] {
        place.file(
            &format!("kb/{name}.md"),
            format!("# The {name}\n\nIt opens.\n"),
        );
    }
    let mut command = place.command(&["kb"]);
    command
        .env("KB_AGENT_EMBEDDING_BASE_URL", server.uri())
        .env("KB_AGENT_EMBEDDING_MODEL", "m");
    let mut terminal = Terminal::start(&command, 140, 40);
    terminal.wait_for_text("embedding 0 of 2");
    terminal.wait_for_written("\u{1b}]9;4;1;0\u{1b}\\");
    terminal.press_until("/index stop\r", "indexing stopped · 2 not embedded");
    terminal.wait_for_written(NO_PROGRESS);
    terminal.press_until("/index go\r", "embedding 0 of 2");
    leave(terminal);
}
