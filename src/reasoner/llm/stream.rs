//! A reply as it comes in: a stream of events, or one object from a server that does not stream.
//!
//! Both are read line by line, and what a line holds tells what it is, because content types cannot be
//! trusted: errors come as JSON on streaming requests, some gateways label everything as a stream,
//! some streams have no empty lines between their events or nothing but JSON. A reply that does not
//! end by itself is ended here, in proportion to the tokens that were asked for.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use regex::{Captures, Regex};
use reqwest::Response;
use serde_json::{Deserializer, Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use super::failure::{ChatSite, Failure, OTHER_MODEL};
use super::pace::{measured_rate, prompt_progress, writing_rate};
use super::repetition::RepetitionWatch;
use super::think::{ReplyEnd, ReplyMarks};
use super::tokens::estimate;
use crate::agent::ports::{CallWaits, PromptProgress};
use crate::domain::Usage;
use crate::reasoner::regex;

/// What comes so long after the mark of the end still belongs to the reply.
const AFTER_END: Duration = Duration::from_millis(300);
/// Token counts may come so long after the reason of the end.
const AFTER_REASON: Duration = Duration::from_secs(2);

/// A reply that is being read.
pub struct ChatReply {
    body: Body,
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
    /// How fast the model reads, by an earlier call.
    pub known_rate: Option<f64>,
    /// How far the prompt is read, where the server tells it.
    progress: Option<PromptProgress>,
    /// How fast the model writes, where the server has measured it.
    measured: Option<f64>,
    /// When the first piece came, with how many tokens, and when the last.
    pieces: Option<(Instant, usize, Instant)>,
    /// When something was said last.
    last_word_at: Instant,
    /// When reading ends, once there was a reason or a mark of the end.
    closes_at: Option<Instant>,
    /// Whether the end was marked.
    is_done: bool,
    /// Text so far.
    said: String,
    /// Thoughts of a field of their own.
    pub thoughts: String,
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
    pub fn new(body: Body, thought_fields: Vec<String>, marks: Arc<ReplyMarks>) -> Self {
        Self {
            body,
            thought_fields,
            marks,
            event: String::new(),
            begun: String::new(),
            is_json: false,
            chunks: VecDeque::new(),
            choice: None,
            counted: None,
            known_rate: None,
            progress: None,
            measured: None,
            pieces: None,
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
                return Err(self.body.site.error_object(&chunk));
            }
            self.counted = usage_in(&chunk).or(self.counted);
            self.measured = measured_rate(&chunk).or(self.measured);
            if let Some(progress) = prompt_progress(&chunk) {
                self.note_progress(progress);
            }
            self.other = self.other.and((!is_reply).then_some("other JSON"));
            let text = self.read_choice(&chunk);
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
        match self.other {
            Some(_) if self.end == ReplyEnd::Endless => Err(self.body.site.too_much()),
            Some(other) => Err(self.body.site.not_a_reply(other)),
            None => Ok(None),
        }
    }

    /// The model has read on, which is a word of a kind: a long prompt may take as long as it does.
    fn note_progress(&mut self, progress: PromptProgress) {
        if self
            .progress
            .is_none_or(|before| before.done < progress.done)
        {
            self.last_word_at = Instant::now();
        }
        self.progress = Some(progress);
        self.body.is_unbegun = progress.goes_on();
        self.body.bounds.waiting.reading(progress, self.known_rate);
    }

    /// A piece of text or thought has come.
    fn note_piece(&mut self, piece: &str) {
        if !piece.is_empty() {
            let now = Instant::now();
            self.body.is_unbegun = false;
            self.pieces
                .get_or_insert_with(|| (now, estimate(piece), now))
                .2 = now;
        }
    }

    /// About how many tokens the model has written, thoughts too.
    pub fn written(&self) -> usize {
        estimate(&self.said) + estimate(&self.thoughts)
    }

    /// How many tokens of the prompt the model has read in a second, where the server tells it.
    pub fn reading_rate(&self) -> Option<f64> {
        self.progress?.tokens_per_second()
    }

    /// How many tokens the model has written in a second, where that is enough to tell.
    pub fn writing_rate(&self) -> Option<f64> {
        let timed = || {
            let (begun, first, last) = self.pieces?;
            let counted = self.counted.and_then(|counted| counted.completion_tokens);
            let tokens = counted.unwrap_or(self.written() as u64);
            writing_rate(tokens.saturating_sub(first as u64), last - begun)
        };
        self.measured.or_else(timed)
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
        self.note_piece(thought);
        if !thought.is_empty() {
            self.last_word_at = Instant::now();
            self.thoughts.push_str(thought);
            self.thought_watch.push(thought);
            let thoughts = &self.thoughts;
            self.body.bounds.waiting.thinking(|| estimate(thoughts));
        }
        let text = choice.text(&self.said);
        self.said.push_str(&text);
        self.note_piece(&text);
        // Some servers give a reason with every piece.
        self.closes_at = match choice.finish_reason() {
            Some(_) if text.is_empty() => Some(Instant::now() + AFTER_REASON),
            _ if text.is_empty() || self.is_done => self.closes_at,
            _ => None,
        };
        self.call_bytes += choice.add_calls(&mut self.calls);
        let said = self.said.len() + self.call_bytes + self.thoughts.len();
        if said > self.body.bounds.text_bytes() {
            self.stop(ReplyEnd::Endless);
        } else if self.thought_watch.repeats {
            self.stop(ReplyEnd::Repeating);
        }
        text
    }

    /// The functions that were called, as JSON; empty where none was.
    pub fn calls(&self) -> String {
        if self.calls.is_empty() {
            return String::new();
        }
        let call =
            |(name, arguments): &(String, String)| json!({"name": name, "arguments": arguments});
        self.calls.values().map(call).collect::<Value>().to_string()
    }

    /// The error for a reply that turned out to hold no text.
    pub fn empty(&self) -> Failure {
        let has_thought = !self.thoughts.is_empty() || !self.said.is_empty();
        let tokens = self.body.bounds.tokens;
        let thought = format!("spent all of its {tokens} tokens on thinking");
        let (what, next) = match self.end {
            ReplyEnd::Withheld => return self.body.site.withheld(None),
            ReplyEnd::BrokeOff | ReplyEnd::Damaged => return self.body.site.cut_off(),
            ReplyEnd::Endless if !has_thought => return self.body.site.too_much(),
            ReplyEnd::Limit | ReplyEnd::Endless => {
                (&*thought, "raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE")
            }
            ReplyEnd::Repeating => ("said the same again and again", OTHER_MODEL),
            ReplyEnd::Complete | ReplyEnd::Unsaid => (
                "sent an empty answer",
                "ask again, or choose another KB_AGENT_LLM_MODEL",
            ),
        };
        self.body.site.unusable(what, next)
    }

    /// One line when the reply stopped before the model had finished, or was stopped; the context may have
    /// been full after some tokens.
    pub fn cut_short(&self, full_after: Option<u64>) -> Option<String> {
        let tokens = self.body.bounds.tokens;
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
        Some(format!("{} {what}", self.body.site.host()))
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
        let longest = self.body.bounds.response_timeout();
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
                Err(self.body.site.unfinished(longest))
            }
            Err(_) => Err(self.body.site.stalled(longest)),
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
                self.other = self.other.and(Some("something else"));
                Ok(())
            }
        }
    }

    /// Reads the JSON of one line. An event may go on in the next one, and some servers leave out the
    /// empty lines between events.
    fn read_data(&mut self, mut data: &str) -> Result<(), Failure> {
        if let Some(rest) = data.strip_suffix("[DONE]") {
            data = rest.trim_end().trim_end_matches("data:").trim_end();
            if self.end == ReplyEnd::Unsaid {
                self.end = ReplyEnd::Complete;
            }
            self.is_done = true;
            self.closes_at = Some(Instant::now() + AFTER_END);
        }
        // Signs of life of gateways.
        if data.is_empty() || data == "null" || data.starts_with(':') {
            return Ok(());
        }
        if self.event == "error" {
            let error = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
            return Err(self.body.site.error_object(&error));
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
                return Err(self.body.site.cut_off());
            }
            Err(_) if self.is_json => self.unreadable("broken JSON")?,
            Err(_) => self.unreadable("an event that is not JSON")?,
        }
        match self.end {
            ReplyEnd::Unsaid if is_last && self.is_damaged => Err(self.body.site.cut_off()),
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
            return Err(self.body.site.not_a_reply(what));
        }
        self.is_damaged = true;
        Ok(())
    }
}

