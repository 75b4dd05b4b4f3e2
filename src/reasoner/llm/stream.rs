//! A reply as it comes in: a stream of events, or one object from a server that does not stream.
//!
//! Which of the two it is decides the reply itself, by its first character, because content types
//! cannot be trusted: errors come as JSON on streaming requests and some gateways label
//! everything as a stream. A reply that does not end by itself is ended here, in proportion to the
//! tokens that were asked for.

use std::collections::BTreeMap;

use eventsource_stream::{EventStream, EventStreamError, Eventsource};
use futures_util::StreamExt;
use futures_util::stream;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::body::{Body, Bounds, Broken, after_marks, all_of, first_sign, guarded, readable};
use super::failure::{ChatSite, Failure};
use super::halves::mended;
use super::tokens::estimate;
use super::wire::{StreamChunk, TokenCount};

/// A reply that is being read.
pub struct ChatReply {
    source: Source,
    site: ChatSite,
    bounds: Bounds,
    thought_fields: Vec<String>,
    /// What the server counted, once it has.
    pub count: Option<TokenCount>,
    /// When something was said last.
    last_byte_at: Instant,
    /// Text so far, bytes.
    said: usize,
    /// Thoughts of a field of their own.
    thoughts: String,
    /// Functions that were called, by their place.
    calls: BTreeMap<u64, (String, String)>,
    end: End,
    understood: bool,
    /// The first half of a character whose other half is in a later event.
    half: Option<u16>,
}

enum Source {
    Whole(Box<StreamChunk>),
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
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// It has not, or that is unknown.
    Unsaid,
    /// For the reason given.
    Reason(String),
    /// `[DONE]`, and no reason.
    Farewell,
    /// It would not stop.
    Stopped,
}

impl ChatReply {
    /// Waits for the beginning of the body and decides how to read it.
    pub async fn open(
        response: Response,
        site: ChatSite,
        bounds: Bounds,
        thought_fields: Vec<String>,
    ) -> Result<Self, Failure> {
        let labelled_json = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json"));
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
        let source = match first {
            None => return Err(site.not_a_reply("nothing")),
            Some(b'<') => return Err(site.not_a_reply("a web page")),
            Some(first) if first == b'{' || labelled_json => {
                let read = timeout_at(ends, whole(body, &site)).await;
                let chunk = read.unwrap_or_else(|_| Err(site.unfinished(bounds.whole())))?;
                Source::Whole(Box::new(chunk))
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
            count: None,
            last_byte_at: Instant::now(),
            said: 0,
            thoughts: String::new(),
            calls: BTreeMap::new(),
            end: End::Unsaid,
            understood: false,
            half: None,
        })
    }

    /// The next piece of text; none at the end.
    pub async fn next_text(&mut self) -> Result<Option<String>, Failure> {
        // The reader may have taken long with the last piece.
        self.last_byte_at = Instant::now();
        loop {
            let Some(chunk) = self.next_chunk().await? else {
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
            if let Some(reason) = chunk.finish_reason() {
                self.end = End::Reason(reason.to_owned());
            }
            let thought = chunk.thought(&self.thought_fields);
            if !thought.is_empty() {
                self.last_byte_at = Instant::now();
                self.thoughts.push_str(thought);
                let thoughts = &self.thoughts;
                self.bounds.waiting.thinking(|| estimate(thoughts));
            }
            let text = chunk.text();
            self.said += text.len() + chunk.add_calls(&mut self.calls);
            if self.said + self.thoughts.len() > self.bounds.text_bytes() {
                self.stop();
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
        match &self.end {
            End::Reason(reason) if reason == "content_filter" => self.site.withheld(None),
            End::Reason(reason) if reason == "length" && self.has_thought() => {
                self.site.only_thoughts(self.bounds.tokens)
            }
            End::Stopped if self.has_thought() => self.site.only_thoughts(self.bounds.tokens),
            End::Stopped => self.site.too_much(),
            _ => self.site.empty(),
        }
    }

    /// One line when the reply stopped before the model had finished, or was stopped.
    pub fn cut_short(&self) -> Option<(CutShort, String)> {
        let host = self.site.host();
        match &self.end {
            End::Reason(reason) if reason == "length" => Some((
                CutShort::Limit,
                format!("{host} stopped at its token limit; the answer may be incomplete"),
            )),
            End::Reason(reason) if reason == "content_filter" => Some((
                CutShort::Withheld,
                format!("{host} withheld part of the answer (content filter)"),
            )),
            End::Stopped => Some((
                CutShort::Limit,
                format!(
                    "{host} did not stop at the limit of {} tokens; the answer was ended there",
                    self.bounds.tokens
                ),
            )),
            End::Unsaid => Some((
                CutShort::Unsaid,
                format!(
                    "{host} ended the reply without saying that it was complete; the answer may \
                     be incomplete"
                ),
            )),
            End::Reason(_) | End::Farewell => None,
        }
    }

    fn has_thought(&self) -> bool {
        !self.thoughts.is_empty() || self.said > 0
    }

    /// Reads no further; dropping the body closes the connection.
    fn stop(&mut self) {
        self.end = End::Stopped;
        self.source = Source::Ended;
    }

    async fn next_chunk(&mut self) -> Result<Option<StreamChunk>, Failure> {
        let events = match &mut self.source {
            Source::Ended => return Ok(None),
            Source::Whole(chunk) => {
                let chunk = std::mem::take(chunk.as_mut());
                self.source = Source::Ended;
                // An object that could be read is complete.
                self.end = End::Farewell;
                return Ok(Some(chunk));
            }
            Source::Events(events) => events,
        };
        let stalled = self.bounds.whole();
        let Ok(event) = timeout_at(self.last_byte_at + stalled, events.next()).await else {
            return Err(self.site.stalled(stalled));
        };
        let Some(event) = event else {
            return Ok(None);
        };
        let event = match event {
            Ok(event) => event,
            Err(EventStreamError::Transport(Broken::TooMuch)) => {
                self.stop();
                return Ok(None);
            }
            Err(EventStreamError::Transport(Broken::Failed(failure))) => return Err(failure),
            Err(EventStreamError::Utf8(_) | EventStreamError::Parser(_)) => {
                return Err(self.site.not_a_reply("broken text"));
            }
        };
        let data = event.data.trim();
        if data == "[DONE]" {
            if self.end == End::Unsaid {
                self.end = End::Farewell;
            }
            return Ok(None);
        }
        if event.event == "error" {
            let error = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
            return Err(self.site.error_object(&error));
        }
        let data = mended(data, &mut self.half);
        serde_json::from_str(&data).map(Some).map_err(|error| {
            if error.is_eof() {
                self.site.cut_off()
            } else {
                self.site.not_a_reply("an event that is not JSON")
            }
        })
    }
}

async fn whole(body: Body, site: &ChatSite) -> Result<StreamChunk, Failure> {
    let bytes = all_of(body, site).await?;
    let text = String::from_utf8_lossy(&bytes);
    let value: Value = serde_json::from_str(&mended(&text, &mut None)).map_err(|error| {
        if error.is_eof() {
            site.cut_off()
        } else {
            site.not_a_reply("broken JSON")
        }
    })?;
    // `{"message": …}` without choices is how some servers say that something went wrong.
    if value.get("error").is_some_and(|error| !error.is_null()) || value.get("choices").is_none() {
        return Err(match crate::http::error_message(&value) {
            Some(_) => site.error_object(&value),
            None => site.not_a_reply("other JSON"),
        });
    }
    serde_json::from_value(value).map_err(|_| site.not_a_reply("other JSON"))
}
