//! A reply as it comes in: a stream of events, or one object from a server that does not stream.
//!
//! Which of the two it is decides the reply itself, by its first character, because content types
//! cannot be trusted: errors come as JSON on streaming requests and some gateways label
//! everything as a stream.

use std::time::Duration;

use eventsource_stream::{EventStream, EventStreamError, Eventsource};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;

use crate::agent::ports::ReasonerError;
use crate::domain::Usage;

use super::failure::Site;
use super::wire::{Chunk, TokenCount};

/// More than any answer; a model that will not stop is stopped here.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// A body in pieces, with our own errors.
pub type Body = BoxStream<'static, Result<Vec<u8>, ReasonerError>>;

/// A reply that is being read.
pub struct ChatReply {
    source: Source,
    site: Site,
    count: TokenCount,
    finish_reason: Option<String>,
    understood: bool,
}

enum Source {
    Whole(Box<Chunk>),
    Events(Box<EventStream<Body>>),
    Ended,
}

/// A reply that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// All of its text, thoughts included.
    pub text: String,
    /// What it cost.
    pub usage: Usage,
}

impl ChatReply {
    /// Waits for the beginning of the body and decides how to read it.
    pub async fn open(
        response: Response,
        site: Site,
        timeout: Duration,
    ) -> Result<Self, ReasonerError> {
        let labelled_json = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json"));
        let mut body = guarded_body(response, site.clone(), timeout);
        let mut start = Vec::new();
        let first = loop {
            match first_sign(&start) {
                Some(first) => break Some(first),
                None => match body.next().await.transpose()? {
                    Some(bytes) => start.extend_from_slice(&bytes),
                    None => break None,
                },
            }
        };
        // eventsource-stream panics on a byte order mark, so none may reach it.
        let start = after_marks(&start).to_vec();
        let body = stream::iter([Ok(start)]).chain(body).boxed();
        let source = match first {
            None => return Err(site.not_a_reply("nothing")),
            Some(b'<') => return Err(site.not_a_reply("a web page")),
            Some(b'{') => Source::Whole(Box::new(whole(body, &site).await?)),
            Some(_) if labelled_json => Source::Whole(Box::new(whole(body, &site).await?)),
            // A last event that was not closed by an empty line is an event all the same.
            Some(_) => Source::Events(Box::new(
                body.chain(stream::iter([Ok(b"\n\n".to_vec())]))
                    .boxed()
                    .eventsource(),
            )),
        };
        Ok(Self {
            source,
            site,
            count: TokenCount::default(),
            finish_reason: None,
            understood: false,
        })
    }

    /// The next piece of text; none at the end.
    pub async fn next_text(&mut self) -> Result<Option<String>, ReasonerError> {
        loop {
            let Some(chunk) = self.next_chunk().await? else {
                self.source = Source::Ended;
                if !self.understood {
                    return Err(self.site.not_a_reply("something else"));
                }
                return Ok(None);
            };
            if let Some(error) = &chunk.error {
                return Err(self.site.error_object(error));
            }
            self.understood = true;
            if let Some(count) = chunk.usage {
                self.count = count;
            }
            if let Some(reason) = chunk.finish_reason() {
                self.finish_reason = Some(reason.to_owned());
            }
            let text = chunk.text();
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
    }

    /// Reads everything.
    pub async fn collect(mut self) -> Result<Completion, ReasonerError> {
        let mut text = String::new();
        while let Some(piece) = self.next_text().await? {
            text.push_str(&piece);
        }
        Ok(Completion {
            text,
            usage: self.usage(),
        })
    }

    /// What it cost, as far as the server has said.
    pub fn usage(&self) -> Usage {
        self.count.of_one_call()
    }

    /// The error for a reply that turned out to hold no text.
    pub fn empty(&self) -> ReasonerError {
        self.site.empty()
    }

    /// One line when the server stopped before the model had finished.
    pub fn cut_short(&self) -> Option<String> {
        match self.finish_reason.as_deref() {
            Some("length") => Some(format!(
                "{} stopped at its token limit; the answer may be incomplete",
                self.site.host()
            )),
            Some("content_filter") => Some(format!(
                "{} withheld part of the answer (content filter)",
                self.site.host()
            )),
            _ => None,
        }
    }

    async fn next_chunk(&mut self) -> Result<Option<Chunk>, ReasonerError> {
        let events = match &mut self.source {
            Source::Ended => return Ok(None),
            Source::Whole(chunk) => {
                let chunk = std::mem::take(chunk.as_mut());
                self.source = Source::Ended;
                return Ok(Some(chunk));
            }
            Source::Events(events) => events,
        };
        let Some(event) = events.next().await else {
            return Ok(None);
        };
        let event = event.map_err(|error| match error {
            EventStreamError::Transport(error) => error,
            EventStreamError::Utf8(_) | EventStreamError::Parser(_) => {
                self.site.not_a_reply("broken text")
            }
        })?;
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(None);
        }
        if event.event == "error" {
            let error = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
            return Err(self.site.error_object(&error));
        }
        serde_json::from_str(data)
            .map(Some)
            .map_err(|_| self.site.not_a_reply("an event that is not JSON"))
    }
}

/// The body in pieces, with the limits on silence and length applied.
pub fn guarded_body(response: Response, site: Site, timeout: Duration) -> Body {
    stream::unfold(Some((response, 0_usize)), move |state| {
        let site = site.clone();
        async move {
            let (mut response, received) = state?;
            let failed = |error| Some((Err(error), None));
            match tokio::time::timeout(timeout, response.chunk()).await {
                Err(_) => failed(site.silent(timeout)),
                Ok(Err(error)) => failed(site.transport(&error)),
                Ok(Ok(None)) => None,
                Ok(Ok(Some(bytes))) => {
                    let received = received + bytes.len();
                    if received > MAX_BYTES {
                        return failed(site.too_long(MAX_BYTES));
                    }
                    Some((Ok(bytes.to_vec()), Some((response, received))))
                }
            }
        }
    })
    .boxed()
}

/// All of a body.
pub async fn collect_bytes(mut body: Body) -> Result<Vec<u8>, ReasonerError> {
    let mut all = Vec::new();
    while let Some(bytes) = body.next().await {
        all.extend_from_slice(&bytes?);
    }
    Ok(all)
}

async fn whole(body: Body, site: &Site) -> Result<Chunk, ReasonerError> {
    let bytes = collect_bytes(body).await?;
    let value: Value =
        serde_json::from_slice(&bytes).map_err(|_| site.not_a_reply("broken JSON"))?;
    // `{"message": …}` without choices is how some servers say that something went wrong.
    if value.get("error").is_some_and(|error| !error.is_null()) || value.get("choices").is_none() {
        return Err(match crate::http::error_message(&value) {
            Some(_) => site.error_object(&value),
            None => site.not_a_reply("other JSON"),
        });
    }
    serde_json::from_value(value).map_err(|_| site.not_a_reply("other JSON"))
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The first byte that is neither white space nor of a byte order mark, once it is known.
fn first_sign(start: &[u8]) -> Option<u8> {
    let text = after_marks(start);
    let cut_mark = BOM.starts_with(text);
    text.first().copied().filter(|_| !cut_mark)
}

/// What follows leading white space and byte order marks.
fn after_marks(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes.trim_ascii_start();
    while let Some(after) = rest.strip_prefix(BOM) {
        rest = after.trim_ascii_start();
    }
    rest
}
