//! A reply as it comes in: a stream of events, or one object from a server that does not stream.
//!
//! Both are read line by line, and what a line holds tells what it is, because content types cannot be
//! trusted: errors come as JSON on streaming requests, some gateways label everything as a stream,
//! some streams have no empty lines between their events or nothing but JSON. A reply that does not
//! end by itself is ended here, in proportion to the tokens that were asked for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use serde_json::{Deserializer, Value, json};
use tokio::time::{Instant, timeout_at};

use super::body::{Body, Bounds, Broken};
use super::failure::{ChatSite, Failure, OTHER_MODEL};
use super::marks::{ReplyEnd, ReplyMarks};
use super::repetition::RepetitionWatch;
use super::surrogates::join_surrogates;
use super::token_counts::estimate;
use super::wire::{Choice, usage_in};
use crate::domain::Usage;

/// What comes so long after the mark of the end still belongs to the reply.
const AFTER_END: Duration = Duration::from_millis(300);
/// Token counts may come so long after the reason of the end.
const AFTER_REASON: Duration = Duration::from_secs(2);

/// A reply that is being read.
pub struct ChatReply {
    body: Body,
    site: ChatSite,
    bounds: Bounds,
    thought_fields: Vec<String>,
    marks: Arc<ReplyMarks>,
    /// The name of the event that is being read.
    event: String,
    /// JSON that goes on in the next line.
    begun: String,
    /// Whether the body is JSON, and no stream of events.
    is_json: bool,
    /// Read and not yet taken.
    chunks: VecDeque<Value>,
    /// The number of the answer that came first.
    choice: Option<u64>,
    /// What the server counted, once it has.
    pub counted: Option<Usage>,
    /// When something was said last.
    last_word_at: Instant,
    /// When reading ends, once there was a reason or a mark of the end.
    closes_at: Option<Instant>,
    /// Whether the end was marked.
    is_done: bool,
    /// Text so far.
    said: String,
    /// Thoughts of a field of their own.
    thoughts: String,
    thought_watch: RepetitionWatch,
    /// Functions that were called, by their place.
    calls: BTreeMap<u64, (String, String)>,
    /// Bytes of calls so far.
    call_bytes: usize,
    /// Why it ended, as far as is known.
    pub end: ReplyEnd,
    /// Whether an event in the middle could not be read.
    is_damaged: bool,
    /// What came in place of a reply; `None` once some of one has come.
    other: Option<&'static str>,
    /// The first half of a character whose other half is in a later event.
    half: Option<u16>,
}

impl ChatReply {
    /// Nothing of the body has been read.
    pub fn new(
        response: Response,
        site: ChatSite,
        bounds: Bounds,
        thought_fields: Vec<String>,
        marks: Arc<ReplyMarks>,
    ) -> Self {
        Self {
            body: Body::new(response, site.clone(), bounds.clone()),
            site,
            bounds,
            thought_fields,
            marks,
            event: String::new(),
            begun: String::new(),
            is_json: false,
            chunks: VecDeque::new(),
            choice: None,
            counted: None,
            last_word_at: Instant::now(),
            closes_at: None,
            is_done: false,
            said: String::new(),
            thoughts: String::new(),
            thought_watch: RepetitionWatch::default(),
            calls: BTreeMap::new(),
            call_bytes: 0,
            end: ReplyEnd::Unsaid,
            is_damaged: false,
            other: Some("nothing"),
            half: None,
        }
    }