/// The objects of a text, one after the other.
fn chunks_in(text: &str) -> Result<Vec<Value>, serde_json::Error> {
    Deserializer::from_str(text).into_iter().collect()
}

// The bytes of a response, within limits of silence, time and length.
//
// One rule holds for every body: silence for as long as the setting says ends it, and so does the
// whole of it when it takes ten times as long. Only a stream that keeps saying something may go on,
// and who reads it sees to that.

/// A token is a word at most; even runs of spaces in a vocabulary are shorter.
const TEXT_BYTES_PER_TOKEN: usize = 32;
/// Each token may come in an event of its own, with the names of model and request around it.
const WIRE_BYTES_PER_TOKEN: usize = 768;
/// What comes beside the tokens: counts, filters' verdicts, signs of life.
const WIRE_BYTES_BESIDE: usize = 128 * 1024;
/// Most bytes of an error page that are read.
const ERROR_BYTES: usize = 64 * 1024;

/// Why a body is not read any further.
#[derive(Debug)]
pub enum Broken {
    /// The connection failed.
    Failed(Failure),
    /// The body is longer than allowed.
    TooMuch,
}

/// How long and how much is waited for.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// No byte for this long is an error.
    pub silence: Duration,
    /// Tokens that were asked for.
    pub tokens: u32,
    /// Where waiting is reported.
    pub waiting: CallWaits,
}

