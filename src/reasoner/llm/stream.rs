//! A reply as it comes in: a stream of events, or one object from a server that does not stream.
//!
//! Which of the two it is decides the reply itself, by its first character, because content types
//! cannot be trusted: errors come as JSON on streaming requests and some gateways label
//! everything as a stream. A reply that does not end by itself is ended here, in proportion to the
//! tokens that were asked for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use eventsource_stream::{EventStream, EventStreamError, Eventsource};
use futures_util::StreamExt;
use futures_util::stream;
use reqwest::Response;
use serde_json::{Deserializer, Value, json};
use tokio::time::{Instant, timeout_at};

use super::body::{Body, Bounds, Broken, after_marks, all_of, first_sign, guarded, readable};
use super::failure::{ChatSite, Failure};
use super::halves::mended;
use super::marks::{Ended, ReplyMarks};
use super::tokens::estimate;
use super::wire::{StreamChunk, TokenCount};

/// A reply that is being read.
pub struct ChatReply {
    source: Source,
    site: ChatSite,
    bounds: Bounds,
    thought_fields: Vec<String>,
    marks: Arc<ReplyMarks>,
    /// Read and not yet taken.
    chunks: VecDeque<StreamChunk>,
    /// The number of the answer that came first.
    choice: Option<u64>,
    /// What the server counted, once it has.
    pub count: Option<TokenCount>,
    /// When something was said last.
    last_byte_at: Instant,
    /// Text so far.
    said: String,
    /// Thoughts of a field of their own.
    thoughts: String,
    /// Functions that were called, by their place.
    calls: BTreeMap<u64, (String, String)>,
    /// Bytes of calls so far.
    call_bytes: usize,
    end: End,
    understood: bool,
    /// The first half of a character whose other half is in a later event.
    half: Option<u16>,
}

enum Source {
    Events(Box<EventStream<Body>>),
    Ended,
}

/// Why a reply may lack its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutShort {
    /// It reached the limit of tokens.
    Limit,
    /// The server's rules kept the rest back.
    Withheld,
    /// It was never marked as complete.
    Unsaid,
}

/// How a reply came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It has not, or that is unknown.
    Unsaid,
    /// For a reason of the server's.
    Said(Ended),
    /// `[DONE]`, and no reason.
    Farewell,
    /// It would not stop.
    Stopped,
    /// It said the same again and again.
    Repeats,
}

impl ChatReply {
    /// Waits for the beginning of the body and decides how to read it.
    pub async fn open(
        response: Response,
        site: ChatSite,
        bounds: Bounds,
        thought_fields: Vec<String>,
        marks: Arc<ReplyMarks>,
    ) -> Result<Self, Failure> {
        let ends = Instant::now() + bounds.whole();
        let mut body = guarded(response, site.clone(), bounds.clone());
        let mut start = Vec::new();
        let first = loop {
            match first_sign(&start) {
                Some(first) => break Some(first),
                None => match timeout_at(ends, body.next()).await {
                    Ok(Some(Ok(bytes))) => start.extend_from_slice(&bytes),
                    Ok(Some(Err(broken))) => return Err(broken.failure_at(&site)),
                    Ok(None) => break None,
                    Err(_) => return Err(site.stalled(bounds.whole())),
                },
            }
        };
        // eventsource-stream panics on a byte order mark, so none may reach it.
        let start = after_marks(&start).to_vec();
        let body = stream::iter([Ok(start)]).chain(body).boxed();
        let mut chunks = VecDeque::new();
        let mut end = End::Unsaid;
        let source = match first {
            None => return Err(site.not_a_reply("nothing")),
            Some(b'<') => return Err(site.not_a_reply("a web page")),
            Some(b'{' | b'[') => {
                let read = timeout_at(ends, whole(body, &site)).await;
                chunks = read.unwrap_or_else(|_| Err(site.unfinished(bounds.whole())))?;
                if chunks.len() == 1 {
                    // An object that could be read is complete.
                    end = End::Farewell;
                }
                Source::Ended
            }
            // A last event that was not closed by an empty line is an event all the same.
            Some(_) => Source::Events(Box::new(
                readable(body)
                    .chain(stream::iter([Ok(b"\n\n".to_vec())]))
                    .boxed()
                    .eventsource(),
            )),
        };
        Ok(Self {
            source,
            site,
            bounds,
            thought_fields,
            marks,
            chunks,
            choice: None,
            count: None,
            last_byte_at: Instant::now(),
            said: String::new(),
            thoughts: String::new(),
            calls: BTreeMap::new(),
            call_bytes: 0,
            end,
            understood: false,
            half: None,
        })
    }

