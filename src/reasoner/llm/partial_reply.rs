//! A reply as it comes: an answer goes on to the reader piece by piece, without its thoughts.

use std::sync::Arc;

use crate::agent::ports::{AnswerSink, CallWaits};
use crate::text::StreamSanitizer;

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
    /// All of its text.
    pub text: String,
    /// What came before anything that a person could see, and what is left of it on a screen.
    unseen: String,
    screen: StreamSanitizer,
    /// Whether a person has seen some of it.
    pub shown: bool,
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
            filter: match out {
                Some(_) => ThinkFilter::of_answer(marks, thinking),
                None => ThinkFilter::of_judgement(marks),
            },
            watch: RepetitionWatch::default(),
            text: String::new(),
            unseen: String::new(),
            screen: StreamSanitizer::default(),
            shown: false,
            is_taken_back: false,
        }
    }

    /// Takes the next piece.
    pub async fn push(&mut self, piece: &str) {
        let shown = self.filter.push(piece);
        match self.out {
            None => self.text.push_str(piece),
            Some(out) => {
                self.watch.push(piece);
                self.show(out, shown).await;
            }
        }
        match self.filter.thought() {
            Some(thought) => self.waiting.thinking(|| estimate(thought)),
            None => self.waiting.words(),
        }
    }

    /// Whether an answer says the same again and again.
    pub fn repeats_itself(&self) -> bool {
        self.watch.repeats
    }

    /// Nothing comes for a while: what is held back for a moment is shown.
    pub async fn pause(&mut self) {
        if let Some(out) = self.out {
            let first = self.filter.show_first();
            self.show(out, first).await;
        }
    }

    /// Nothing more comes.
    pub async fn finish(&mut self) {
        if let Some(out) = self.out {
            let rest = self.filter.finish();
            self.show(out, rest).await;
        }
    }

    /// Nothing goes out before there is something to see: an answer of blanks, escape sequences and
    /// invisible characters is an empty one, and may be asked for again.
    async fn show(&mut self, out: &AnswerSink, shown: Shown) {
        let Shown {
            mut text,
            takes_back,
        } = shown;
        if takes_back {
            self.text.clear();
            self.is_taken_back |= self.shown;
        }
        if !self.shown {
            self.unseen.push_str(&text);
            if self.screen.push(&text).trim().is_empty() {
                return;
            }
            self.shown = true;
            text = std::mem::take(&mut self.unseen);
        }
        if !text.is_empty() {
            self.text.push_str(&text);
            out.push(text).await;
        }
    }
}