impl Bounds {
    fn wire_bytes(&self) -> usize {
        WIRE_BYTES_BESIDE + self.tokens as usize * WIRE_BYTES_PER_TOKEN
    }

    /// How long a whole response may take.
    pub fn response_timeout(&self) -> Duration {
        crate::http::response_timeout(self.silence)
    }

    /// More text than this is no reply.
    pub fn text_bytes(&self) -> usize {
        self.tokens as usize * TEXT_BYTES_PER_TOKEN
    }
}

/// All of a small body, such as a listing.
pub async fn collect(mut body: Body) -> Result<Vec<u8>, Failure> {
    let (whole, site) = (body.bounds.response_timeout(), body.site.clone());
    let reading = async {
        let mut all = Vec::new();
        while let Some(piece) = body.next_piece().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    };
    match timeout(whole, reading).await {
        Ok(Err(Broken::Failed(failure))) => Err(failure),
        Ok(Err(Broken::TooMuch)) => Err(site.too_much()),
        Ok(Ok(all)) => Ok(all),
        Err(_) => Err(site.unfinished(whole)),
    }
}

/// The beginning of an error's body; what cannot be read of it is not missed. Its status tells most,
/// so the whole of it gets no more time than silence would.
pub async fn words_of_error(mut response: Response, silence: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < ERROR_BYTES {
            match response.chunk().await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
    };
    let _ = timeout(silence, reading).await;
    body
}

/// A body, with the limits on silence and length applied.
pub struct Body {
    response: Option<Response>,
    received: usize,
    /// Whether what came was no part of the reply yet.
    is_unbegun: bool,
    site: ChatSite,
    bounds: Bounds,
    /// Lines that were not taken yet.
    lines: VecDeque<String>,
    /// What came of the next line.
    begun: Vec<u8>,
    /// Whether the last line ended with a carriage return.
    is_after_return: bool,
}

impl Body {
    /// Wraps a response of which nothing was read yet.
    pub fn new(response: Response, site: ChatSite, bounds: Bounds) -> Self {
        Self {
            response: Some(response),
            received: 0,
            is_unbegun: false,
            site,
            bounds,
            lines: VecDeque::new(),
            begun: Vec::new(),
            is_after_return: false,
        }
    }

