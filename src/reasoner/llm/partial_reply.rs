//! A reply as it comes: an answer goes on to the reader piece by piece, without its thoughts.

use std::sync::Arc;

use crate::agent::ports::{AnswerSink, CallWaits};

use super::marks::{ReplyEnd, ReplyMarks};
use super::repetition::RepetitionWatch;
use super::request::ModelRequest;
use super::stream::ChatReply;
use super::think::{Shown, ThinkFilter};
use super::token_counts::estimate;

/// What came so far.
pub struct PartialReply<'a> {
    /// Where it goes; a judgement goes nowhere until it is whole.
    out: Option<&'a AnswerSink>,
    waiting: &'a CallWaits,
    /// What is told apart in it.
    pub filter: ThinkFilter,
    watch: RepetitionWatch,
    /// Whether a person has seen what turned out to be thought.
    pub is_taken_back: bool,
}

impl<'a> PartialReply<'a> {
    /// Nothing has come yet.
    pub fn new(request: &ModelRequest<'a>, marks: Arc<ReplyMarks>) -> Self {
        Self {
            out: request.wanted.out,
            waiting: request.waiting,
            filter: ThinkFilter::new(marks, request.dialect.thinking),
            watch: RepetitionWatch::default(),
            is_taken_back: false,
        }
    }

    /// Takes the next piece of a reply, and ends the reply where the rest of it is of no use.
    pub async fn push(&mut self, piece: &str, reply: &mut ChatReply) {
        if !reply.thoughts().is_empty() {
            self.filter.trust();
        }
        let shown = self.filter.push(piece);
        if self.out.is_some() {
            self.watch.push(piece);
        }
        self.show(shown).await;
        match self.filter.thought() {
            Some(thought) => self.waiting.thinking(|| estimate(thought)),
            None => self.waiting.words(),
        }
        if self.watch.repeats {
            reply.stop(ReplyEnd::Repeating);
        } else if self.out.is_some() && self.filter.reading.has_ended() {
            reply.stop(ReplyEnd::Complete);
        }
    }

    /// Whether a person has seen some of it.
    pub fn is_shown(&self) -> bool {
        self.out.is_some() && !self.filter.shown.is_empty()
    }

    /// Shows what is left, after the last piece has come.
    pub async fn finish(&mut self) {
        let rest = self.filter.finish();
        self.show(rest).await;
    }

    async fn show(&mut self, shown: Shown) {
        let Some(out) = self.out else { return };
        self.is_taken_back |= shown.takes_back;
        if !shown.text.is_empty() {
            out.push(shown.text).await;
        }
    }
}
