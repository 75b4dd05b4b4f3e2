//! The real binary as an MCP server: whole messages on standard output, and HTTP for who has the token.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::ends::until;
use crate::fault_server::{Act, FaultServer, stream_head};
use crate::support::Said;
use crate::workplace::{Workplace, ended, events, json_lines, one_line, text};

/// What a client says first.
fn hello() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

/// A client over the standard streams of the binary.
struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    sent: u64,
    /// What the server told beside its replies.
    told: Vec<Value>,
}

impl Client {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut client = Self {
            to: child.stdin.take(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            sent: 0,
            told: Vec::new(),
        };
        let welcome = client.ask("initialize", &hello());
        assert_eq!(welcome["serverInfo"]["name"], "kb-agent");
        client.send(&json!({"method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.sent += 1;
        self.send(&json!({"id": self.sent, "method": method, "params": params}));
        self.sent
    }

    /// The reply to a request; every line before it is a message, too.
    fn end(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap(), 0, "it ended");
            let message: Value = serde_json::from_str(&line).expect(&line);
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message["id"] == json!(id) {
                return message;
            }
            self.told.push(message);
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        let reply = self.end(id);
        assert!(reply["error"].is_null(), "{reply}");
        reply["result"].clone()
    }

    /// The result of a tool.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Goes away; the server must end well.
    fn leave(mut self) {
        drop(self.to.take());
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

fn said(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn serving(place: &Workplace) -> Client {
    Client::start(place.command(&["mcp", "--kb", "kb"]))
}

#[test]
fn calls_come_to_what_the_table_says_and_nothing_is_outside_the_base() {
    let place = Workplace::with_gate();
    let long = format!("short\n{}END\nlast\n", "ä".repeat(30_000));
    let many = (1..=1000).map(|line| format!("zebra stripe {line} {}\n", "x".repeat(60)));
    let many: String = many.collect();
    for (name, text) in [
        (
            "sub/ö b.md",
            "# Bells\n\nFour bells\u{1b}[2J ring.\n\nThey are old.\n",
        ),
        ("9.41\u{202f}AM.md", "# Morning\n\nA screenshot.\n"),
        ("U\u{308}bung.md", "# Exercise\n\nRun a mile.\n"),
        ("c.yaml", "flag: -debug\n"),
        ("long.txt", &long),
        ("many.txt", &many),
    ] {
        place.file(&format!("kb/{name}"), text);
    }
    place.file("outside.md", "The secret lighthouse.\n");
    let mut client = serving(&place);
    let table = include_str!("fixtures/mcp_calls.txt")
        .replace("\"LONG\"", &format!("\"{}\"", "word ".repeat(20_000)));
    let rows = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for row in rows {
        let (call, comes) = row.split_once(" => ").unwrap();
        let (tool, arguments) = call.split_once(' ').unwrap();
        let (how, wanted) = comes.split_once(' ').unwrap();
        let wanted: Value = serde_json::from_str(wanted).unwrap();
        let words = wanted.as_str().unwrap_or_default();
        let result = client.call(tool, &serde_json::from_str(arguments).unwrap());
        let (is_refused, shown) = (result["isError"] == true, said(&result));
        let context = format!("{row:.200}: {shown:.2000}");
        let as_expected = match how {
            "text" => !is_refused && shown.contains(words),
            "refused" => is_refused && shown.starts_with(words),
            at => {
                *result["structuredContent"]
                    .pointer(at)
                    .unwrap_or(&Value::Null)
                    == wanted
            }
        };
        assert!(as_expected, "{context}");
        assert!(result.to_string().len() < 100_000, "{context}");
        assert!(!result.to_string().contains("u001b"), "{context}");
        assert!(!shown.contains("lighthouse"), "{context}");
    }
    client.leave();
}

#[test]
fn tools_and_documents_are_listed_and_documents_are_resources() {
    let place = Workplace::with_gate();
    place.file("kb/long.txt", "ä".repeat(600_000));
    let mut client = serving(&place);
    let tools = client.ask("tools/list", &json!({}));
    let mut names = Vec::new();
    for tool in tools["tools"].as_array().unwrap() {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        names.push(tool["name"].as_str().unwrap());
    }
    assert_eq!(names, ["search", "read", "ask", "list_documents"]);
    let listed = client.ask("resources/list", &json!({}));
    assert_eq!(listed["resources"][0]["uri"], "kb:///gate.md");
    let templates = client.ask("resources/templates/list", &json!({}));
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        "kb:///{+path}"
    );
    let mut read = |uri: &str| {
        let id = client.begin("resources/read", &json!({"uri": uri}));
        client.end(id)
    };
    let gate = &read("kb:///gate.md")["result"]["contents"][0];
    assert_eq!(gate["mimeType"], "text/markdown");
    let long = read("kb:///long.txt")["result"]["contents"][0]["text"].clone();
    let long = long.as_str().unwrap();
    assert!(long.starts_with("ää") && long.len() > 1 << 20);
    long.must_hold("[cut here: the tool read goes on with start_line 1 and start_column 524289]");
    let error = read("kb:///%2E%2E/outside.md")["error"]["message"].clone();
    error.as_str().unwrap().must_hold("knowledge base");
    client.leave();
}

#[test]
fn calls_of_a_pipe_that_ends_are_answered_before_the_end() {
    let place = Workplace::with_gate();
    let mut command = place.command(&["mcp", "--kb", "kb"]);
    let calls = [
        json!({"id": 1, "method": "initialize", "params": hello()}),
        json!({"method": "notifications/initialized"}),
        json!({"id": 2, "method": "tools/call", "params": {
            "name": "ask", "arguments": {"question": "What is the threshold of the gate?"},
        }}),
    ];
    let lines = calls.map(|mut call| {
        call["jsonrpc"] = json!("2.0");
        call.to_string() + "\n"
    });
    command.stdin(std::fs::File::open(place.file("calls", lines.concat())).unwrap());
    let output = ended(command);
    assert!(output.status.success());
    let replies = json_lines(&output.stdout);
    assert_eq!(replies.last().unwrap()["id"], 2);
    assert_eq!(
        replies.last().unwrap()["result"]["structuredContent"]["outcome"],
        "answered"
    );
}

#[cfg(unix)]
#[test]
fn a_client_that_is_gone_is_not_waited_for() {
    let never = FaultServer::start(&[("analyze_and_route", vec![Act::Hang(stream_head())])]);
    let place = Workplace::with_gate();
    let mut command = place.command(&["mcp", "--kb", "kb"]);
    command.envs(never.settings());
    let mut client = Client::start(command);
    let asked = json!({"name": "ask", "arguments": {"question": "When does the gate open?"}});
    client.begin("tools/call", &asked);
    until("the model is asked", || never.hanging() == 1);
    let Client {
        mut child,
        to,
        from,
        ..
    } = client;
    drop((to, from));
    assert!(child.wait().unwrap().success());
    assert_eq!(
        events(&place.audit(), "run_finished")[0]["outcome"],
        "cancelled"
    );
}

#[test]
fn an_answer_comes_with_its_path_its_scores_and_its_citations() {
    let demo = Workplace::with_demo();
    let mut client = Client::start(demo.command(&["mcp"]));
    let asked = json!({
        "name": "ask",
        "arguments": {"question": "What is the difference between REFINE and RE_RETRIEVE?"},
        "_meta": {"progressToken": "p1"},
    });
    let result = client.ask("tools/call", &asked);
    let answer = &result["structuredContent"];
    assert_eq!(answer["outcome"], "answered");
    assert_eq!(answer["route"], "complex");
    assert_eq!(answer["path"][0]["node"], "analyze_and_route");
    assert_eq!(answer["citations"][0]["n"], 1);
    let confidence = answer["confidence"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&confidence), "{confidence}");
    let evidence = answer["evidence"].as_array().unwrap();
    assert!(
        evidence[0]["grade"].is_number() && evidence[0]["cited"] == true,
        "{answer}"
    );
    said(&result).must_hold("<assistant-");
    said(&result).must_hold(answer["citations"][0]["source"].as_str().unwrap());

    let steps: Vec<&Value> = client
        .told
        .iter()
        .map(|message| &message["params"])
        .collect();
    assert!(steps.len() > 4, "{steps:?}");
    assert!(steps.iter().all(|step| step["progressToken"] == "p1"));
    let numbers: Vec<f64> = steps
        .iter()
        .map(|step| step["progress"].as_f64().unwrap())
        .collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let lines: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["message"].as_str())
        .collect();
    assert!(lines.contains(&"grade_evidence"), "{lines:?}");

    let nothing = client.call("ask", &json!({"question": "hello", "route": "chitchat"}));
    assert_eq!(nothing["structuredContent"]["citations"], json!([]));
    client.leave();
    let ends = events(&demo.place().audit(), "run_finished").len();
    assert_eq!(ends, 2);
}

#[cfg(unix)]
#[test]
fn an_answer_says_that_the_log_cannot_be_written() {
    let place = Workplace::with_gate();
    place.index();
    let serve = place.command(&["mcp", "--kb", "kb"]);
    // No file may grow beyond some kB.
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""])
        .arg(serve.get_program())
        .args(serve.get_args());
    if let Some(folder) = serve.get_current_dir() {
        command.current_dir(folder);
    }
    command.env_clear();
    for (name, value) in serve.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let mut client = Client::start(command);
    let answer = client.call("ask", &json!({"question": "When does the gate open?"}));
    let warnings = answer["structuredContent"]["warnings"].to_string();
    warnings.must_hold("the audit log");
    warnings.must_hold("cannot be written");
    client.leave();
}

