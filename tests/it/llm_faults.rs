//! What an endpoint can do wrong, against the real binary: the exact line, the exit code, how often
//! it was asked, and a log that is complete whatever happened.

use std::process::Output;

use serde_json::{Value, json};

use crate::fault_server::{
    Act, FaultServer, Seen, ending, error, piece, reply, says, stream, stream_head,
};
use crate::support::Said;
use crate::workplace::{Workplace, events, json_lines, text};
#[cfg(unix)]
use crate::workplace::{free_address, signal};

/// A question that comes out as small talk: an analysis without a reply, then an answer.
pub const ANALYZE: &str = "analyze_and_route";
pub const SYNTHESIZE: &str = "synthesize";
pub const CHITCHAT: &str = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": null}"#;

/// What each node is answered.
type Script = Vec<(&'static str, Vec<Act>)>;

/// One way to misbehave, and all that a person and a log see of it.
pub struct Case {
    name: &'static str,
    settings: Vec<(&'static str, String)>,
    script: Script,
    /// What is on standard output before the footer.
    answer: &'static str,
    /// The one line on standard error, without `kb-agent: `; the address is HOST.
    line: &'static str,
    code: i32,
    /// Chat requests that the server saw.
    requests: usize,
}

/// The analysis is what goes wrong.
pub fn judged(name: &'static str, acts: impl IntoIterator<Item = Act>) -> Case {
    Case::new(name, acts.into_iter().collect(), vec![says("Hello!")], 1)
}

/// The answer is what goes wrong.
pub fn answered(name: &'static str, acts: impl IntoIterator<Item = Act>) -> Case {
    let acts: Vec<Act> = acts.into_iter().collect();
    let requests = 1 + acts.len();
    Case::new(name, vec![well()], acts, requests)
}

impl Case {
    fn new(name: &'static str, judge: Vec<Act>, answer: Vec<Act>, requests: usize) -> Self {
        Self {
            name,
            settings: vec![],
            script: vec![(ANALYZE, judge), (SYNTHESIZE, answer)],
            answer: "",
            line: "",
            code: 0,
            requests,
        }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.settings.push((name, value.to_owned()));
        self
    }

    /// Nothing is asked for again.
    fn once(self) -> Self {
        self.with("KB_AGENT_LLM_RETRIES", "0")
    }

    pub fn shows(mut self, answer: &'static str) -> Self {
        self.answer = answer;
        self
    }

    pub fn fails(self, line: &'static str) -> Self {
        Self {
            code: 1,
            ..self.warns(line)
        }
    }

    /// It goes well, with this said about it.
    pub fn warns(mut self, line: &'static str) -> Self {
        self.line = line;
        self
    }

    pub fn asked(mut self, requests: usize) -> Self {
        self.requests = requests;
        self
    }
}

pub struct Place(pub Workplace);

pub fn place() -> Place {
    let place = Workplace::with_gate();
    place.index();
    Place(place)
}

impl Place {
    pub fn ask(&self, base_url: &str, settings: &[(&str, String)], question: &str) -> Output {
        let _ = std::fs::remove_file(self.0.audit_log());
        let mut command = self.0.command(&["ask", "--kb", "kb", question]);
        command
            .env("KB_AGENT_LLM_BASE_URL", base_url)
            .env("KB_AGENT_LLM_MODEL", "m")
            .envs(settings.iter().map(|(name, value)| (name, value)));
        command.output().unwrap()
    }

    /// Asks with only these settings, and it goes well.
    fn ask_well(&self, server: &FaultServer, question: &str) -> Output {
        let output = self.ask(&server.base_url(), &[], question);
        let code = output.status.code();
        assert_eq!(code, Some(0), "{}", text(&output.stderr));
        output
    }

    pub fn check(&self, case: &Case) {
        let server = FaultServer::start(&case.script);
        let output = self.ask(&server.base_url(), &case.settings, "hello");
        self.compare(case, server.address(), &output);
        let seen = server.seen();
        assert_eq!(seen.len(), case.requests, "{}: {seen:#?}", case.name);
    }

    fn compare(&self, case: &Case, address: &str, output: &Output) {
        let name = case.name;
        let stderr = text(&output.stderr).replace(address, "HOST");
        let stdout = text(&output.stdout);
        let expected = match case.line {
            "" => String::new(),
            line => format!("kb-agent: {line}\n"),
        };
        assert_eq!(stderr, expected, "{name}: stderr (stdout: {stdout})");
        assert_eq!(output.status.code(), Some(case.code), "{name}: {stderr}");
        let answer = stdout.split("\n\n—").next().unwrap().trim_end_matches('\n');
        assert_eq!(answer, case.answer, "{name}: standard output");
        self.check_log(case, address);
    }

    /// A run that starts ends, in order, with the line that was shown.
    fn check_log(&self, case: &Case, address: &str) {
        let name = case.name;
        let log = json_lines(&std::fs::read(self.0.audit_log()).unwrap());
        let seqs = log.iter().map(|event| event["seq"].as_u64().unwrap());
        assert!(seqs.is_sorted_by(|a, b| a < b), "{name}");
        assert_eq!(log.first().unwrap()["event"], "run_started", "{name}");
        let end = log.last().unwrap();
        assert_eq!(end["event"], "run_finished", "{name}");
        assert_eq!(events(&log, "run_finished").len(), 1, "{name}");
        let entered = events(&log, "node_entered").len();
        let left = events(&log, "node_finished").len();
        assert_eq!(end["path"].as_array().unwrap().len(), entered, "{name}");
        if case.code == 0 {
            assert_eq!(end["outcome"], "answered", "{name}");
            assert_eq!(left, entered, "{name}");
        } else {
            assert_eq!(end["outcome"], "failed", "{name}");
            let error = end["error"].as_str().unwrap().replace(address, "HOST");
            assert_eq!(error, case.line, "{name}");
        }
        let kept = events(&log, "answer_finished");
        let kept: Vec<_> = kept.iter().map(|event| &event["text"]).collect();
        let mut expected = vec![case.answer];
        expected.retain(|text| !text.is_empty());
        assert_eq!(kept, expected, "{name}: the answer in the log");
    }
}

pub fn run(cases: &[Case]) {
    let place = place();
    for case in cases {
        place.check(case);
    }
}

/// A server that is asked for an analysis and an answer.
pub fn chat(judgements: Vec<Act>, answers: Vec<Act>) -> FaultServer {
    FaultServer::start(&[(ANALYZE, judgements), (SYNTHESIZE, answers)])
}

/// A stream that begins with this piece and goes on for ever in silence.
fn stalls_after(text: &str) -> Act {
    Act::Hang([stream_head(), piece(text).into_bytes()].concat())
}

/// A stream that says this again and again.
pub fn floods(bytes: impl Into<Vec<u8>>) -> Act {
    Act::Flood(stream_head(), bytes.into())
}

fn html(status: &str) -> Act {
    let page = "<!doctype html><html><title>Bad gateway</title><h1>nginx</h1></html>";
    Act::Keep(reply(status, "Content-Type: text/html\r\n", page))
}

fn refuses(message: &str) -> Act {
    error("400 Bad Request", "", message)
}

pub fn well() -> Act {
    says(CHITCHAT)
}

const AT_ONCE: &str = "Retry-After: 0\r\n";

#[test]
fn refusals_are_one_line_and_are_not_repeated() {
    let quota = json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
    let json = "Content-Type: application/json\r\n";
    run(&[
        judged("401 without a key", [error("401 Unauthorized", "", "Invalid API Key")])
            .fails("HOST asks for a key (401): Invalid API Key; set KB_AGENT_LLM_API_KEY"),
        judged(
            "401 that repeats the key",
            [error("401 Unauthorized", "", "Incorrect API key provided: sk-0123456789")],
        )
        .fails("HOST does not accept the key (401): Incorrect API key provided: [key]; check KB_AGENT_LLM_API_KEY")
        .with("KB_AGENT_LLM_API_KEY", "sk-0123456789"),
        judged("403", [error("403 Forbidden", "", "not for you")])
            .fails("HOST asks for a key (403): not for you; set KB_AGENT_LLM_API_KEY"),
        judged("402", [error("402 Payment Required", "", "Insufficient Balance")])
            .fails("HOST says that there is nothing left to spend (402): Insufficient Balance; see your account there"),
        judged("404 of an address", [error("404 Not Found", "", "File Not Found")])
            .fails("HOST does not know the address or the model (404): File Not Found; check KB_AGENT_LLM_BASE_URL and KB_AGENT_LLM_MODEL"),
        judged("404 of a model", [error("404 Not Found", "", "The model `gpt-9` does not exist")])
            .fails("HOST does not know the model (404): The model `gpt-9` does not exist; check KB_AGENT_LLM_MODEL"),
        judged("400 of a model", [refuses("m is not a valid model ID")])
            .fails("HOST does not know the model (400): m is not a valid model ID; check KB_AGENT_LLM_MODEL"),
        judged(
            "429 of an empty account",
            [Act::Keep(reply("429 Too Many Requests", json, quota.to_string()))],
        )
        .fails("HOST says that there is nothing left to spend (429): You exceeded your current quota; see your account there"),
        answered(
            "429 of a request that is larger than the limit of a minute",
            [error("429 Too Many Requests", AT_ONCE, "Request too large on tokens per min (TPM): Limit 300, Requested 900")],
        )
        .fails("HOST has had enough requests (429): Request too large on tokens per min (TPM): Limit 300, Requested 900; ask a shorter question, forget the conversation, or raise your limit there"),
        judged(
            "429 for an hour",
            [error("429 Too Many Requests", "Retry-After: 3600\r\n", "slow down")],
        )
        .fails("HOST has had enough requests (429): slow down; ask again in 3600 s"),
    ]);
}

#[test]
fn requests_that_cannot_be_met_are_one_line() {
    let filtered =
        json!({"error": {"message": "The prompt was blocked", "code": "content_filter"}});
    let json = "Content-Type: application/json\r\n";
    run(&[
        judged(
            "a content filter",
            [Act::Keep(reply("400 Bad Request", json, filtered.to_string()))],
        )
        .fails("HOST withheld the answer (content filter): The prompt was blocked; put the question in other words"),
        answered(
            "an overflowing context with nothing to trim",
            [refuses("request (9015 tokens) exceeds the available context size (4096 tokens), try increasing it")],
        )
        .fails("HOST rejects the request (400): request (9015 tokens) exceeds the available context size (4096 tokens), try increasing it; give the model a larger context, or forget the conversation and ask again"),
        judged(
            "a redirect",
            [Act::Keep(reply(
                "307 Temporary Redirect",
                "Location: https://llm.example/v1/chat/completions?key=secret\r\n",
                "",
            ))],
        )
        .fails("HOST redirects (307) to https://llm.example/v1/chat/completions; set KB_AGENT_LLM_BASE_URL to where it leads"),
        judged("a redirect to nowhere", [html("302 Found")])
            .fails("HOST redirects (302); set KB_AGENT_LLM_BASE_URL to where it leads"),
        judged(
            "a refused form of reply, to the last rung",
            [Act::Keep(reply("422 Unprocessable Entity", "", "no"))],
        )
        .fails("HOST rejects the request (422): no; check KB_AGENT_LLM_MODEL, or see the server's log")
        .asked(3),
        judged("not implemented", [error("501 Not Implemented", "", "no chat here")])
            .fails("HOST failed (501): no chat here; try again, or see the server's log")
            .asked(3),
    ]);
}

#[test]
fn what_may_pass_is_asked_again() {
    let mut cases: Vec<Case> = [
        "408 Request Timeout",
        "409 Conflict",
        "425 Too Early",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
        "529 Overloaded",
    ]
    .into_iter()
    .map(|status| {
        let acts = vec![error(status, AT_ONCE, "busy"), well()];
        judged(status, acts).asked(3).shows("Hello!")
    })
    .collect();
    let overloaded = "event: error\ndata: {\"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n";
    cases.extend([
        judged(
            "503 for ever",
            [error("503 Service Unavailable", AT_ONCE, "loading model")],
        )
        .fails(
            "HOST failed (503): loading model (asked 4 times); try again, or see the server's log",
        )
        .asked(4),
        judged(
            "429 for ever",
            [error("429 Too Many Requests", AT_ONCE, "slow down")],
        )
        .fails(
            "HOST has had enough requests (429): slow down (asked 4 times); wait, then ask again",
        )
        .asked(4),
        judged(
            "502 with a web page, never asked again",
            [html("502 Bad Gateway")],
        )
        .fails("HOST failed (502); try again, or see the server's log")
        .once(),
        judged("an error in the stream", [stream(overloaded), well()])
            .asked(3)
            .shows("Hello!"),
        judged("an error in the stream, for ever", [stream(overloaded)])
            .fails("HOST failed: Overloaded; check KB_AGENT_LLM_MODEL, or see the server's log")
            .once(),
        judged("a connection that is reset", [Act::Reset, well()])
            .asked(2)
            .shows("Hello!"),
        judged("a connection that is always reset", [Act::Reset])
            .fails("HOST broke the connection: connection reset; try again")
            .asked(0)
            .once(),
        judged(
            "a judgement that breaks off",
            [
                stream(piece("{\"complexity\": ") + "data: {\"choices\":[{\"del"),
                well(),
            ],
        )
        .asked(3)
        .shows("Hello!"),
        judged(
            "a judgement that breaks off, for ever",
            [stream(
                piece("{\"complexity\": ") + "data: {\"choices\":[{\"del",
            )],
        )
        .fails("HOST ended a reply in the middle; try again, or see the server's log")
        .once(),
        answered(
            "an answer that breaks off before it is seen",
            [
                Act::Send(vec![
                    reply("200 OK", "Content-Type: text/event-stream\r\n", "")[..40].to_vec(),
                ]),
                says("Hello!"),
            ],
        )
        .shows("Hello!"),
    ]);
    run(&cases);
}

/// Bytes that claim to be more than they are.
fn cut_off(body: &str) -> Act {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n";
    Act::Send(vec![format!("{head}{body}").into_bytes()])
}

#[test]
fn what_was_shown_is_kept_and_never_asked_again() {
    let out_of_memory = "data: {\"error\": {\"message\": \"out of memory\", \"code\": 503}}\n\n";
    run(&[
        answered("a connection that breaks", [cut_off(&piece("Hello, "))])
            .shows("Hello, ")
            .fails("HOST broke the connection: end of file before message length reached; what came is kept, ask again for the whole answer"),
        answered(
            "half a chunk of JSON",
            [stream(piece("Hello, ") + "data: {\"choices\":[{\"delta\":{\"cont")],
        )
        .shows("Hello, ")
        .fails("HOST ended a reply in the middle; what came is kept, ask again for the whole answer"),
        answered("an error in the stream", [stream(piece("Hello, ") + out_of_memory)])
            .shows("Hello, ")
            .fails("HOST failed: out of memory; what came is kept, ask again for the whole answer"),
        answered("silence", [stalls_after("Hello, ")])
            .shows("Hello, ")
            .fails("HOST stopped in the middle of a reply and sent nothing for 1 s; what came is kept, ask again for the whole answer")
            .with("KB_AGENT_LLM_TIMEOUT_SECS", "1"),
        answered(
            "bytes that are no chunk",
            [Act::Send(vec![b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), format!("{:x}\r\n{}\r\n", piece("Hello, ").len(), piece("Hello, ")).into_bytes(), b"zz\r\n".to_vec()])],
        )
        .shows("Hello, ")
        .fails("HOST broke the connection: Invalid chunk size line: missing size digit; what came is kept, ask again for the whole answer"),
        answered("an event that is not JSON", [stream(piece("Hello, ") + "data: <html>\n\n")])
            .shows("Hello, ")
            .fails("HOST ended a reply in the middle; what came is kept, ask again for the whole answer"),
    ]);
}

/// Every byte in a chunk and a packet of its own.
fn byte_by_byte(body: &str) -> Act {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let bytes = body
        .bytes()
        .map(|byte| [b"1\r\n", &[byte][..], b"\r\n"].concat());
    let pieces = std::iter::once(head).chain(bytes);
    Act::Send(pieces.chain([b"0\r\n\r\n".to_vec()]).collect())
}

fn gzipped(body: &str) -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(body.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn packed(encoding: &str, body: &[u8]) -> Act {
    let headers = format!("Content-Type: text/event-stream\r\nContent-Encoding: {encoding}\r\n");
    Act::Keep(reply("200 OK", &headers, body))
}

#[test]
fn streams_are_read_however_they_are_cut_and_wrapped() {
    let whole = piece("Hel") + &piece("lo!") + &ending();
    let completion =
        json!({"choices": [{"message": {"content": "Hello!"}, "finish_reason": "stop"}]});
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n";
    let verdict = "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n";
    let thought =
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\",\"content\":null}}]}\n\n";
    let split = whole.replacen("\"choices\":", "\ndata: \"choices\":", 1);
    run(&[
        answered("an event byte by byte", [byte_by_byte(&format!("\u{feff}: alive\n\n{whole}"))])
            .shows("Hello!"),
        answered("an event over two data lines that end with CR LF", [stream(split.replace('\n', "\r\n"))])
            .shows("Hello!"),
        answered("choices: []", [stream(format!("{verdict}{whole}"))]).shows("Hello!"),
        answered("content: null", [stream(format!("{role}{thought}{whole}"))]).shows("Hello!"),
        answered(
            "a connection that breaks within a line after the end",
            [cut_off(&format!("{whole}data: {{\"usage\": {{"))],
        )
        .shows("Hello!"),
        answered(
            "a completion in place of a stream",
            [Act::Keep(reply("200 OK", "", completion.to_string()))],
        )
        .shows("Hello!"),
        answered("gzip", [packed("gzip", &gzipped(&whole))]).shows("Hello!"),
        answered("an unknown packing", [packed("br", b"\x0b\x02\x80")])
            .fails("HOST sent something else instead of a chat reply; check KB_AGENT_LLM_BASE_URL (most end in /v1)"),
        answered("gzip that is none", [packed("gzip", whole.as_bytes())])
            .fails("HOST broke the connection: Invalid gzip header; try again")
            .once(),
        answered("a stream without a farewell", [stream(piece("Hello!"))])
            .warns("HOST ended the reply without saying that it was complete; the answer may be incomplete")
            .shows("Hello!"),
        answered(
            "a stream cut at its token limit",
            [stream(piece("Hello") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n")],
        )
        .warns("HOST stopped at its token limit; the answer may be incomplete")
        .shows("Hello"),
    ]);
}

#[test]
fn what_is_no_reply_is_named() {
    let filtered = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n";
    let other = |what: &str| -> &'static str {
        format!("HOST sent {what} instead of a chat reply; check KB_AGENT_LLM_BASE_URL (most end in /v1)").leak()
    };
    run(&[
        answered("a web page", [html("200 OK")]).fails(other("a web page")),
        answered("nothing", [Act::Keep(reply("200 OK", "", ""))]).fails(other("nothing")),
        answered(
            "no content",
            [Act::Keep(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())],
        )
        .fails(other("nothing")),
        answered("plain words", [Act::Keep(reply("200 OK", "", "It works!"))])
            .fails(other("something else")),
        answered(
            "other JSON",
            [Act::Keep(reply("200 OK", "", "{\"status\": \"ok\"}"))],
        )
        .fails(other("other JSON")),
        answered("no UTF-8", [stream(b"data: \xff\xfe\xfd\n\n")])
            .fails(other("an event that is not JSON")),
        answered(
            "an error with status 200",
            [Act::Keep(reply("200 OK", "", "{\"error\": \"no GPU\"}"))],
        )
        .fails("HOST failed: no GPU; check KB_AGENT_LLM_MODEL, or see the server's log"),
        answered("an empty answer", [stream(ending())])
            .fails("HOST sent an empty answer; ask again, or choose another KB_AGENT_LLM_MODEL"),
        answered("an answer that was filtered away", [stream(filtered)])
            .fails("HOST withheld the answer (content filter); put the question in other words"),
        answered(
            "another protocol",
            [Act::Send(vec![b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()])],
        )
        .fails("HOST broke the connection: invalid HTTP version parsed; try again")
        .once(),
        answered(
            "a connection that closes without a word",
            [Act::Send(vec![])],
        )
        .fails("HOST broke the connection: connection closed before message completed; try again")
        .once(),
    ]);
}

/// A piece of an answer, so long that the limit comes before it is there for the third time.
const WORDS: &str = "a word and another word, none like it and none of them twice, and then a third one \
                     that is longer than both, which goes on with a fourth, a fifth and a sixth, until \
                     somebody who reads it has had enough of words and looks at the numbers below, where \
                     nothing goes on at all ";

#[test]
fn streams_that_never_end_are_ended_in_proportion_to_the_tokens_asked_for() {
    let thought = json!({"choices": [{"delta": {"reasoning_content": WORDS}}]});
    let thought = format!("data: {thought}\n\n");
    let endless = "HOST did not stop sending; choose another KB_AGENT_LLM_MODEL";
    let place = place();
    let cases = [
        answered("thoughts", [floods(thought)]).fails(
            "HOST spent all of its 16 tokens on thinking; raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE",
        ),
        answered("comments", [floods(b": alive\n\n".repeat(50))]).fails(endless),
        answered(
            "one event",
            [Act::Flood(
                [stream_head(), b"data: ".to_vec()].concat(),
                b" ".repeat(500),
            )],
        )
        .fails(endless),
        answered("white space before anything", [floods(b"\n".repeat(500))]).fails(endless),
    ];
    for case in cases {
        place.check(&case.with("KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE", "16"));
    }
    // Text is shown as far as it may come: 32 bytes a token.
    let server = chat(vec![well()], vec![floods(piece(WORDS))]);
    let limit = [("KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE", "16".to_owned())];
    let output = place.ask(&server.base_url(), &limit, "hello");
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    let pieces = 16 * 32 / WORDS.len() + 1;
    assert_eq!(shown.matches(WORDS.trim()).count(), pieces, "{shown}");
    assert_eq!(
        text(&output.stderr).replace(server.address(), "HOST"),
        "kb-agent: HOST did not stop at the limit of 16 tokens; the answer was ended there\n"
    );
}

#[test]
fn streams_that_never_start_are_given_up() {
    let silent = "HOST sent nothing for 1 s; try again, or raise KB_AGENT_LLM_TIMEOUT_SECS";
    let cases = [
        judged("a connection without a reply", [Act::Hang(vec![])]).fails(silent),
        judged("a head without a body", [Act::Hang(stream_head())]).fails(silent),
        judged("half a judgement", [stalls_after("{")])
            .fails("HOST stopped in the middle of a reply and sent nothing for 1 s; try again, or raise KB_AGENT_LLM_TIMEOUT_SECS"),
    ];
    let place = place();
    for case in cases {
        place.check(&case.with("KB_AGENT_LLM_TIMEOUT_SECS", "1"));
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let place = place();
    let address = free_address();
    let refused = judged("refused", [])
        .fails("cannot reach HOST: connection refused; check that the server runs and KB_AGENT_LLM_BASE_URL");
    let output = place.ask(&format!("http://{address}/v1"), &[], "hello");
    place.compare(&refused, &address, &output);
    // Without a model's name the listing is what fails, and the run is in the log all the same.
    let unnamed = [("KB_AGENT_LLM_MODEL", String::new())];
    let output = place.ask(&format!("http://{address}/v1"), &unnamed, "hello");
    place.compare(&refused, &address, &output);
    let log = place.0.audit();
    assert_eq!(log[0]["model"], "no model reached");
    // It came to nothing before the first node, so none is reported.
    assert_eq!(events(&log, "run_finished")[0]["path"], json!([]));
    assert!(events(&log, "node_entered").is_empty());
    let proxy = [("HTTP_PROXY", format!("http://{address}"))];
    let output = place.ask("http://llm.example/v1", &proxy, "hello");
    let behind = judged("refused by a proxy", [])
        .fails("cannot reach llm.example through the proxy in HTTP_PROXY: connection refused; check that the server runs and KB_AGENT_LLM_BASE_URL, and HTTP_PROXY");
    place.compare(&behind, &address, &output);
}

/// Asks where no one listens, and returns as soon as the first attempt was turned away.
fn turned_away_once(place: &Place, address: &str) -> std::process::Child {
    let mut command = place.0.command(&["ask", "--json", "--kb", "kb", "hello"]);
    command
        .env("KB_AGENT_LLM_BASE_URL", format!("http://{address}/v1"))
        .env("KB_AGENT_LLM_MODEL", "m")
        .env("KB_AGENT_LLM_RETRIES", "10")
        .env("KB_AGENT_LOG", "kb_agent=debug")
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let logs = place.0.data().join("logs");
    let is_reported = || {
        let files = std::fs::read_dir(&logs).into_iter().flatten().flatten();
        let mut texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        texts.any(|text| text.contains("may_pass=true"))
    };
    while !is_reported() {
        assert!(child.try_wait().unwrap().is_none(), "it gave up");
        std::thread::yield_now();
    }
    child
}

#[test]
fn a_server_that_comes_up_meanwhile_is_asked_again() {
    let place = place();
    let address = free_address();
    let child = turned_away_once(&place, &address);
    let script = [(ANALYZE, vec![well()]), (SYNTHESIZE, vec![says("Hello!")])];
    let server = FaultServer::start_at(&address, &script);
    let output = child.wait_with_output().unwrap();
    let emitted = json_lines(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{emitted:#?}");
    assert_eq!(events(&emitted, "answer_finished")[0]["text"], "Hello!");
    assert_eq!(events(&emitted, "warning")[0]["code"], "endpoint_retried");
    assert_eq!(server.seen().len(), 2);
}

#[cfg(unix)]
#[test]
fn a_wait_for_a_server_that_is_not_there_ends_with_a_cancel() {
    let place = place();
    let child = turned_away_once(&place, &free_address());
    signal("INT", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let emitted = json_lines(&output.stdout);
    assert_eq!(events(&emitted, "run_finished")[0]["outcome"], "cancelled");
}

/// A port that takes no more connections: no one accepts, and the queue of one is full.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_no_one_takes_up_is_given_up() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    let (mut open, mut waiting) = (Vec::new(), Vec::new());
    // Connections beyond the queue never complete; those within it do at once, or a little later
    // on a busy machine: only several in a row show that it is full. Those that wait stay, so that
    // none of them makes room.
    let mut refused = 0;
    while refused < 5 {
        let mut connecting = tokio::spawn(tokio::net::TcpStream::connect(address));
        let limit = std::time::Duration::from_millis(200);
        if let Ok(stream) = tokio::time::timeout(limit, &mut connecting).await {
            refused = 0;
            open.push(stream);
        } else {
            refused += 1;
            waiting.push(connecting);
        }
    }
    let place = place();
    let settings = [("KB_AGENT_LLM_TIMEOUT_SECS", "2".to_owned())];
    let output = place.ask(&format!("http://{address}/v1"), &settings, "hello");
    let case = judged("no one accepts", [])
        .fails("cannot reach HOST: no answer within 1 s; check that the server runs and KB_AGENT_LLM_BASE_URL")
        .asked(0);
    place.compare(&case, &address.to_string(), &output);
}

#[test]
fn proxies_are_spoken_through_and_their_refusal_is_distinguished() {
    let place = place();
    let server = chat(vec![well()], vec![says("Hello!")]);
    let proxy = [("HTTP_PROXY", format!("http://{}", server.address()))];
    let output = place.ask("http://llm.example/v1", &proxy, "hello");
    let case = answered("through a proxy", []).shows("Hello!");
    place.compare(&case, server.address(), &output);
    let lines: Vec<_> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(
        lines,
        ["POST http://llm.example/v1/chat/completions HTTP/1.1"; 2]
    );

    let server = FaultServer::start(&[(
        ANALYZE,
        vec![error(
            "407 Proxy Authentication Required",
            "",
            "who are you?",
        )],
    )]);
    let proxy = [("HTTP_PROXY", format!("http://{}", server.address()))];
    let output = place.ask("http://llm.example/v1", &proxy, "hello");
    let case = judged("a proxy that asks", [])
        .fails("the proxy before llm.example asks for a name and a password (407): who are you?; put them into HTTP_PROXY");
    place.compare(&case, server.address(), &output);
}

#[test]
fn what_a_server_does_not_know_is_done_without_and_remembered() {
    let simple = r#"{"complexity": "simple", "query_type": "exact"}"#;
    let calls = r#"{"calls": [{"tool": "grep_search", "args": {"query": "gate"}}]}"#;
    let server = FaultServer::start(&table![
        ANALYZE,
            vec![refuses("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), refuses("'temperature' does not support 0.0 with this model"), refuses("Unrecognized request argument supplied: stream_options"), refuses("'response_format.type' must be 'text'"), refuses("json_object is not supported"), says(simple)];
        "plan", vec![says(calls)];
        SYNTHESIZE, vec![says("Seven [1].")];
    ]);
    let place = place();
    place.ask_well(&server, "What is the gate?");
    let bodies = bodies(&server);
    assert_eq!(bodies.len(), 8);
    assert_eq!(bodies[0]["response_format"]["type"], "json_schema");
    assert_eq!(bodies[4]["response_format"]["type"], "json_object");
    for (at, body) in bodies.iter().enumerate() {
        let has = |name: &str| !body[name].is_null();
        assert_eq!(has("max_tokens"), at < 1, "{at}");
        assert_eq!(has("max_completion_tokens"), at >= 1, "{at}");
        assert_eq!(has("temperature"), at < 2, "{at}");
        assert_eq!(has("stream_options"), at < 3, "{at}");
        assert_eq!(has("response_format"), at < 5, "{at}");
    }
    let log = place.0.audit();
    let mut adapted = events(&log, "warning");
    adapted.retain(|warning| warning["code"] == "endpoint_adapted");
    assert_eq!(adapted.len(), 5, "{adapted:?}");
}

#[test]
fn evidence_that_does_not_fit_is_trimmed_by_score_until_it_does() {
    let simple = r#"{"complexity": "simple", "query_type": "exact"}"#;
    let calls = r#"{"calls": [{"tool": "read_file", "args": {"path": "long.md"}}, {"tool": "grep_search", "args": {"query": "gate"}}]}"#;
    let overflow = || {
        refuses(
            "This model's maximum context length is 2000 tokens. However, your messages resulted in 3400 tokens.",
        )
    };
    let script = |answers: Vec<Act>| {
        [
            (ANALYZE, vec![says(simple)]),
            ("plan", vec![says(calls)]),
            (SYNTHESIZE, answers),
        ]
    };
    let place = place();
    place.0.file(
        "kb/long.md",
        "A line about the walls beside the gate.\n".repeat(190),
    );
    place.0.index();
    let server = FaultServer::start(&script(vec![overflow(), overflow(), says("Seven [2].")]));
    let base_url = server.base_url();
    let output = place.ask(&base_url, &[], "What is the gate?");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    stderr.must_begin_with("kb-agent: the prompt did not fit into the model's context");
    let mut asked = server.seen();
    asked.retain(|seen| seen.node() == SYNTHESIZE);
    let asked: Vec<Value> = asked.iter().map(body).collect();
    let lengths: Vec<_> = asked.iter().map(|body| prompt(body).len()).collect();
    assert!(lengths[1] * 10 < lengths[0] * 7, "{lengths:?}");
    assert!(lengths[2] < lengths[1], "{lengths:?}");
    for body in &asked {
        let prompt = prompt(body);
        let best = "The threshold of the gate is seven.";
        assert!(prompt.contains(best), "the best item stays");
        let is_numbered = prompt.contains("\n[1] ") && prompt.contains("\n[2] ");
        assert!(is_numbered, "numbers stay what they are");
    }
    let log = place.0.audit();
    let said = events(&log, "warning");
    let overflows = |warning: &&Value| warning["code"] == "context_overflow";
    assert!(said.iter().any(overflows), "{said:?}");

    let server = FaultServer::start(&script(vec![overflow()]));
    let output = place.ask(&server.base_url(), &[], "What is the gate?");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr).replace(server.address(), "HOST"),
        "kb-agent: HOST rejects the request (400): This model's maximum context length is 2000 tokens. However, your messages resulted in 3400 tokens; give the model a larger context, or forget the conversation and ask again\n"
    );
    let seen = server.seen();
    let asked = seen.iter().filter(|seen| seen.node() == SYNTHESIZE);
    let lengths: Vec<usize> = asked.map(|seen| prompt(&body(seen)).len()).collect();
    assert!((3..9).contains(&lengths.len()), "{lengths:?}");
    assert!(lengths.is_sorted_by(|a, b| a > b), "{lengths:?}");
}

/// The rules decide, and the run goes on with the evidence that it has.
#[test]
fn a_judgement_that_fits_nowhere_is_decided_by_a_rule() {
    let overflow =
        "The decoder prompt (length 9000) is longer than the maximum model length of 512.";
    let complex = r#"{"complexity": "complex", "sub_questions": ["a?", "b?"]}"#;
    let calls = r#"{"calls": [{"tool": "grep_search", "args": {"query": "gate"}}]}"#;
    let server = FaultServer::start(&[
        (ANALYZE, vec![says(complex)]),
        ("plan", vec![says(calls)]),
        ("grade_evidence", vec![refuses(overflow)]),
        (SYNTHESIZE, vec![says("Seven [1].")]),
    ]);
    let place = place();
    place
        .0
        .file("kb/door.md", "# Door\n\nThe door is no gate.\n");
    place
        .0
        .file("kb/wall.md", "# Wall\n\nThe wall has a gate.\n");
    place.0.index();
    let output = place.ask_well(&server, "Compare gate and door");
    let answer = text(&output.stdout);
    assert!(answer.starts_with("Seven [1]."), "{answer}");
    let said = text(&output.stderr);
    assert!(
        said.contains("a rule decided instead"),
        "{said}: {:#?}",
        server.seen()
    );
}

#[test]
fn a_model_without_a_system_role_is_told_in_the_first_question() {
    let (bad, broken) = ("400 Bad Request", "500 Internal Server Error");
    for (status, said) in table![
        bad, "System role not supported";
        bad, "Conversation roles must alternate user/assistant/user/assistant/...";
        broken, "Value is not callable: null at row 1, column 72 (jinja)";
        bad, "Developer instruction is not enabled for models/gemma-3-27b-it";
    ] {
        let server = chat(vec![error(status, "", said), well()], vec![says("Hello!")]);
        let place = place();
        place.ask_well(&server, "hello");
        let bodies = bodies(&server);
        let instructions = bodies[0]["messages"][0]["content"].as_str().unwrap();
        for (at, body) in bodies.iter().enumerate().skip(1) {
            let messages = body["messages"].as_array().unwrap();
            assert_eq!(messages.len(), 1, "{said}");
            assert_eq!(messages[0]["role"], "user", "{said}");
            let content = messages[0]["content"].as_str().unwrap();
            assert!(at > 1 || content.starts_with(instructions), "{said}");
        }
    }
}

#[test]
fn an_address_that_is_pasted_whole_or_without_its_version_is_understood() {
    let unknown = || error("404 Not Found", "", "not here");
    let whole = "/v1/chat/completions";
    for (below, acts, expected) in [
        (whole, vec![well()], &[whole][..]),
        ("/v1//models/", vec![well()], &[whole]),
        ("", vec![unknown(), well()], &["/chat/completions", whole]),
    ] {
        let server = FaultServer::start(&[(ANALYZE, acts), (SYNTHESIZE, vec![says("Hello!")])]);
        let place = place();
        let output = place.ask(&format!("http://{}{below}", server.address()), &[], "hello");
        assert_eq!(
            output.status.code(),
            Some(0),
            "{below}: {}",
            text(&output.stderr)
        );
        let seen = server.seen();
        let paths = seen.iter().filter_map(|seen| seen.line.split(' ').nth(1));
        let paths: Vec<&str> = paths.collect();
        assert_eq!(paths, [expected, &[whole]].concat(), "{below}");
    }
}

/// Servers that count the allowed reply into the context: less of it is allowed, and nothing goes.
#[test]
fn a_reply_that_would_leave_no_room_is_allowed_less() {
    let full = refuses(
        "'max_tokens' is too large: 4096. This model's maximum context length is 4000 tokens and your request has 1500 input tokens",
    );
    let server = chat(vec![full, well()], vec![says("Hello!")]);
    let place = place();
    let base_url = server.base_url();
    let output = place.ask(
        &base_url,
        &[
            ("KB_AGENT_LLM_MAX_TOKENS_ANALYZE", "4096".to_owned()),
            ("KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE", "2000".to_owned()),
        ],
        "hello",
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let bodies = bodies(&server);
    let limits: Vec<_> = bodies.iter().map(|body| &body["max_tokens"]).collect();
    assert_eq!(limits, [&json!(4096), &json!(1000), &json!(1000)]);
    assert_eq!(bodies[0]["messages"], bodies[1]["messages"]);
}

/// At whatever the program waits for: it ends as it should, and the server sees it hang up.
#[cfg(unix)]
#[test]
fn every_wait_ends_with_a_cancel_and_closes_the_connection() {
    use std::process::Stdio;
    let busy = error("503 Service Unavailable", "Retry-After: 50\r\n", "busy");
    let judge = |act| vec![(ANALYZE, vec![act])];
    let answer = vec![
        (ANALYZE, vec![well()]),
        (SYNTHESIZE, vec![stalls_after("Hel")]),
    ];
    let waits: [(&str, Script, usize, bool); 5] = [
        ("the listing", vec![("", vec![Act::Hang(vec![])])], 1, true),
        ("a first byte", judge(Act::Hang(vec![])), 1, true),
        ("a body", judge(Act::Hang(stream_head())), 1, true),
        ("the rest of an answer", answer, 2, true),
        ("the next attempt", judge(busy), 1, false),
    ];
    for (name, script, requests, hangs) in waits {
        let place = place();
        let server = FaultServer::start(&script);
        let mut command = place.0.command(&["ask", "--kb", "kb", "hello"]);
        command.env("KB_AGENT_LLM_BASE_URL", server.base_url());
        if !name.contains("listing") {
            command.env("KB_AGENT_LLM_MODEL", "m");
        }
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while server.seen().len() < requests {
            std::thread::yield_now();
        }
        signal("INT", child.id());
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "", "{name}");
        assert_eq!(output.status.code(), Some(130), "{name}");
        let log = place.0.audit();
        let end = log.last().unwrap();
        assert_eq!(end["event"], "run_finished", "{name}");
        assert_eq!(end["outcome"], "cancelled", "{name}");
        while hangs && server.hung_up() == 0 {
            std::thread::yield_now();
        }
    }
}

fn body(seen: &Seen) -> Value {
    serde_json::from_str(&seen.body).unwrap()
}

fn bodies(server: &FaultServer) -> Vec<Value> {
    server.seen().iter().map(body).collect()
}

fn prompt(body: &Value) -> &str {
    body["messages"][1]["content"].as_str().unwrap()
}

#[test]
fn r23_what_a_cancelled_answer_has_shown_and_cost_is_in_the_log() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    let begun = [stream_head(), piece("At seven. Th").into_bytes()].concat();
    let server = chat(vec![well()], vec![Act::Hang(begun)]);
    let place = place();
    let mut command = place.0.command(&["ask", "--json", "--kb", "kb", "hello"]);
    command.envs(server.settings());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("At seven. Th") {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "it gave up");
    }
    signal("INT", child.id());
    stdout.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let log = place.0.audit();
    let answer = events(&log, "answer_finished");
    assert_eq!(answer[0]["text"], "At seven. Th");
    let calls = events(&log, "model_called");
    assert_eq!(calls.len(), 2, "{calls:#?}");
    assert!(
        calls[1]["prompt_tokens"].as_u64().unwrap() > 50,
        "{calls:#?}"
    );
    let end = log.last().unwrap();
    assert_eq!(end["outcome"], "cancelled");
    let sent = end["prompt_tokens"].as_u64().unwrap();
    assert!(sent > 100 + 50, "{end}");
    let run = end["run"].as_str().unwrap();
    let exported = place.0.run(&["export", run]);
    assert!(text(&exported.stdout).contains("At seven. Th"));
}