    /// The next piece of text; none at the end.
    pub async fn next_text(&mut self) -> Result<Option<String>, Failure> {
        // The reader may have taken long with the last piece.
        self.last_word_at = Instant::now();
        while let Some(chunk) = self.next_chunk().await? {
            let is_reply = chunk.get("choices").is_some();
            // `{"message": …}` without choices is how some servers say that something went wrong.
            let is_bare_error = !is_reply && crate::http::error_message(&chunk).is_some();
            if !chunk["error"].is_null() || (is_bare_error && self.other.is_some()) {
                return Err(self.site.error_object(&chunk));
            }
            self.counted = usage_in(&chunk).or(self.counted);
            self.other = self.other.and((!is_reply).then_some("other JSON"));
            let text = self.read_choice(&chunk);
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
        match self.other {
            Some(_) if self.end == ReplyEnd::Endless => Err(self.site.too_much()),
            Some(other) => Err(self.site.not_a_reply(other)),
            None => Ok(None),
        }
    }

    /// Takes what a chunk says, and returns its text.
    fn read_choice(&mut self, chunk: &Value) -> String {
        let Some(choice) = Choice::first_in(chunk, &mut self.choice) else {
            return String::new();
        };
        if let Some(reason) = choice.finish_reason() {
            self.end = self.marks.end_for_reason(reason);
        } else if self.is_json && self.end == ReplyEnd::Unsaid && choice.is_whole() {
            // An object that could be read is complete.
            self.end = ReplyEnd::Complete;
        }
        let thought = choice.thought(&self.thought_fields);
        if !thought.is_empty() {
            self.last_word_at = Instant::now();
            self.thoughts.push_str(thought);
            self.thought_watch.push(thought);
            let thoughts = &self.thoughts;
            self.bounds.waiting.thinking(|| estimate(thoughts));
        }
        let text = choice.text(&self.said);
        self.said.push_str(&text);
        // Some servers give a reason with every piece.
        self.closes_at = match choice.finish_reason() {
            Some(_) if text.is_empty() => Some(Instant::now() + AFTER_REASON),
            _ if text.is_empty() || self.is_done => self.closes_at,
            _ => None,
        };
        self.call_bytes += choice.add_calls(&mut self.calls);
        let said = self.said.len() + self.call_bytes + self.thoughts.len();
        if said > self.bounds.text_bytes() {
            self.stop(ReplyEnd::Endless);
        } else if self.thought_watch.repeats {
            self.stop(ReplyEnd::Repeating);
        }
        text
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
        let tokens = self.bounds.tokens;
        let thought = format!("spent all of its {tokens} tokens on thinking");
        let (what, next) = match self.end {
            ReplyEnd::Withheld => return self.site.withheld(None),
            ReplyEnd::BrokeOff | ReplyEnd::Damaged => return self.site.cut_off(),
            ReplyEnd::Endless if !has_thought => return self.site.too_much(),
            ReplyEnd::Limit | ReplyEnd::Endless => {
                (&*thought, "raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE")
            }
            ReplyEnd::Repeating => ("said the same again and again", OTHER_MODEL),
            ReplyEnd::Complete | ReplyEnd::Unsaid => {
                let next = "ask again, or choose another KB_AGENT_LLM_MODEL";
                ("sent an empty answer", next)
            }
        };
        self.site.unusable(what, next)
    }

    /// One line when the reply stopped before the model had finished, or was stopped; the context may have
    /// been full after some tokens.
    pub fn cut_short(&self, full_after: Option<u64>) -> Option<String> {
        let tokens = self.bounds.tokens;
        let what = match self.end {
            ReplyEnd::Complete => return None,
            ReplyEnd::Limit if let Some(tokens) = full_after => &format!(
                "stopped at its token limit after {tokens} tokens, because the model's context is \
                 full; raise its context size, or set KB_AGENT_LLM_CONTEXT_TOKENS"
            ),
            ReplyEnd::Limit => "stopped at its token limit; the answer may be incomplete",
            ReplyEnd::Withheld => "withheld part of the answer (content filter)",
            ReplyEnd::BrokeOff => "broke the reply off; the answer may be incomplete",
            ReplyEnd::Endless => {
                &format!("did not stop at the limit of {tokens} tokens; the answer was ended there")
            }
            ReplyEnd::Repeating => "said the same again and again; the answer was ended there",
            ReplyEnd::Damaged => {
                "sent something unreadable in the middle; some of the answer may be lost"
            }
            ReplyEnd::Unsaid => {
                "ended the reply without saying that it was complete; the answer may be incomplete"
            }
        };
        Some(format!("{} {what}", self.site.host()))
    }

    /// Reads no further; dropping the body closes the connection.
    pub fn stop(&mut self, end: ReplyEnd) {
        self.end = end;
        self.body.close();
        self.begun.clear();
        self.chunks.clear();
    }

    async fn next_chunk(&mut self) -> Result<Option<Value>, Failure> {
        while self.chunks.is_empty() {
            let Some(line) = self.next_line().await? else {
                self.body.close();
                self.end_event(true)?;
                break;
            };
            self.read_line(&line)?;
        }
        Ok(self.chunks.pop_front())
    }

    async fn next_line(&mut self) -> Result<Option<String>, Failure> {
        let longest = self.bounds.response_timeout();
        let ends = self.closes_at.unwrap_or(self.last_word_at + longest);
        match timeout_at(ends, self.body.next_line()).await {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(Broken::TooMuch)) => {
                self.stop(ReplyEnd::Endless);
                Ok(None)
            }
            // The end of the reply was marked: what comes after is not missed.
            Ok(Err(_)) | Err(_) if self.closes_at.is_some() => Ok(None),
            Ok(Err(Broken::Failed(failure))) => Err(failure),
            Err(_) if self.body.is_within_line() || !self.begun.is_empty() => {
                Err(self.site.unfinished(longest))
            }
            Err(_) => Err(self.site.stalled(longest)),
        }
    }

