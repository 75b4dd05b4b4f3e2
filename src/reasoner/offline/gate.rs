//! Whether a passage may be quoted as an answer to one question.
//!
//! The answer quotes by this gate, and grading asks the same gate whether a part of the question
//! has its answer: were they of two minds, a run would stop searching and then find nothing to say.

use crate::domain::Evidence;

use super::heard::is_heard;
use super::named_files::{asks_for_content, names};
use super::named_things::{asks_for, named, speaks_of};
use super::passage::Passage;
use super::relevance::ANSWERS_FROM;

/// How relevant a passage is at least that says by its form that it is what was asked for.
pub(super) const PLAINLY: f64 = 0.5;

/// What one question lets through of what was found.
pub(super) struct Gate<'a> {
    question: &'a str,
    items: &'a [Evidence],
    passages: &'a [Passage],
    /// Whether a file that is there is named, or only what a file says is asked.
    of_file: bool,
    things: Vec<String>,
    /// Whether anything that was found speaks of what is asked.
    heard: bool,
}

impl<'a> Gate<'a> {
    /// Of the question, over the items and what was read from them.
    pub(super) fn of(question: &'a str, items: &'a [Evidence], passages: &'a [Passage]) -> Self {
        let of_file = asks_for_content(question) || items.iter().any(|item| names(question, item));
        let plainly = || passages.iter().any(|passage| asks_for(question, passage));
        let texts = || -> Vec<String> {
            let texts = items.iter();
            texts.map(|i| format!("{} {}", i.source, i.text)).collect()
        };
        Self {
            question,
            items,
            passages,
            of_file,
            things: named(question),
            heard: of_file || plainly() || is_heard(question, &texts()),
        }
    }

    /// The relevance of an item, raised where the question names its file or its form is asked for.
    pub(super) fn raised(&self, at: usize, measured: f64) -> f64 {
        if names(self.question, &self.items[at]) {
            1.0
        } else if asks_for(self.question, &self.passages[at]) {
            measured.max(PLAINLY)
        } else {
            measured
        }
    }

    /// Whether an item of this relevance may be quoted. When the question names a file that is
    /// there, only that file, and for what a file says no other can stand in; when it names an
    /// identifier, only what speaks of it.
    pub(super) fn lets_through(&self, at: usize, relevance: f64) -> bool {
        let item = &self.items[at];
        let fits = if self.of_file {
            names(self.question, item)
        } else {
            self.things.is_empty() || speaks_of(&self.things, item, &self.passages[at])
        };
        self.heard && relevance >= ANSWERS_FROM && fits
    }

    /// Whether any item may be quoted, given how relevant each was measured to be.
    pub(super) fn is_open(&self, measured: &[f64]) -> bool {
        let measured = measured.iter().copied().enumerate();
        let mut raised = measured.map(|(at, measured)| (at, self.raised(at, measured)));
        raised.any(|(at, relevance)| self.lets_through(at, relevance))
    }
}
