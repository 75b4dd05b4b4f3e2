//! A reply as it comes: an answer goes on to the reader piece by piece, without its thoughts.

use crate::agent::ports::{AnswerSink, CallWaits};
use crate::text::StreamSanitizer;

use super::think::ThinkFilter;
use super::tokens::estimate;

/// What came so far.
pub struct PartialReply<'a> {
    /// Where it goes; a judgement goes nowhere until it is whole.
    pub out: Option<&'a AnswerSink>,
    waiting: &'a CallWaits,
    filter: ThinkFilter,
    /// All of its text.
    pub text: String,
    /// What came before anything that a person could see, and what is left of it on a screen.
    unseen: String,
    screen: StreamSanitizer,
    /// Whether a person has seen some of it.
    pub shown: bool,
}

impl<'a> PartialReply<'a> {
    /// Nothing has come yet.
    pub fn new(out: Option<&'a AnswerSink>, waiting: &'a CallWaits) -> Self {
        Self {
            out,
            waiting,
            filter: ThinkFilter::default(),
            text: String::new(),
            unseen: String::new(),
            screen: StreamSanitizer::default(),
            shown: false,
        }
    }

    /// Takes the next piece.
    pub async fn push(&mut self, piece: &str) {
        match self.out {
            None => {
                self.text.push_str(piece);
                if self.waiting.is_reported() {
                    self.filter.push(piece);
                }
            }
            Some(out) => {
                let shown = self.filter.push(piece);
                self.show(out, shown).await;
            }
        }
        match self.filter.thought() {
            Some(thought) => self.waiting.thinking(|| estimate(thought)),
            None => self.waiting.words(),
        }
    }

    /// Nothing more comes.
    pub async fn finish(&mut self) {
        if let Some(out) = self.out {
            let rest = std::mem::take(&mut self.filter).finish();
            self.show(out, rest).await;
        }
    }

    /// Nothing goes out before there is something to see: an answer of blanks, escape sequences and
    /// invisible characters is an empty one, and may be asked for again.
    async fn show(&mut self, out: &AnswerSink, text: String) {
        let mut text = text;
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