    /// Ends the connection; nothing more comes.
    pub fn close(&mut self) {
        self.response = None;
        self.lines.clear();
        self.begun.clear();
    }

    /// Whether some of the next line has come.
    pub fn is_within_line(&self) -> bool {
        !self.begun.is_empty()
    }

    /// The next line without the white space around it; `None` at the end. A byte that is no UTF-8
    /// becomes U+FFFD.
    pub async fn next_line(&mut self) -> Result<Option<String>, Broken> {
        while self.lines.is_empty() {
            match self.next_piece().await? {
                Some(piece) => piece.into_iter().for_each(|byte| self.push(byte)),
                None if self.begun.is_empty() => return Ok(None),
                None => self.end_line(),
            }
        }
        Ok(self.lines.pop_front())
    }

    async fn next_piece(&mut self) -> Result<Option<Bytes>, Broken> {
        let Some(response) = &mut self.response else {
            return Ok(None);
        };
        let has_begun = self.received > 0 && !self.is_unbegun;
        let silence = self.bounds.silence;
        let waiting = &self.bounds.waiting;
        let piece = match waiting.wait_for(silence, has_begun, response.chunk()).await {
            Ok(piece) => piece.map_err(|error| self.site.transport(&error)),
            Err(_) => Err(self.site.silent(silence, has_begun)),
        };
        let piece = piece.map_err(Broken::Failed)?;
        self.received += piece.as_ref().map_or(0, Bytes::len);
        if self.received > self.bounds.wire_bytes() {
            return Err(Broken::TooMuch);
        }
        Ok(piece)
    }

    fn push(&mut self, byte: u8) {
        // The second half of CR LF ends no line of its own.
        let is_second_half = byte == b'\n' && self.is_after_return;
        self.is_after_return = byte == b'\r';
        match byte {
            b'\n' if is_second_half => {}
            b'\n' | b'\r' => self.end_line(),
            other => self.begun.push(other),
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.begun);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        self.lines.push_back(line.to_owned());
    }
}

// The chat protocol's own words, in the many shapes that servers give them.
//
// A reply is read field by field out of plain JSON: what a server leaves out or writes in another
// type is then no parse error, and the reading code decides what it means.

/// One answer of a completion, whole or in pieces: the two differ in where the text is.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a>(&'a Value);

/// A last piece that is all that came before, and longer than this, is no piece.
const SHORT: usize = 16;

impl<'a> Choice<'a> {
    /// The choice of the number that came first, where the chunk holds one of it. Only one answer is
    /// asked for; `first` keeps its number.
    pub fn first_in(chunk: &'a Value, first: &mut Option<u64>) -> Option<Self> {
        let mut choices = chunk["choices"].as_array()?.iter();
        let choice = choices.find(|choice| {
            let index = choice["index"].as_u64().or(*first).unwrap_or_default();
            *first.get_or_insert(index) == index
        });
        choice.map(Self)
    }

    /// The text beyond what the reply `said` before; reasoning fields are not text. Some servers repeat
    /// the whole message beside or after its pieces.
    pub fn text(self, said: &str) -> String {
        let piece = text_of(&self.0["delta"]);
        let is_whole = piece.is_empty() && self.0["message"].is_object();
        let others = [text_of(&self.0["message"]), plain_text(&self.0["text"])];
        let mut texts = std::iter::once(piece).chain(others);
        let text = texts.find(|text| !text.is_empty()).unwrap_or_default();
        match text.strip_prefix(said) {
            Some(more) if is_whole => more.to_owned(),
            _ if is_whole && self.0["delta"].is_object() => String::new(),
            Some("") if self.finish_reason().is_some() && said.len() > SHORT => String::new(),
            _ => text,
        }
    }