    fn read_line(&mut self, line: &str) -> Result<(), Failure> {
        if line.starts_with(['{', '[']) || (self.is_json && !line.starts_with("data:")) {
            self.is_json |= self.other.is_some();
            return self.read_data(line);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        match field {
            "" if line.is_empty() => self.end_event(false),
            "data" => self.read_data(value.trim()),
            "event" => {
                value.trim().clone_into(&mut self.event);
                Ok(())
            }
            _ if line.starts_with('<') => self.unreadable("a web page"),
            // Comments and fields that are not known.
            _ => {
                self.other = self.other.map(|_| "something else");
                Ok(())
            }
        }
    }

    /// Reads the JSON of one line. An event may go on in the next one, and some servers leave out the
    /// empty lines between events.
    fn read_data(&mut self, data: &str) -> Result<(), Failure> {
        let (data, is_done) = without_farewell(data);
        if is_done && self.end == ReplyEnd::Unsaid {
            self.end = ReplyEnd::Complete;
        }
        if is_done {
            self.is_done = true;
            self.closes_at = Some(Instant::now() + AFTER_END);
        }
        // Signs of life of gateways.
        if data.is_empty() || data == "null" || data.starts_with(':') {
            return Ok(());
        }
        if self.event == "error" {
            let error = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
            return Err(self.site.error_object(&error));
        }
        let data = join_surrogates(data, &mut self.half);
        // A line within JSON that goes over several may look like a value of its own.
        let is_alone = |chunk: &Value| self.begun.is_empty() || chunk.get("choices").is_some();
        match chunks_in(&data) {
            Ok(chunks) if chunks.iter().all(is_alone) => {
                self.end_event(false)?;
                self.chunks.extend(chunks);
            }
            _ => {
                self.begun.push_str(&data);
                self.begun.push('\n');
            }
        }
        Ok(())
    }

    /// An event is over, and perhaps the body.
    fn end_event(&mut self, is_last: bool) -> Result<(), Failure> {
        let begun = std::mem::take(&mut self.begun);
        let event = std::mem::take(&mut self.event);
        match chunks_in(&begun) {
            Ok(chunks) => self.chunks.extend(chunks),
            Err(_) if !is_last && !matches!(&*event, "" | "message") => {}
            Err(error) if error.is_eof() && (is_last || self.other.is_some()) => {
                return Err(self.site.cut_off());
            }
            Err(_) if self.is_json => self.unreadable("broken JSON")?,
            Err(_) => self.unreadable("an event that is not JSON")?,
        }
        match self.end {
            ReplyEnd::Unsaid if is_last && self.is_damaged => Err(self.site.cut_off()),
            ReplyEnd::Complete if is_last && self.is_damaged => {
                self.end = ReplyEnd::Damaged;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Something came that is no part of a reply: in the middle of one, the rest is read all the same.
    fn unreadable(&mut self, what: &'static str) -> Result<(), Failure> {
        if self.other.is_some() {
            return Err(self.site.not_a_reply(what));
        }
        self.is_damaged = true;
        Ok(())
    }
}

/// The objects of a text, one after the other.
fn chunks_in(text: &str) -> Result<Vec<Value>, serde_json::Error> {
    Deserializer::from_str(text).into_iter().collect()
}

/// The text without what says that it is the last, and whether it said so.
fn without_farewell(data: &str) -> (&str, bool) {
    match data.strip_suffix("[DONE]") {
        Some(rest) => (rest.trim_end().trim_end_matches("data:").trim_end(), true),
        None => (data, false),
    }
}
