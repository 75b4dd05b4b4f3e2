//! A chat reply as it comes in: its text, its thoughts, calls of functions, counts, and why it ended.
//!
//! A reply that does not end by itself is ended here, in proportion to the tokens that were asked for.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::body::{Body, Broken, STALLED, UNFINISHED};
use super::chunk::{Calls, Choice, Chunk};
use super::fault::Failure;
use super::lines::{LineError, Lines};
use super::models::error_message;
use super::tokens::estimate;
use super::waits::PromptProgress;
use crate::domain::Usage;

/// What comes so long after the mark of the end still belongs to the reply.
const AFTER_END: Duration = Duration::from_millis(300);
/// Token counts may come so long after the reason of the end.
const AFTER_REASON: Duration = Duration::from_secs(2);
/// A token is a word at most; even runs of spaces in a vocabulary are shorter.
const TEXT_BYTES_PER_TOKEN: usize = 32;
/// Fewer tokens, or a shorter time, are no measure of a rate.
const ENOUGH_TOKENS: u64 = 8;
const ENOUGH_TIME: Duration = Duration::from_secs(4);

/// How a reply ended, in the server's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ChatEnd {
    /// Nothing said that it is complete.
    #[default]
    Unsaid,
    /// Its end was marked.
    Marked,
    /// For this reason.
    Reason(String),
    /// It went on beyond all limits, and was ended here.
    TooMuch,
}

/// What came next.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Text of the reply.
    pub text: String,
    /// Thought that came in a field of its own.
    pub thought: String,
}

/// A reply that is being read.
pub struct ChatReply<'a> {
    body: Body<'a>,
    lines: Lines,
    thought_fields: &'a [String],
    /// Tokens that were asked for.
    pub tokens: u32,
    /// Whether some of a reply has come, and not only something else.
    has_begun: bool,
    /// The number of the answer that came first.
    choice: Option<u64>,
    said: String,
    /// Thoughts of a field of their own.
    pub thoughts: String,
    calls: Calls,
    /// Bytes of calls so far.
    call_bytes: usize,
    /// What the server counted, once it has.
    pub counted: Option<Usage>,
    /// How fast the model reads, by an earlier call.
    pub known_rate: Option<f64>,
    /// How far the prompt is read, where the server tells it.
    progress: Option<PromptProgress>,
    /// How much the model wrote in which time, where the server has measured it.
    measured: Option<(u64, Duration)>,
    /// When the first piece came, with how many tokens, and when the last.
    pieces: Option<(Instant, usize, Instant)>,
    /// When something was said last.
    last_word_at: Instant,
    /// When reading ends, once there was a reason of the end.
    closes_at: Option<Instant>,
    /// When the end was marked.
    done_at: Option<Instant>,
    /// How it ended, as far as is known.
    pub end: ChatEnd,
}

impl<'a> ChatReply<'a> {
    /// Nothing of the body has been read.
    pub fn new(body: Body<'a>, thought_fields: &'a [String], tokens: u32) -> Self {
        Self {
            body,
            lines: Lines::new(),
            thought_fields,
            tokens,
            has_begun: false,
            choice: None,
            said: String::new(),
            thoughts: String::new(),
            calls: Calls::new(),
            call_bytes: 0,
            counted: None,
            known_rate: None,
            progress: None,
            measured: None,
            pieces: None,
            last_word_at: Instant::now(),
            closes_at: None,
            done_at: None,
            end: ChatEnd::Unsaid,
        }
    }

    /// The next piece of text or thought; none at the end.
    pub async fn next(&mut self) -> Result<Option<Piece>, Failure> {
        // The reader may have taken long with the last piece.
        self.last_word_at = Instant::now();
        while let Some(value) = self.next_value().await? {
            // `{"message": …}` without choices is how some servers say that something went wrong.
            let is_reply = value.get("choices").is_some();
            let is_bare_error = !is_reply && !self.has_begun && error_message(&value).is_some();
            if !value["error"].is_null() || is_bare_error {
                return Err(self.body.site.error_object(&value));
            }
            self.has_begun |= is_reply;
            let chunk = Chunk::read(&value);
            self.counted = chunk.usage().or(self.counted);
            self.measured = chunk.measured_speed().or(self.measured);
            if let Some(progress) = chunk.progress() {
                self.note_progress(progress);
            }
            if let Some(choice) = chunk.choice(&mut self.choice) {
                let piece = self.read_choice(choice);
                if piece != Piece::default() {
                    return Ok(Some(piece));
                }
            }
        }
        match self.lines.other {
            Some(_) if self.end == ChatEnd::TooMuch => Err(self.body.site.too_much()),
            Some(other) => Err(self.body.site.not_a_reply(other)),
            None => Ok(None),
        }
    }

    /// Reads no further; dropping the body closes the connection.
    pub fn close(&mut self) {
        self.body.close();
        self.lines.clear();
    }

    /// Whether something in the middle could not be read.
    pub fn is_damaged(&self) -> bool {
        self.lines.is_damaged
    }

    /// About how many tokens the model has written, thoughts too.
    pub fn count_tokens(&self) -> usize {
        estimate(&self.said) + estimate(&self.thoughts)
    }