    /// What the model thought, in the first of these fields that holds some.
    pub fn thought(self, fields: &[String]) -> &'a str {
        let [delta, message] = self.messages();
        let thoughts = fields
            .iter()
            .flat_map(|field| [&delta[field], &message[field]]);
        let mut thoughts = thoughts.filter_map(Value::as_str);
        let thought = thoughts.find(|thought| !thought.is_empty());
        thought.unwrap_or_default()
    }

    /// Adds the calls of functions, each as its name and arguments: they come in pieces, as text does.
    /// Returns the bytes added.
    pub fn add_calls(self, calls: &mut BTreeMap<u64, (String, String)>) -> usize {
        let mut bytes = 0;
        for message in self.messages() {
            let listed = message["tool_calls"].as_array().into_iter().flatten();
            let single = message.get("function_call");
            for (at, call) in (0..).zip(listed.chain(single)) {
                let function = call.get("function").unwrap_or(call);
                let index = call["index"].as_u64().unwrap_or(at);
                let (name, arguments) = calls.entry(index).or_default();
                if let Some(said) = function["name"].as_str().filter(|name| !name.is_empty()) {
                    said.clone_into(name);
                }
                let piece = match &function["arguments"] {
                    Value::String(piece) => piece.clone(),
                    whole @ Value::Object(_) => whole.to_string(),
                    _ => String::new(),
                };
                arguments.push_str(&piece);
                bytes += piece.len();
            }
        }
        bytes
    }

    /// Why the server stopped, once it has.
    pub fn finish_reason(self) -> Option<&'a str> {
        let reason = self.0["finish_reason"].as_str();
        reason.filter(|reason| !reason.is_empty())
    }

    /// Whether this is a whole answer, and no piece of one.
    pub fn is_whole(self) -> bool {
        !self.0["delta"].is_object()
    }

    fn messages(self) -> [&'a Value; 2] {
        [&self.0["delta"], &self.0["message"]]
    }
}

/// The text of a message. A refusal is what the model says in place of content.
fn text_of(message: &Value) -> String {
    let text = plain_text(&message["content"]);
    if text.is_empty() {
        return plain_text(&message["refusal"]);
    }
    text
}

/// Text, or a list of parts of which some are text.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|it| it["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// What the server counted and charged, where a chunk says it. A count that cannot be read is none,
/// because the reply is worth more than its price.
pub fn usage_in(chunk: &Value) -> Option<Usage> {
    let usage = chunk.get("usage").filter(|usage| usage.is_object())?;
    let count_at = |path| usage.pointer(path).and_then(count);
    // US dollars, as OpenRouter says it.
    let charged = usage["cost"].as_f64().filter(|dollars| *dollars >= 0.0);
    Some(Usage {
        prompt_tokens: count_at("/prompt_tokens"),
        completion_tokens: count_at("/completion_tokens"),
        // The second is DeepSeek's.
        cached_tokens: count_at("/prompt_tokens_details/cached_tokens")
            .or_else(|| count_at("/prompt_cache_hit_tokens")),
        reasoning_tokens: count_at("/completion_tokens_details/reasoning_tokens"),
        nano_usd: charged.map_or(0, |dollars| (dollars * 1e9).round() as u64),
        priced_calls: u32::from(charged.is_some()),
        ..Usage::ONE_CALL
    })
}

/// No count is larger: so many tokens no model has read in its life, and sums of them stay numbers
/// that every reader of JSON can hold.
const MOST_TOKENS: u64 = 1 << 48;

/// A count however it is written; one beyond all bounds is the bound.
fn count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::String(digits) => digits.trim().parse().ok(),
        number => number
            .as_u64()
            // As a conversion of numbers does it: what is too large is the largest.
            .or_else(|| number.as_f64().filter(|f| *f >= 0.0).map(|f| f as u64)),
    };
    number.map(|number| number.min(MOST_TOKENS))
}

// Characters that a server cut in two.
//
// JSON writes a character beyond U+FFFF as a pair of escapes. A server that parts its text by such
// units sends one half in one event and the other in the next, and neither is JSON that can be
// read. The halves are put together again; one that stays alone becomes U+FFFD or goes.

/// An escape: a first half, perhaps with its second half or the end of the string behind it; a second half
/// that stands alone; or any other.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?is)\\u(?<first>d[89ab][0-9a-f]{2})(?:(?<pair>\\ud[c-f][0-9a-f]{2})|(?<end>"))?|\\u(?<second>d[c-f][0-9a-f]{2})|\\."#,
    )
});
/// What stands for a half that has no other.
const ALONE: &str = "\\ufffd";

