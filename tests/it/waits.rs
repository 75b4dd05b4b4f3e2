//! What the call of a model waits for: reported while it waits, over with the next byte, in no log.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fault_server::{
    Act, FaultServer, ending, error, piece, reply, says, stream, stream_head,
};
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events, json_lines, text};

const CHITCHAT: &str = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": null}"#;

/// An endpoint that answers small talk as the script says.
struct Place {
    place: Workplace,
    server: FaultServer,
}

impl Place {
    fn new(analyze: Vec<Act>, synthesize: Vec<Act>) -> Self {
        let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
        place.index();
        let script = [("analyze_and_route", analyze), ("synthesize", synthesize)];
        let server = FaultServer::start(&script);
        Self { place, server }
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.place.command(args);
        command
            .envs(self.server.settings())
            .env("KB_AGENT_LLM_TIMEOUT_SECS", "3");
        command
    }

    /// The events of one question, none of them left out, and none that passes in the log.
    fn ask(&self) -> Vec<Value> {
        let mut command = self.command(&["ask", "--json", "--kb", "kb", "hello"]);
        let emitted = json_lines(&command.output().unwrap().stdout);
        for (at, event) in emitted.iter().enumerate() {
            assert_eq!(event["seq"], at, "{event}");
        }
        let kept = emitted
            .iter()
            .filter(|event| event["event"] != "waiting" && event["event"] != "answer_delta");
        let seqs: Vec<_> = kept.map(|event| &event["seq"]).collect();
        let log = self.place.audit();
        let logged: Vec<_> = log.iter().map(|event| &event["seq"]).collect();
        assert_eq!(seqs, logged);
        emitted
    }
}

/// What they say of waiting, without what every event says.
fn waits(emitted: &[Value]) -> Vec<Value> {
    let of_every_event = ["schema", "ts", "run", "seq", "event"];
    let mut waits: Vec<Value> = events(emitted, "waiting").into_iter().cloned().collect();
    for wait in &mut waits {
        let fields = wait.as_object_mut().unwrap();
        fields.retain(|name, _| !of_every_event.contains(&name.as_str()));
    }
    waits
}

fn over(node: &str) -> Value {
    json!({"node": node, "what": "over"})
}

fn busy() -> Act {
    error(
        "429 Too Many Requests",
        "Retry-After-Ms: 40\r\n",
        "slow down",
    )
}

fn well() -> Act {
    says(CHITCHAT)
}

#[test]
fn ui_a_retry_is_reported_with_its_status_its_pause_and_its_number() {
    let place = Place::new(vec![busy(), well()], vec![busy(), busy(), says("Hello!")]);
    let emitted = place.ask();
    let retry = |node, attempt| {
        json!({"node": node, "what": "retry", "seconds": 0.04, "attempt": attempt, "attempts": 4,
            "status": 429})
    };
    let (analyze, synthesize) = ("analyze_and_route", "synthesize");
    let expected = [
        retry(analyze, 2),
        over(analyze),
        retry(synthesize, 2),
        over(synthesize),
        retry(synthesize, 3),
        over(synthesize),
    ];
    assert_eq!(waits(&emitted), expected);
    assert_eq!(emitted.last().unwrap()["outcome"], "answered");
}

#[test]
fn ui_a_retry_without_a_reply_has_no_status() {
    let cut = stream(piece("{\"complexity\": ") + "data: {\"choices\":[{\"del");
    let place = Place::new(vec![cut, well()], vec![says("Hello!")]);
    let received = waits(&place.ask());
    let [retry, again] = &received[..] else {
        panic!("{received:?}");
    };
    assert_eq!(retry["what"], json!("retry"));
    assert_eq!(retry["attempt"], json!(2));
    assert!(retry["seconds"].as_f64().unwrap() > 0.0);
    assert!(retry.get("status").is_none());
    assert_eq!(*again, over("analyze_and_route"));
}

#[test]
fn ui_silence_in_the_middle_of_a_reply_is_reported_with_what_is_left() {
    let forever = Act::Hang([stream_head(), piece("At se").into_bytes()].concat());
    let place = Place::new(vec![well()], vec![forever]);
    let emitted = place.ask();
    let silence = json!({"node": "synthesize", "what": "silence", "seconds": 2, "seconds_left": 1});
    assert_eq!(waits(&emitted), [silence]);
    let error = emitted.last().unwrap()["error"].as_str().unwrap();
    assert!(error.contains("stopped in the middle of a reply and sent nothing for 3 s"));
}

/// The event of a prompt of 760 tokens, 160 of them kept, that is read so far.
fn progress(done: u64) -> String {
    let progress =
        json!({"total": 760, "cache": 160, "processed": done, "time_ms": (done - 160) * 20});
    let delta = json!({"role": "assistant", "content": null});
    let chunk = json!({"choices": [{"index": 0, "delta": delta}], "prompt_progress": progress});
    format!("data: {chunk}\n\n")
}

