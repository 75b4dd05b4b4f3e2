//! Holds an answer against its evidence while it streams: behind each sentence that a source says stands the
//! citation of that source, and of the others it is said that no source says them.
//!
//! A sentence is looked at once it is over, and what follows it waits for that. So the text only ever grows, and every
//! reader of the stream sees the marks where they belong.

use std::ops::Range;

use super::citation_marks::Citable;
use super::events::EventWriter;
use super::ports::{Reasoner, Support, SupportJob};
use crate::domain::{Evidence, SentenceSupport, added_mark};
use crate::protocol::EventBody;

/// An answer in the making.
pub(super) struct SupportedText<'a> {
    query: &'a str,
    context: &'a [Evidence],
    /// What came so far, without what is added here.
    written: String,
    /// How much of it was passed on.
    passed: usize,
    /// Up to where its sentences were looked at.
    checked: usize,
    /// Whether a sentence may have ended since.
    may_have_ended: bool,
    /// What was passed on, with what is added here.
    pub(super) text: String,
    /// What was found out of its sentences.
    pub(super) sentences: Vec<SentenceSupport>,
    /// The numbers of the citations that were added, each once.
    pub(super) added: Vec<usize>,
}

impl<'a> SupportedText<'a> {
    /// Nothing has come yet. Without evidence nothing is looked at.
    pub(super) fn new(query: &'a str, context: &'a [Evidence]) -> Self {
        Self {
            query,
            context,
            written: String::new(),
            passed: 0,
            checked: 0,
            may_have_ended: false,
            text: String::new(),
            sentences: Vec::new(),
            added: Vec::new(),
        }
    }

    /// Takes the next piece and passes on what is known to be looked at.
    pub(super) async fn push(
        &mut self,
        piece: &str,
        reasoner: &dyn Reasoner,
        events: &mut EventWriter,
    ) {
        self.may_have_ended |= piece.contains(ENDS);
        self.written.push_str(piece);
        if self.context.is_empty() {
            return self.pass_on(self.written.len(), events).await;
        }
        let is_looked_at = self.written.len() <= LONGEST_LOOKED_AT;
        if is_looked_at && self.may_have_ended && piece.contains(char::is_alphanumeric) {
            self.check(false, reasoner, events).await;
        }
        // Behind the end of a sentence may stand a citation of it.
        let end = self.written.trim_end_matches(is_between_sentences).len();
        self.pass_on(end, events).await;
    }

    /// Looks at the last sentence and passes on the rest.
    pub(super) async fn finish(&mut self, reasoner: &dyn Reasoner, events: &mut EventWriter) {
        if !self.context.is_empty() && self.written.len() <= LONGEST_LOOKED_AT {
            self.check(true, reasoner, events).await;
        }
        self.pass_on(self.written.len(), events).await;
    }

    /// Passes on all that is left, as it is.
    pub(super) async fn pass_on_rest(&mut self, piece: &str, events: &mut EventWriter) {
        self.written.push_str(piece);
        self.pass_on(self.written.len(), events).await;
    }

    async fn check(&mut self, is_all: bool, reasoner: &dyn Reasoner, events: &mut EventWriter) {
        let job = SupportJob {
            query: self.query,
            text: &self.written,
            from: self.checked,
            is_all,
            context: self.context,
        };
        // That a sentence has ended is seen by what follows it.
        let behind = self
            .written
            .rfind(ENDS)
            .map_or("", |at| &self.written[at..]);
        self.may_have_ended = !behind.contains(char::is_alphanumeric);
        for (sentence, support) in reasoner.find_support(job) {
            self.checked = sentence.end;
            self.mark(sentence, support, events).await;
        }
    }

    async fn mark(&mut self, sentence: Range<usize>, support: Support, events: &mut EventWriter) {
        let is_cited = Citable::numbers(self.context.len())
            .marks(&self.written[sentence.clone()])
            .next()
            .is_some();
        // All that was added so far stands before this sentence.
        let start = sentence.start + (self.text.len() - self.passed);
        self.pass_on(sentence.end, events).await;
        let (supported, carrier) = match support {
            Support::Unknown => return,
            Support::None => (false, None),
            Support::Item(n) => (true, Some(n).filter(|_| !is_cited)),
        };
        let end = self.text.len();
        self.sentences.push(SentenceSupport {
            start: start.min(end),
            end,
            supported,
            added: carrier,
        });
        let mark = carrier.map(added_mark).unwrap_or_default();
        if let Some(n) = carrier.filter(|n| !self.added.contains(n)) {
            self.added.push(n);
        }
        self.text.push_str(&mark);
        let delta = EventBody::AnswerDelta {
            text: mark,
            supported: Some(supported),
        };
        events.emit(delta).await;
    }

    async fn pass_on(&mut self, end: usize, events: &mut EventWriter) {
        if end > self.passed {
            let text = self.written[self.passed..end].to_owned();
            self.passed = end;
            self.text.push_str(&text);
            let supported = None;
            events
                .emit(EventBody::AnswerDelta { text, supported })
                .await;
        }
    }
}

/// Bytes of an answer whose sentences are looked at, each of which reads it from its beginning; no limit of tokens
/// that makes sense lets an answer become longer.
const LONGEST_LOOKED_AT: usize = 64 << 10;

/// What a sentence may end with, a line of a list among them.
const ENDS: [char; 9] = ['.', '!', '?', ':', '\n', '。', '！', '？', '：'];

/// Whether a character may stand between a sentence and the next one: blanks, what begins a list, opening quotation marks.
fn is_between_sentences(c: char) -> bool {
    !c.is_alphanumeric() && (c == '\n' || !ENDS.contains(&c))
}