    /// The next piece of text; none at the end.
    pub async fn next_text(&mut self) -> Result<Option<String>, Failure> {
        // The reader may have taken long with the last piece.
        self.last_byte_at = Instant::now();
        loop {
            let Some(mut chunk) = self.next_chunk().await? else {
                self.source = Source::Ended;
                if !self.understood {
                    return Err(if self.end == End::Stopped {
                        self.site.too_much()
                    } else {
                        self.site.not_a_reply("something else")
                    });
                }
                return Ok(None);
            };
            if let Some(error) = &chunk.error {
                return Err(self.site.error_object(error));
            }
            self.understood = true;
            if chunk.usage.is_some() {
                self.count = chunk.usage;
            }
            chunk.keep_choice(&mut self.choice);
            if let Some(reason) = chunk.finish_reason() {
                self.end = End::Said(self.marks.ended(reason));
            }
            let thought = chunk.thought(&self.thought_fields);
            if !thought.is_empty() {
                self.last_byte_at = Instant::now();
                self.thoughts.push_str(thought);
                let thoughts = &self.thoughts;
                self.bounds.waiting.thinking(|| estimate(thoughts));
            }
            let text = chunk.text(&self.said);
            self.said.push_str(&text);
            self.call_bytes += chunk.add_calls(&mut self.calls);
            let said = self.said.len() + self.call_bytes + self.thoughts.len();
            if said > self.bounds.text_bytes() {
                self.stop(End::Stopped);
            }
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
    }

    /// What was thought in a field of its own.
    pub fn thoughts(&self) -> &str {
        &self.thoughts
    }

    /// The functions that were called, as JSON; empty where none was.
    pub fn calls(&self) -> String {
        if self.calls.is_empty() {
            return String::new();
        }
        let calls = self
            .calls
            .values()
            .map(|(name, arguments)| json!({"name": name, "arguments": arguments}));
        calls.collect::<Value>().to_string()
    }

    /// The error for a reply that turned out to hold no text.
    pub fn empty(&self) -> Failure {
        let has_thought = !self.thoughts.is_empty() || !self.said.is_empty();
        match self.end {
            End::Said(Ended::Withheld) => self.site.withheld(None),
            End::Said(Ended::BrokeOff) => self.site.cut_off(),
            End::Said(Ended::Limit) => self.site.only_thoughts(self.bounds.tokens),
            End::Stopped if has_thought => self.site.only_thoughts(self.bounds.tokens),
            End::Stopped | End::Repeats => self.site.too_much(),
            _ => self.site.empty(),
        }
    }

    /// One line when the reply stopped before the model had finished, or was stopped.
    pub fn cut_short(&self) -> Option<(CutShort, String)> {
        let (why, what) = match self.end {
            End::Said(Ended::Limit) => (
                CutShort::Limit,
                "stopped at its token limit; the answer may be incomplete".to_owned(),
            ),
            End::Said(Ended::Withheld) => (
                CutShort::Withheld,
                "withheld part of the answer (content filter)".to_owned(),
            ),
            End::Said(Ended::BrokeOff) => (
                CutShort::Unsaid,
                "broke the reply off; the answer may be incomplete".to_owned(),
            ),
            End::Stopped => (
                CutShort::Limit,
                format!(
                    "did not stop at the limit of {} tokens; the answer was ended there",
                    self.bounds.tokens
                ),
            ),
            End::Repeats => (
                CutShort::Unsaid,
                "said the same again and again; the answer was ended there".to_owned(),
            ),
            End::Unsaid => (
                CutShort::Unsaid,
                "ended the reply without saying that it was complete; the answer may be incomplete"
                    .to_owned(),
            ),
            End::Said(Ended::Complete) | End::Farewell => return None,
        };
        Some((why, format!("{} {what}", self.site.host())))
    }

    /// The error for a judgement that the server broke off.
    pub fn broken_off(&self) -> Option<Failure> {
        (self.end == End::Said(Ended::BrokeOff)).then(|| self.site.cut_off())
    }

    /// Reads no further, because the reply says the same again and again.
    pub fn end_repeating(&mut self) {
        self.stop(End::Repeats);
    }

    /// Reads no further, because the answer is over.
    pub fn end_complete(&mut self) {
        self.stop(End::Farewell);
    }

    /// Dropping the body closes the connection.
    fn stop(&mut self, end: End) {
        self.end = end;
        self.source = Source::Ended;
        self.chunks.clear();
    }

    async fn next_chunk(&mut self) -> Result<Option<StreamChunk>, Failure> {
        while self.chunks.is_empty() {
            if !self.read_event().await? {
                return Ok(None);
            }
        }
        Ok(self.chunks.pop_front())
    }

    /// Reads the chunks of the next event, if it holds some; false at the end.
    async fn read_event(&mut self) -> Result<bool, Failure> {
        let Source::Events(events) = &mut self.source else {
            return Ok(false);
        };
        let stalled = self.bounds.whole();
        let Ok(event) = timeout_at(self.last_byte_at + stalled, events.next()).await else {
            return Err(self.site.stalled(stalled));
        };
        let Some(event) = event else {
            return Ok(false);
        };
        let event = match event {
            Ok(event) => event,
            Err(EventStreamError::Transport(Broken::TooMuch)) => {
                self.stop(End::Stopped);
                return Ok(false);
            }
            Err(EventStreamError::Transport(Broken::Failed(failure))) => return Err(failure),
            Err(EventStreamError::Utf8(_) | EventStreamError::Parser(_)) => {
                return Err(self.site.not_a_reply("broken text"));
            }
        };
        let (data, is_done) = without_farewell(&event.data);
        if is_done && self.end == End::Unsaid {
            self.end = End::Farewell;
        }
        if is_done {
            self.source = Source::Ended;
        }
        // Signs of life of gateways.
        if data.is_empty() || data == "null" || data.starts_with(':') {
            return Ok(true);
        }
        if event.event == "error" {
            let error = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
            return Err(self.site.error_object(&error));
        }
        let data = mended(data, &mut self.half);
        for chunk in Deserializer::from_str(&data).into_iter() {
            match chunk {
                Ok(chunk) => self.chunks.push_back(chunk),
                Err(error) if error.is_eof() => return Err(self.site.cut_off()),
                Err(_) if event.event != "message" => {}
                Err(_) => return Err(self.site.not_a_reply("an event that is not JSON")),
            }
        }
        Ok(true)
    }
}

/// The text without what says that it is the last, and whether it said so.
fn without_farewell(data: &str) -> (&str, bool) {
    let data = data.trim();
    match data.strip_suffix("[DONE]") {
        Some(rest) => (rest.trim_end().trim_end_matches("data:").trim_end(), true),
        None => (data, false),
    }
}

/// One object, or several after each other.
async fn whole(body: Body, site: &ChatSite) -> Result<VecDeque<StreamChunk>, Failure> {
    let bytes = all_of(body, site).await?;
    let text = String::from_utf8_lossy(&bytes);
    let text = mended(without_farewell(&text).0, &mut None);
    let mut chunks = VecDeque::new();
    for value in Deserializer::from_str(&text).into_iter::<Value>() {
        let value = value.map_err(|error| {
            if error.is_eof() {
                site.cut_off()
            } else {
                site.not_a_reply("broken JSON")
            }
        })?;
        // `{"message": …}` without choices is how some servers say that something went wrong.
        let is_error = value.get("error").is_some_and(|error| !error.is_null());
        if is_error || (chunks.is_empty() && value.get("choices").is_none()) {
            return Err(match crate::http::error_message(&value) {
                Some(_) => site.error_object(&value),
                None => site.not_a_reply("other JSON"),
            });
        }
        let chunk = serde_json::from_value(value);
        chunks.push_back(chunk.map_err(|_| site.not_a_reply("other JSON"))?);
    }
    Ok(chunks)
}