/// A reply of a llama.cpp on a port of the user's own.
fn llama_cpp(body: &str) -> Vec<u8> {
    let head = String::from_utf8(stream_head()).unwrap();
    let head = head.replacen("\r\n", "\r\nServer: llama.cpp\r\n", 1);
    head.into_bytes().into_iter().chain(body.bytes()).collect()
}

/// The same to its end, with what it measured while it wrote.
fn measured(text: &str, tokens: u64, ms: f64) -> Act {
    let timings = json!({"choices": [], "timings": {"predicted_n": tokens, "predicted_ms": ms}});
    let body = format!("{}data: {timings}\n\n{}", piece(text), ending());
    Act::Send(vec![llama_cpp(&body)])
}

/// Whether each request asked how far the prompt is read.
fn asked_for_progress(server: &FaultServer) -> Vec<bool> {
    let asked = server.seen().into_iter().map(|seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        body["return_progress"] == json!(true)
    });
    asked.collect()
}

#[test]
fn ui_the_reading_of_a_prompt_is_asked_for_and_reported_where_the_server_tells_it() {
    let reading = Act::Hang(llama_cpp(&progress(460)));
    let place = Place::new(vec![measured(CHITCHAT, 9, 900.0)], vec![reading]);
    let emitted = place.ask();
    assert_eq!(asked_for_progress(&place.server), [false, true]);
    let received = waits(&emitted);
    let [first, second] = &received[..] else {
        panic!("{received:?}");
    };
    for (wait, seconds) in [(first, 7), (second, 8)] {
        assert_eq!(wait["what"], "reading", "{wait}");
        assert_eq!(wait["node"], "synthesize", "{wait}");
        let counts = [&wait["tokens"], &wait["tokens_in_all"], &wait["cached"]];
        assert_eq!(counts, [300, 600, 160], "{wait}");
        assert_eq!(wait["tokens_per_second"], 50.0, "{wait}");
        assert_eq!(wait["seconds"], seconds, "{wait}");
        assert_eq!(wait["seconds_left"], 12 - seconds, "{wait}");
    }
    let error = emitted.last().unwrap()["error"].as_str().unwrap();
    assert!(error.contains("sent nothing for 3 s"), "{error}");
    assert!(!error.contains("in the middle of a reply"), "{error}");
}

#[test]
fn a_server_that_refuses_to_tell_its_progress_is_not_asked_again() {
    let refused = error("400 Bad Request", "", "unsupported param: return_progress");
    let place = Place::new(vec![refused, well()], vec![says("Hello!")]);
    let mut command = place.command(&["ask", "--json", "--kb", "kb", "hello"]);
    command.env("KB_AGENT_LLM_SERVER", "llama.cpp");
    let emitted = json_lines(&command.output().unwrap().stdout);
    assert_eq!(asked_for_progress(&place.server), [true, false, false]);
    let warned = events(&emitted, "warning");
    let message = warned[0]["message"].as_str().unwrap();
    assert!(
        message.contains("refuses return_progress: done without"),
        "{message}"
    );
    assert_eq!(emitted.last().unwrap()["outcome"], "answered");
}

#[test]
fn a_model_that_writes_slowly_is_named_once_with_what_helps() {
    let slow = measured("Hello!", 20, 14_000.0);
    let place = Place::new(vec![measured(CHITCHAT, 20, 8_000.0)], vec![slow]);
    let warned = |emitted: &[Value]| -> Vec<Value> {
        let warned = events(emitted, "warning").into_iter();
        warned.map(|warning| warning["code"].clone()).collect()
    };
    assert_eq!(warned(&place.ask()), ["model_slow"]);
    let typed = place.place.file("lines", "hello\nhello again\n");
    let mut command = place.command(&["--plain", "kb"]);
    command.stdin(std::fs::File::open(typed).unwrap());
    let said = text(&command.output().unwrap().stdout);
    assert_eq!(said.matches("Hello!").count(), 2, "{said}");
    assert_eq!(said.matches("m writes 1.4 tok/s here").count(), 1, "{said}");
    assert!(said.contains("KB_AGENT_LLM_DECIDES=built-in"), "{said}");
}

#[test]
fn ui_thinking_is_reported_wherever_a_server_puts_it() {
    let aloud = [
        "<think>Let me see, is that ",
        "small talk?",
        "</think>",
        CHITCHAT,
    ];
    let aloud = stream(aloud.map(piece).concat() + &ending());
    let thought = json!({"choices": [{"delta": {"reasoning_content": "hm hm hm "}}]});
    let apart = stream(format!(
        "data: {thought}\n\n{}{}",
        piece("Hello!"),
        ending()
    ));
    let place = Place::new(vec![aloud], vec![apart]);
    let emitted = place.ask();
    let thinking = |node, tokens| json!({"node": node, "what": "thinking", "tokens": tokens});
    let expected = [
        thinking("analyze_and_route", 5),
        over("analyze_and_route"),
        thinking("synthesize", 3),
        over("synthesize"),
    ];
    assert_eq!(waits(&emitted), expected);
    let names = emitted.iter().map(|event| event["event"].as_str().unwrap());
    let names: Vec<_> = names.collect();
    let last = |name| names.iter().rposition(|other| *other == name);
    assert!(last("waiting") < names.iter().position(|name| *name == "answer_delta"));
}