#[test]
fn a_question_that_its_client_cancels_ends_and_the_log_says_so() {
    let never = FaultServer::start(&[("analyze_and_route", vec![Act::Hang(stream_head())])]);
    let place = Workplace::with_gate();
    let mut command = place.command(&["mcp", "--kb", "kb"]);
    let mut client = Client::start({
        command.envs(never.settings());
        command
    });
    let asked = json!({"name": "ask", "arguments": {"question": "When does the gate open?"}});
    let id = client.begin("tools/call", &asked);
    until("the model is asked", || never.hanging() == 1);
    client.send(&json!({"method": "notifications/cancelled", "params": {"requestId": id}}));
    until("the question is given up", || never.hung_up() == 1);
    // The server goes on.
    let listed = client.call("list_documents", &json!({}));
    assert_eq!(
        listed["structuredContent"]["documents"][0]["source"],
        "gate.md"
    );
    client.leave();
    assert_eq!(
        events(&place.audit(), "run_finished")[0]["outcome"],
        "cancelled"
    );
}

#[test]
fn a_client_is_answered_at_once_though_the_base_does_not_open() {
    let silent = FaultServer::start(&[("", vec![Act::Hang(Vec::new())])]);
    let place = Workplace::with_gate();
    let mut command = place.command(&["mcp", "--kb", "kb"]);
    command.env("KB_AGENT_EMBEDDING_BASE_URL", silent.base_url());
    let mut client = Client::start(command);
    let tools = client.ask("tools/list", &json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 4);
    client.leave();
}

