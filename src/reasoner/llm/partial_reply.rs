//! A reply as it comes: an answer goes on to the reader piece by piece, without its thoughts.

use std::sync::Arc;

use crate::agent::ports::{AnswerSink, CallWaits};

use super::marks::ReplyMarks;
use super::repetition::RepetitionWatch;
use super::think::{Shown, ThinkFilter, Thinking};
use super::tokens::estimate;

/// What came so far.
pub struct PartialReply<'a> {
    /// Where it goes; a judgement goes nowhere until it is whole.
    pub out: Option<&'a AnswerSink>,
    waiting: &'a CallWaits,
    /// What is told apart in it.
    pub filter: ThinkFilter,
    watch: RepetitionWatch,
    /// Whether a person has seen what turned out to be thought.
    pub is_taken_back: bool,
}

impl<'a> PartialReply<'a> {
    /// Nothing has come yet.
    pub fn new(
        out: Option<&'a AnswerSink>,
        waiting: &'a CallWaits,
        marks: Arc<ReplyMarks>,
        thinking: Thinking,
    ) -> Self {
        Self {
            out,
            waiting,
            filter: ThinkFilter::new(marks, thinking),
            watch: RepetitionWatch::default(),
            is_taken_back: false,
        }
    }

    /// Takes the next piece.
    pub async fn push(&mut self, piece: &str) {
        let shown = self.filter.push(piece);
        if self.out.is_some() {
            self.watch.push(piece);
        }
        self.show(shown).await;
        match self.filter.thought() {
            Some(thought) => self.waiting.thinking(|| estimate(thought)),
            None => self.waiting.words(),
        }
    }

    /// Whether a person has seen some of it.
    pub fn is_shown(&self) -> bool {
        self.out.is_some() && !self.filter.shown.is_empty()
    }

    /// Whether an answer says the same again and again.
    pub fn repeats_itself(&self) -> bool {
        self.watch.repeats
    }

    /// Nothing more comes.
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
