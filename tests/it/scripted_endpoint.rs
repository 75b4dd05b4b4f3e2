//! A chat endpoint that says what the script holds.
//!
//! Each request is answered by the node that sent it: every node has a queue of replies, the last
//! of which repeats. So a whole run can be scripted without counting requests, and what was sent
//! can be looked at afterwards.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use kb_agent::domain::NodeName;
use parking_lot::Mutex;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// What the only model is called.
pub const MODEL: &str = "scripted-model";

/// The endpoint; it lives as long as this value.
pub struct ScriptedEndpoint {
    server: MockServer,
    script: Script,
}

type Script = Arc<Mutex<HashMap<&'static str, VecDeque<Reply>>>>;

/// One reply.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    content_type: &'static str,
    body: String,
    delay: Duration,
}

impl Reply {
    /// The text as a stream, in pieces of a few characters, with the token counts at the end.
    pub fn streamed(text: &str) -> Self {
        let pieces: Vec<String> = text
            .chars()
            .collect::<Vec<_>>()
            .chunks(7)
            .map(|piece| piece.iter().collect())
            .collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        Self::streamed_in(&pieces)
    }

    /// A stream of exactly these pieces.
    pub fn streamed_in(pieces: &[&str]) -> Self {
        let mut body = event(&json!({"choices": [{"index": 0, "finish_reason": null,
            "delta": {"role": "assistant", "content": null}}]}));
        for piece in pieces {
            body.push_str(&event(
                &json!({"choices": [{"index": 0, "finish_reason": null,
                "delta": {"content": piece}}]}),
            ));
        }
        body.push_str(&event(
            &json!({"choices": [{"index": 0, "finish_reason": "stop", "delta": {}}]}),
        ));
        body.push_str(&event(&json!({"choices": [], "usage": usage()})));
        body.push_str("data: [DONE]\n\n");
        Self::raw(200, "text/event-stream", body)
    }

    /// The text as one completion, as servers send that do not stream.
    pub fn plain(text: &str) -> Self {
        let body = json!({"object": "chat.completion", "usage": usage(), "choices": [{"index": 0,
            "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]});
        Self::raw(200, "application/json", body.to_string())
    }

    /// An error in the usual shape.
    pub fn error(status: u16, message: &str) -> Self {
        let body = json!({"error": {"message": message, "code": status}});
        Self::raw(status, "application/json", body.to_string())
    }

    /// Anything else.
    pub fn raw(status: u16, content_type: &'static str, body: impl Into<String>) -> Self {
        Self {
            status,
            content_type,
            body: body.into(),
            delay: Duration::ZERO,
        }
    }

    /// The same, but only after a while.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// One request as it came in.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `X-KB-Agent-Node`; empty for the listing of models.
    pub node: String,
    /// `X-KB-Agent-Run`.
    pub run: String,
    /// `Authorization`.
    pub authorization: Option<String>,
    /// The body, the mark of its fences left out.
    pub body: Value,
}

/// The text without the mark that the fences of a request carry.
pub fn unmarked(text: &str) -> String {
    let marks = regex::Regex::new(r"<(/?[a-z]+)-[0-9a-f]{8}\b").unwrap();
    marks.replace_all(text, "<$1").into_owned()
}

impl Recorded {
    /// The text of the message with that role.
    pub fn message(&self, role: &str) -> &str {
        self.body["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|message| message["role"] == role)
            .and_then(|message| message["content"].as_str())
            .unwrap_or_default()
    }
}

/// The models that a server lists, the first first.
pub async fn offer_models(server: &MockServer, models: &[&str]) {
    let models: Vec<_> = models.iter().map(|model| json!({"id": model})).collect();
    let listed = json!({"object": "list", "data": models});
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .respond_with(ResponseTemplate::new(200).set_body_json(listed))
        .mount(server)
        .await;
}

impl ScriptedEndpoint {
    /// Starts with nothing to say: a node without a script is answered with status 500.
    pub async fn start() -> Self {
        Self::offering(&[MODEL]).await
    }

    /// The same with these models in its list.
    pub async fn offering(models: &[&str]) -> Self {
        let server = MockServer::start().await;
        let script = Script::default();
        Mock::given(method("POST"))
            .and(path("/v1/chat/completions"))
            .respond_with(Speaker(Arc::clone(&script)))
            .mount(&server)
            .await;
        offer_models(&server, models).await;
        Self { server, script }
    }

    /// What `KB_AGENT_LLM_BASE_URL` would be.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.server.uri())
    }

    /// Adds a reply to the node's queue.
    pub fn say(&self, node: NodeName, reply: Reply) -> &Self {
        self.script
            .lock()
            .entry(node.as_str())
            .or_default()
            .push_back(reply);
        self
    }

    /// Adds a text, sent as a stream.
    pub fn stream(&self, node: NodeName, text: &str) -> &Self {
        self.say(node, Reply::streamed(text))
    }

    /// Every chat request so far, in order.
    pub async fn requests(&self) -> Vec<Recorded> {
        let all = self.server.received_requests().await.unwrap_or_default();
        all.iter()
            .filter(|request| request.url.path().ends_with("/chat/completions"))
            .map(|request| Recorded {
                node: header(request, "x-kb-agent-node").unwrap_or_default(),
                run: header(request, "x-kb-agent-run").unwrap_or_default(),
                authorization: header(request, "authorization"),
                body: serde_json::from_str(&unmarked(&String::from_utf8_lossy(&request.body)))
                    .unwrap_or_default(),
            })
            .collect()
    }

    /// The nodes that asked, in order.
    pub async fn nodes(&self) -> Vec<String> {
        let requests = self.requests().await;
        requests.into_iter().map(|request| request.node).collect()
    }
}

struct Speaker(Script);

impl Respond for Speaker {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let node = header(request, "x-kb-agent-node").unwrap_or_default();
        let mut script = self.0.lock();
        let reply = script.get_mut(node.as_str()).and_then(|queue| {
            if queue.len() > 1 {
                queue.pop_front()
            } else {
                queue.front().cloned()
            }
        });
        let reply = reply.unwrap_or_else(|| Reply::error(500, &format!("no script for '{node}'")));
        ResponseTemplate::new(reply.status)
            .set_body_raw(reply.body, reply.content_type)
            .set_delay(reply.delay)
    }
}

fn header(request: &Request, name: &str) -> Option<String> {
    let value = request.headers.get(name)?;
    value.to_str().ok().map(str::to_owned)
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn usage() -> Value {
    json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110})
}
