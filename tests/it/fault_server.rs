//! A server on 127.0.0.1 that misbehaves exactly as the script says, byte by byte.
//!
//! It speaks no HTTP of its own: what a client sees is what a test wrote. Every node has a queue of
//! acts, the last of which repeats, so that a whole run can be scripted; the listing of models is
//! asked for by the node `""`. A thread serves each connection and ends with it.

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// What is done with one request.
#[derive(Debug, Clone)]
pub enum Act {
    /// These bytes, piece by piece, and the connection is closed.
    Send(Vec<Vec<u8>>),
    /// These bytes, and the connection is kept for the next request.
    Keep(Vec<u8>),
    /// These bytes, and then nothing until the other side hangs up.
    Hang(Vec<u8>),
    /// The first bytes, and then the others again and again until the other side hangs up.
    Flood(Vec<u8>, Vec<u8>),
    /// The first bytes, and then the others again and again with this pause before each, until the
    /// other side hangs up.
    Drip(Vec<u8>, Vec<u8>, Duration),
    /// The connection is reset with the request unread.
    Reset,
}

/// The server; it stops listening with this value.
pub struct FaultServer {
    address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    script: Mutex<HashMap<&'static str, VecDeque<Act>>>,
    seen: Mutex<Vec<Seen>>,
    /// How many [`Act::Hang`]s have written their bytes.
    hanging: Mutex<usize>,
    hung_up: Mutex<usize>,
    /// When each piece of an [`Act::Send`] was about to be written.
    sent: Mutex<Vec<Instant>>,
    over: Mutex<bool>,
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Seen {
    /// `POST /v1/chat/completions HTTP/1.1`.
    pub line: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    /// As text.
    pub body: String,
}

impl Seen {
    pub fn node(&self) -> &str {
        self.headers
            .get("x-kb-agent-node")
            .map_or("", String::as_str)
    }
}

impl FaultServer {
    /// With these queues.
    pub fn start(script: &[(&'static str, Vec<Act>)]) -> Self {
        Self::start_at("127.0.0.1:0", script)
    }

    /// The same at this address.
    pub fn start_at(address: &str, script: &[(&'static str, Vec<Act>)]) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared::default());
        for (node, acts) in script {
            let acts = acts.iter().cloned().collect();
            shared.script.lock().insert(node, acts);
        }
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if *serving.over.lock() {
                    break;
                }
                let (Ok(stream), serving) = (stream, Arc::clone(&serving)) else {
                    break;
                };
                thread::spawn(move || serve(stream, &serving));
            }
        });
        Self { address, shared }
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What `KB_AGENT_LLM_BASE_URL` is to be.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What has the binary ask here, for the model `m`.
    pub fn settings(&self) -> [(&'static str, String); 2] {
        [
            ("KB_AGENT_LLM_BASE_URL", self.base_url()),
            ("KB_AGENT_LLM_MODEL", "m".to_owned()),
        ]
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().clone()
    }

    /// Forgets the requests so far.
    pub fn forget(&self) {
        self.shared.seen.lock().clear();
    }

    /// When each piece was about to be written, of everything sent in pieces so far.
    pub fn sent(&self) -> Vec<Instant> {
        self.shared.sent.lock().clone()
    }

    /// How often an [`Act::Hang`] has written all its bytes.
    pub fn hanging(&self) -> usize {
        *self.shared.hanging.lock()
    }

    /// How often the other side hung up on a [`Act::Hang`], [`Act::Flood`] or [`Act::Drip`].
    pub fn hung_up(&self) -> usize {
        *self.shared.hung_up.lock()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        *self.shared.over.lock() = true;
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect(&self.address);
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    loop {
        // A reset leaves the request unread, so it is decided before reading.
        let resets = {
            let script = shared.script.lock();
            script
                .values()
                .any(|acts| matches!(acts.front(), Some(Act::Reset)))
        };
        if resets {
            let mut first = [0; 1];
            if stream.read(&mut first).unwrap_or(0) == 0 {
                return;
            }
            let mut script = shared.script.lock();
            for acts in script.values_mut() {
                if matches!(acts.front(), Some(Act::Reset)) && acts.len() > 1 {
                    acts.pop_front();
                }
            }
            return;
        }
        let Some(seen) = read_request(&mut stream) else {
            return;
        };
        let node = seen.node().to_owned();
        shared.seen.lock().push(seen);
        let act = {
            let mut script = shared.script.lock();
            let acts = script.get_mut(node.as_str());
            acts.and_then(|acts| {
                if acts.len() > 1 {
                    acts.pop_front()
                } else {
                    acts.front().cloned()
                }
            })
        };
        let act = act.unwrap_or_else(|| panic!("no act for '{node}'"));
        match act {
            Act::Send(pieces) => {
                for piece in pieces {
                    shared.sent.lock().push(Instant::now());
                    if stream
                        .write_all(&piece)
                        .and_then(|()| stream.flush())
                        .is_err()
                    {
                        return;
                    }
                }
                let _ = stream.shutdown(Shutdown::Write);
                return;
            }
            Act::Keep(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Act::Hang(bytes) => {
                let _ = stream.write_all(&bytes);
                *shared.hanging.lock() += 1;
                let _ = stream.read(&mut [0; 16]);
                *shared.hung_up.lock() += 1;
                return;
            }
            Act::Flood(first, again) => {
                let mut sent = stream.write_all(&first);
                while sent.is_ok() {
                    sent = stream.write_all(&again);
                }
                *shared.hung_up.lock() += 1;
                return;
            }
            Act::Drip(first, again, pause) => {
                let mut sent = stream.write_all(&first);
                while sent.is_ok() {
                    thread::sleep(pause);
                    sent = stream.write_all(&again);
                }
                *shared.hung_up.lock() += 1;
                return;
            }
            Act::Reset => return,
        }
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut request = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&buffer[..count]);
        let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&request[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let line = lines.next()?.to_owned();
        let headers: HashMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let length = headers
            .get("content-length")
            .map_or(0, |n| n.parse().unwrap());
        if request.len() >= end + 4 + length {
            let body = String::from_utf8_lossy(&request[end + 4..]).into_owned();
            return Some(Seen {
                line,
                headers,
                body,
            });
        }
    }
}

/// A reply with a length.
pub fn reply(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// An error in the usual shape; the connection is kept.
pub fn error(status: &str, headers: &str, message: &str) -> Act {
    let body = serde_json::json!({"error": {"message": message}}).to_string();
    let headers = format!("Content-Type: application/json\r\n{headers}");
    Act::Keep(reply(status, &headers, body))
}

/// The head of a stream whose body ends with the connection.
pub fn stream_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".to_vec()
}

/// The event of one piece of text.
pub fn piece(text: &str) -> String {
    let chunk = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    format!("data: {chunk}\n\n")
}

/// The events that end a stream as they should.
pub fn ending() -> String {
    let last = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage = serde_json::json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}});
    format!("data: {last}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

/// A stream of exactly this body, in one piece.
pub fn stream(body: impl AsRef<[u8]>) -> Act {
    Act::Send(vec![[stream_head(), body.as_ref().to_vec()].concat()])
}

/// A whole stream that says this.
pub fn says(text: &str) -> Act {
    stream(format!("{}{}", piece(text), ending()))
}