#[test]
fn ui_a_call_that_does_not_wait_tells_of_nothing() {
    let place = Place::new(vec![well()], vec![says("Hello!")]);
    assert_eq!(waits(&place.ask()), [] as [Value; 0]);
}

#[test]
fn ui_plain_mode_and_ask_say_a_retry_in_one_line() {
    let place = Place::new(vec![busy(), well(), busy(), well()], vec![says("Hello!")]);
    let mut child = place
        .command(&["--plain", "kb"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let said = text(&child.wait_with_output().unwrap().stdout);
    let line = "429: again in 1 s (2 of 4)";
    assert!(said.contains(&format!("\n  Waiting: {line}.\n")), "{said}");
    let terminal = Terminal::start(&place.command(&["ask", "--kb", "kb", "hello"]), 100, 30);
    let (code, shown) = terminal.end_with_text();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains(&format!("kb-agent: {line}")), "{shown}");
}

/// A whole reply in JSON, after which the connection is kept.
fn data(body: &Value) -> Act {
    let headers = "Content-Type: application/json\r\n";
    Act::Keep(reply("200 OK", headers, body.to_string()))
}

#[test]
fn ui_what_the_embedding_of_a_question_waits_for_is_reported_too() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let run = |args: &[&str], acts: Vec<Act>| {
        let server = FaultServer::start(&[("", acts)]);
        let address = server.base_url();
        let mut command = place.command(args);
        command
            .env("KB_AGENT_EMBEDDING_BASE_URL", address)
            .env("KB_AGENT_EMBEDDING_MODEL", "m");
        (command, server)
    };
    let one = data(&json!({"data": [{"index": 0, "embedding": [0.6, 0.8]}]}));
    let (mut index, _server) = run(&["index", "--kb", "kb"], vec![one.clone()]);
    assert!(index.output().unwrap().status.success());
    let ask = ["ask", "--json", "--kb", "kb", "When does the gate open?"];
    let (mut command, _server) = run(&ask, vec![busy(), one.clone()]);
    let emitted = json_lines(&command.output().unwrap().stdout);
    let retry = json!({"node": "tool_exec", "what": "retry", "seconds": 0.04, "attempt": 2,
        "attempts": 2, "status": 429});
    assert_eq!(waits(&emitted), [retry, over("tool_exec")]);
    assert_eq!(emitted.last().unwrap()["outcome"], "answered");
    let ask = ["ask", "--kb", "kb", "When does the gate open?"];
    let (command, _server) = run(&ask, vec![busy(), one]);
    let (code, shown) = Terminal::start(&command, 100, 30).end_with_text();
    assert_eq!(code, 0, "{shown}");
    let line = "kb-agent: embedding · 429: again in 1 s (2 of 2)";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn ui_what_the_list_of_models_waits_for_is_reported_before_the_run_begins() {
    let busy = || error("429 Too Many Requests", "Retry-After: 1\r\n", "slow down");
    let listing = || data(&json!({"data": [{"id": "m"}]}));
    let place = Place::new(Vec::new(), Vec::new());
    let start = |args: &[&str]| {
        let script = [
            ("", vec![busy(), listing()]),
            ("analyze_and_route", vec![well()]),
            ("synthesize", vec![says("Hello!")]),
        ];
        let server = FaultServer::start(&script);
        let mut command = place.command(args);
        command
            .env_remove("KB_AGENT_LLM_MODEL")
            .env("KB_AGENT_LLM_BASE_URL", server.base_url());
        (command, server)
    };
    let line = "starting · 429: again in 1 s (2 of 4)";
    let (command, _server) = start(&["kb"]);
    let mut terminal = Terminal::start(&command, 120, 40);
    terminal.wait_for_text("1 doc");
    terminal.press_until("hello\r", line);
    let screen = terminal.wait_for_text("Hello!");
    assert!(!screen.contains("starting"), "{screen}");
    terminal.signal("TERM");
    terminal.end();
    let (command, _server) = start(&["ask", "--kb", "kb", "hello"]);
    let (code, shown) = Terminal::start(&command, 100, 30).end_with_text();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains(&format!("kb-agent: {line}")), "{shown}");
    let typed = place.place.file("lines", "hello\n");
    let (mut command, _server) = start(&["--plain", "kb"]);
    command.stdin(std::fs::File::open(typed).unwrap());
    let said = text(&command.output().unwrap().stdout);
    assert!(said.contains(&format!("  Waiting: {line}.\n")), "{said}");
    // What belongs to no run is no event.
    let (mut command, _server) = start(&["ask", "--json", "--kb", "kb", "hello"]);
    let emitted = json_lines(&command.output().unwrap().stdout);
    assert_eq!(emitted[0]["event"], "run_started");
    assert_eq!(waits(&emitted), [] as [Value; 0]);
}