    /// How many tokens of the prompt the model has read in a second, where the server tells it.
    pub fn reading_rate(&self) -> Option<f64> {
        self.progress?.tokens_per_second()
    }

    /// How many tokens the model has written in a second, where that is enough to tell.
    pub fn writing_rate(&self) -> Option<f64> {
        let measured = self
            .measured
            .and_then(|(tokens, time)| writing_rate(tokens, time));
        let timed = || {
            let (begun, first, last) = self.pieces?;
            let counted = self.counted.and_then(|counted| counted.completion_tokens);
            let tokens = counted.unwrap_or(self.count_tokens() as u64);
            writing_rate(tokens.saturating_sub(first as u64), last - begun)
        };
        measured.or_else(timed)
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

    async fn next_value(&mut self) -> Result<Option<Value>, Failure> {
        while self.lines.found.is_empty() {
            let longest = self.body.longest();
            let ends = self.done_at.map(|done| done + AFTER_END);
            let ends = ends.or(self.closes_at);
            let is_over = ends.is_some();
            let ends = ends.unwrap_or(self.last_word_at + longest);
            match timeout_at(ends, self.body.next_piece()).await {
                Ok(Ok(Some(bytes))) => self.lines.push(&bytes),
                Ok(Err(Broken::TooMuch)) => {
                    self.end = ChatEnd::TooMuch;
                    self.close();
                    return Ok(None);
                }
                Ok(Err(Broken::Failed(failure))) if !is_over => return Err(failure),
                Err(_) if !is_over && self.lines.is_within() => {
                    return Err(self.body.site.late(UNFINISHED, longest));
                }
                Err(_) if !is_over => return Err(self.body.site.late(STALLED, longest)),
                // After the end of the reply nothing is missed, and half a line least of all.
                last @ (Ok(Ok(None) | Err(_)) | Err(_)) => {
                    self.body.close();
                    if !matches!(last, Ok(Ok(None))) {
                        self.lines.drop_line();
                    }
                    self.lines.end();
                    if self.lines.found.is_empty() {
                        return self.finish().map(|()| None);
                    }
                }
            }
            if self.lines.is_done {
                self.done_at.get_or_insert_with(Instant::now);
            }
        }
        match self.lines.found.pop_front() {
            Some(Err(LineError::NotAReply(what))) => Err(self.body.site.not_a_reply(what)),
            Some(Err(LineError::CutOff)) => Err(self.body.site.cut_off()),
            Some(Err(LineError::Error(error))) => Err(self.body.site.error_object(&error)),
            Some(Ok(value)) => Ok(Some(value)),
            None => Ok(None),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if self.end == ChatEnd::Unsaid && self.lines.is_done {
            self.end = ChatEnd::Marked;
        }
        if self.end == ChatEnd::Unsaid && self.lines.is_damaged {
            return Err(self.body.site.cut_off());
        }
        Ok(())
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
        self.body.waits.reading(progress, self.known_rate);
    }

    /// Takes what a choice says.
    fn read_choice(&mut self, choice: &Choice) -> Piece {
        let reason = choice.finish_reason();
        if let Some(reason) = reason {
            self.end = ChatEnd::Reason(reason.to_owned());
        } else if self.lines.is_json && self.end == ChatEnd::Unsaid && choice.is_whole() {
            // An object that could be read is complete.
            self.end = ChatEnd::Marked;
        }
        let thought = choice.thought(self.thought_fields).to_owned();
        let text = choice.text(&self.said);
        self.said.push_str(&text);
        self.thoughts.push_str(&thought);
        let now = Instant::now();
        if !thought.is_empty() {
            self.last_word_at = now;
            self.body.waits.thinking(|| estimate(&self.thoughts));
        }
        let first = if thought.is_empty() { &text } else { &thought };
        if !first.is_empty() {
            self.body.is_unbegun = false;
            let pieces = self
                .pieces
                .get_or_insert_with(|| (now, estimate(first), now));
            pieces.2 = now;
        }
        // Some servers give a reason with every piece.
        self.closes_at = match (text.is_empty(), reason.is_some()) {
            (true, true) => Some(now + AFTER_REASON),
            (true, false) => self.closes_at,
            (false, _) => None,
        };
        self.call_bytes += choice.add_calls(&mut self.calls);
        let said = self.said.len() + self.call_bytes + self.thoughts.len();
        if said > self.tokens as usize * TEXT_BYTES_PER_TOKEN {
            self.end = ChatEnd::TooMuch;
            self.close();
        }
        Piece { text, thought }
    }
}

/// How many tokens are written in a second, where that is enough to tell.
fn writing_rate(tokens: u64, time: Duration) -> Option<f64> {
    let is_enough = tokens >= ENOUGH_TOKENS && time >= ENOUGH_TIME;
    is_enough.then(|| tokens as f64 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_writing_needs_enough_tokens_and_time() {
        for (tokens, ms, rate) in [(8, 4_000, Some(2.0)), (7, 9_000, None), (99, 3_999, None)] {
            assert_eq!(writing_rate(tokens, Duration::from_millis(ms)), rate);
        }
    }
}