/// The JSON with every half that stands alone put right. A first half at the end of a string is kept
/// in `half` for the string that begins with the other.
pub fn join_surrogates<'a>(json: &'a str, half: &mut Option<u16>) -> Cow<'a, str> {
    ESCAPE.replace_all(json, |found: &Captures<'_>| {
        let written = &found[0];
        match (found.name("first"), found.name("second")) {
            (Some(first), _) if found.name("end").is_some() => {
                *half = u16::from_str_radix(first.as_str(), 16).ok();
                "\"".to_owned()
            }
            (None, Some(_)) => match half.take() {
                Some(first) => format!("\\u{first:04x}{written}"),
                None => ALONE.to_owned(),
            },
            (Some(_), _) if found.name("pair").is_none() => ALONE.to_owned(),
            _ => written.to_owned(),
        }
    })
}

#[cfg(test)]
mod wire_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_found_in_every_shape_and_reasoning_in_none() {
        for (chunk, text) in [
            (
                json!({"choices": [{"delta": {"role": "assistant", "content": null}}]}),
                "",
            ),
            (json!({"choices": [{"delta": {"content": "a"}}]}), "a"),
            (json!({"choices": [{"message": {"content": "b"}}]}), "b"),
            (json!({"choices": [{"text": "c"}]}), "c"),
            (
                json!({"choices": [{"delta": {"content": [{"type": "text", "text": "d"}, {"type": "x"}]}}]}),
                "d",
            ),
            (json!({"choices": [{"delta": {"content": 7}}]}), ""),
            (
                json!({"choices": [{"delta": {"reasoning_content": "hm", "content": null}}]}),
                "",
            ),
            (json!({"choices": [{"delta": {"reasoning": "hm"}}]}), ""),
            (json!({"choices": [], "usage": {"prompt_tokens": 1}}), ""),
            (json!({"choices": null}), ""),
            (
                json!({"choices": [{"delta": {"refusal": "I cannot."}}]}),
                "I cannot.",
            ),
            (
                json!({"choices": [{"delta": {"content": "e"}}], "usage": "free"}),
                "e",
            ),
            (json!({}), ""),
            (
                json!({"choices": [{"delta": {"content": "f", "refusal": 7}, "finish_reason": {"type": "stop"}, "text": []}]}),
                "f",
            ),
            (json!({"choices": [{"delta": "g", "text": "h"}]}), "h"),
        ] {
            let shown = chunk.to_string();
            let choice = Choice::first_in(&chunk, &mut None);
            let said = choice.map(|choice| choice.text("")).unwrap_or_default();
            assert_eq!(said, text, "{shown}");
        }
    }

    #[test]
    fn r23_a_message_that_is_repeated_is_said_once() {
        let whole = "The gate opens at seven.";
        for (chunk, said, text) in [
            (
                json!({"delta": {"content": " seven."}, "message": {"content": whole}}),
                "The gate opens at",
                " seven.",
            ),
            (
                json!({"delta": {"content": ""}, "message": {"content": whole}, "finish_reason": "stop"}),
                whole,
                "",
            ),
            (
                json!({"message": {"content": whole}, "finish_reason": "stop"}),
                whole,
                "",
            ),
            (
                json!({"delta": {"content": whole}, "finish_reason": "stop"}),
                whole,
                "",
            ),
            (
                json!({"delta": {}, "message": {"content": "The gate"}}),
                whole,
                "",
            ),
            (
                json!({"message": {"content": whole}}),
                "The gate opens",
                " at seven.",
            ),
            (
                json!({"message": {"content": " seven."}}),
                "The gate opens at",
                " seven.",
            ),
            (json!({"message": {"content": whole}}), "", whole),
            (json!({"delta": {"content": "ha"}}), "ha", "ha"),
            (
                json!({"delta": {"content": "ha"}, "finish_reason": "stop"}),
                "ha",
                "ha",
            ),
        ] {
            let choice = Choice(&chunk);
            assert_eq!(choice.text(said), text, "{chunk}");
        }
    }

    #[test]
    fn r23_one_answer_is_kept_of_several() {
        let mut first = None;
        for (choices, kept) in [
            (
                json!([{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]),
                Some("a"),
            ),
            (json!([{"index": 1, "text": "b"}]), None),
            (json!([{"text": "c"}]), Some("c")),
            (
                json!([{"index": 1, "text": "b"}, {"index": 0, "text": "d"}]),
                Some("d"),
            ),
            (json!([]), None),
        ] {
            let chunk = json!({"choices": choices});
            let choice = Choice::first_in(&chunk, &mut first);
            let said = choice.map(|choice| choice.text(""));
            assert_eq!(said.as_deref(), kept, "{chunk}");
        }
    }

    #[test]
    fn thoughts_are_found_in_the_fields_of_the_server() {
        let chunk = json!({"choices": [{"delta": {"content": null, "reasoning": "hm"}}]});
        let chunk = Choice::first_in(&chunk, &mut None).unwrap();
        let fields = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            chunk.thought(&fields(&["reasoning_content", "reasoning"])),
            "hm"
        );
        assert_eq!(chunk.thought(&fields(&["reasoning_content"])), "");
        assert_eq!(chunk.text(""), "");
    }

    #[test]
    fn counts_are_read_in_every_shape() {
        for (usage, cached, reasoning) in [
            (json!({"prompt_tokens": 9}), None, None),
            (
                json!({"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 5}}),
                Some(4),
                Some(5),
            ),
            (
                json!({"prompt_cache_hit_tokens": 6, "prompt_tokens_details": null}),
                Some(6),
                None,
            ),
            (json!({"prompt_tokens_details": "none"}), None, None),
            (
                json!({"prompt_tokens": "12", "prompt_tokens_details": {"cached_tokens": -4}, "completion_tokens_details": {"reasoning_tokens": 5.0}, "cost": "free"}),
                None,
                Some(5),
            ),
            (
                json!({"prompt_tokens": u64::MAX, "prompt_tokens_details": {"cached_tokens": u64::MAX}, "completion_tokens_details": {"reasoning_tokens": 1.8e19}}),
                Some(MOST_TOKENS),
                Some(MOST_TOKENS),
            ),
        ] {
            let count = usage_in(&json!({"usage": usage})).unwrap();
            assert_eq!(
                (count.cached_tokens, count.reasoning_tokens),
                (cached, reasoning),
                "{usage}"
            );
        }
    }
}

#[cfg(test)]
mod surrogates_tests {
    use super::*;

    #[test]
    fn shown_halves_find_each_other_or_go() {
        for (events, texts) in [
            (&[r#""a\ud83d""#, r#""\ude00b""#][..], &["a", "😀b"][..]),
            (
                &[r#""a\uD83D""#, r#""""#, r#""\uDE00b""#],
                &["a", "", "😀b"],
            ),
            (&[r#""\ud83d\ude00""#], &["😀"]),
            (&[r#""a\ud83db""#], &["a\u{fffd}b"]),
            (&[r#""\ude00b""#], &["\u{fffd}b"]),
            (&[r#""\ud83d\ud83d\ude00""#], &["\u{fffd}😀"]),
            (&[r#""\\ud83d""#], &["\\ud83d"]),
            (&[r#""\ud83d\n""#], &["\u{fffd}\n"]),
            (&[r#""比\\\ud83d""#], &["比\\"]),
        ] {
            let mut half = None;
            for (event, text) in events.iter().zip(texts) {
                let read: String =
                    serde_json::from_str(&join_surrogates(event, &mut half)).unwrap();
                assert_eq!(read, *text, "{event}");
            }
        }
    }

    #[test]
    fn what_is_no_json_ends_all_the_same() {
        for text in [
            "\\ud",
            "\\ud83",
            "\\ud83d",
            "\\ud83d\\",
            "\\ud83d\\u比比",
            "\\",
        ] {
            join_surrogates(text, &mut None);
        }
    }
}