#[test]
fn what_is_no_client_and_no_base_is_one_line() {
    let place = Workplace::with_gate();
    let mut command = place.command(&["mcp", "--kb", "missing"]);
    command.stdin(Stdio::piped());
    let no_base = ended(command);
    assert_eq!(no_base.status.code(), Some(1), "{}", text(&no_base.stderr));
    one_line(&no_base).must_hold("missing");

    place.file("talk.txt", "hello\n");
    let mut command = place.command(&["mcp", "--kb", "kb"]);
    command.stdin(std::fs::File::open(place.path().join("talk.txt")).unwrap());
    let no_client = ended(command);
    assert_eq!(text(&no_client.stdout), "");

    for (arguments, line) in [
        (
            &["--http", "nowhere"][..],
            "--http is 'nowhere': it must be a port",
        ),
        (
            &["--http", "0.0.0.0:1"],
            "lets other machines in: name with --host",
        ),
        (
            &["--http", "0", "--host", "https://kb.example.com"],
            "--host is 'https://kb.example.com': it must be a name or an IP address alone",
        ),
        (
            &["--http", "0", "--host", "kb.example.com:8443"],
            "--host is 'kb.example.com:8443': it must be",
        ),
    ] {
        let output = place.run(&[&["mcp"], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        one_line(&output).must_hold(line);
    }
}

/// A server over HTTP and the lines that it printed.
struct Listening {
    child: Child,
    address: String,
    printed: String,
}

impl Listening {
    fn start(mut command: Command, lines: usize) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut from = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        for _ in 0..lines {
            from.read_line(&mut printed).unwrap();
        }
        let address = printed.lines().next().unwrap();
        let address = address
            .trim_start_matches("http://")
            .trim_end_matches("/mcp");
        Self {
            child,
            address: address.to_owned(),
            printed: printed.clone(),
        }
    }

    /// Status and text of the reply to `initialize` with these headers.
    fn greet(&self, path: &str, host: &str, headers: &str) -> (u16, String) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()});
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        (reply["HTTP/1.1 ".len()..][..3].parse().unwrap(), reply)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn over_http_only_who_has_the_token_gets_in_and_no_page_of_a_browser() {
    let place = Workplace::with_gate();
    let server = Listening::start(place.command(&["mcp", "--kb", "kb", "--http", "0"]), 2);
    let token = server.printed.lines().nth(1).unwrap().to_owned() + "\r\n";
    assert!(
        token.starts_with("Authorization: Bearer ") && token.len() > 64,
        "{token}"
    );
    let own = server.address.as_str();
    let foreign = format!("{token}Origin: https://evil.example\r\n");
    let null = format!("{token}Origin: null\r\n");
    let local = format!("{token}Origin: http://localhost:6274\r\n");
    for (path, host, headers, status) in [
        ("/mcp", own, "", 401),
        ("/mcp", own, "Authorization: Bearer 0\r\n", 401),
        ("/mcp", own, "Authorization: Bearer \r\n", 401),
        ("/mcp", "evil.example", &token, 403),
        ("/mcp", own, &foreign, 403),
        ("/mcp", own, &null, 403),
        ("/", own, &token, 404),
        ("/mcp", own, &local, 200),
        ("/mcp", "localhost:1", &token, 200),
    ] {
        let (is, reply) = server.greet(path, host, headers);
        assert_eq!(is, status, "{path} {host} {headers}: {reply}");
        assert_eq!(reply.contains("protocolVersion"), status == 200, "{reply}");
    }
}

#[test]
fn over_http_a_token_that_is_set_is_not_printed_and_a_named_host_gets_in() {
    let place = Workplace::with_gate();
    let arguments = [
        "mcp",
        "--kb",
        "kb",
        "--http",
        "127.0.0.1:0",
        "--host",
        "kb.example.com",
    ];
    let mut command = place.command(&arguments);
    command.env("KB_AGENT_MCP_TOKEN", "of-my-own-making-1");
    let server = Listening::start(command, 1);
    let token = "Authorization: Bearer of-my-own-making-1\r\n";
    let (status, reply) = server.greet("/mcp", "kb.example.com", token);
    assert_eq!(status, 200, "{reply}");
    server.printed.must_lack("of-my-own-making-1");
    let (status, _) = server.greet(
        "/mcp",
        &server.address,
        "Authorization: Bearer of-my-own-making-2\r\n",
    );
    assert_eq!(status, 401);
}
