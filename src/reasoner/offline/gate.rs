//! Whether a passage may be quoted as an answer to one question.
//!
//! The answer quotes by this gate, and grading asks the same gate whether a part of the question
//! has its answer: were they of two minds, a run would stop searching and then find nothing to say.
//! What it takes to judge is looked at once for each passage.

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::Evidence;
use crate::text::is_chinese;

use super::heard::is_heard;
use super::named_files::{asks_for_content, names};
use super::named_things::{asks_for, named, speaks_of};
use super::passage::Passage;
use super::relevance::{ANSWERS_FROM, MAY_ANSWER_FROM, Vectors};
use super::sought::Sought;
use super::supported::{SUPPORTED_FROM, supported};
use super::words::terms;

/// How relevant a passage is at least that says by its form that it is what was asked for.
pub(super) const PLAINLY: f64 = 0.5;

/// From this cosine of a question and a unit below its heading on, where nothing else may be quoted,
/// the passage may: "how dear is the blue one?" and "Prices: blue; 4 euros" share few words.
/// Set by hand on questions over three bases, so that it opened the gate for none without an answer;
/// at .55 it would for twice as many with one, and for two without.
const NEAR_FROM: f64 = 0.6;
/// So many units of a passage are looked at, and so many passages.
const UNITS: usize = 12;
const PASSAGES: usize = 6;

/// What one question lets through of what was found.
pub(super) struct Gate {
    /// Of each passage, in their order.
    seen: Vec<Seen>,
    /// Whether a file that is there is named, or only what a file says is asked.
    of_file: bool,
    /// Whether anything that was found speaks of what is asked.
    heard: bool,
}

/// What was seen of a passage.
struct Seen {
    /// Its file is named.
    is_named: bool,
    /// From which measured relevance on it is raised: any, where it says by its form that it is
    /// what is asked for; more, where it holds what is asked for by its kind.
    raised_from: Option<f64>,
    /// From this relevance on it may be quoted.
    quoted_from: f64,
    /// It speaks of the names that the answer has to be about.
    speaks: bool,
}

impl Gate {
    /// Of the question, over the items, what was read from them and how relevant each was measured
    /// to be. Blocks while it embeds, which it does only where nothing passes otherwise.
    pub(super) fn of(
        question: &str,
        items: &[Evidence],
        passages: &[Passage],
        measured: &[f64],
        embedder: &dyn Embedder,
    ) -> Result<Self, EmbedError> {
        let mut gate = Self::by_words(question, items, passages);
        if gate.heard && !gate.of_file && !is_chinese(question) && !gate.is_open(measured) {
            gate.raise_near(question, passages, measured, embedder)?;
        }
        Ok(gate)
    }

    /// Raises the passages that hold a unit near the question.
    fn raise_near(
        &mut self,
        question: &str,
        passages: &[Passage],
        measured: &[f64],
        embedder: &dyn Embedder,
    ) -> Result<(), EmbedError> {
        let mut order: Vec<usize> = (0..passages.len())
            .filter(|at| self.seen[*at].speaks)
            .collect();
        order.sort_by(|a, b| measured[*b].total_cmp(&measured[*a]).then(a.cmp(b)));
        order.truncate(PASSAGES);
        let told: Vec<Vec<String>> = order
            .iter()
            .map(|at| {
                let units = passages[*at].units.iter().take(UNITS);
                units.map(super::sentences::Unit::in_context).collect()
            })
            .collect();
        let mut texts = vec![question];
        texts.extend(told.iter().flatten().map(String::as_str));
        let vectors = Vectors::of(&texts, embedder)?;
        for (at, told) in order.iter().zip(&told) {
            let near = |text: &String| vectors.cosine(question, text) >= NEAR_FROM;
            if told.iter().any(near) {
                self.seen[*at].raised_from = Some(0.0);
            }
        }
        Ok(())
    }

    fn by_words(question: &str, items: &[Evidence], passages: &[Passage]) -> Self {
        let things = named(question);
        let plain: Vec<bool> = passages.iter().map(|p| asks_for(question, p)).collect();
        let supported = supported(question, passages);
        let (asked, sought) = (terms(question), Sought::of(question));
        let chinese = is_chinese(question);
        let seen: Vec<Seen> = items
            .iter()
            .zip(passages)
            .zip(plain.iter().zip(supported))
            .map(|((item, passage), (plain, supported))| Seen {
                is_named: names(question, item),
                raised_from: match (plain, supported) {
                    (true, _) => Some(0.0),
                    (false, true) => Some(SUPPORTED_FROM),
                    (false, false) => None,
                },
                quoted_from: if chinese
                    && is_chinese(&passage.text)
                    && !lacks(passage, sought, &asked)
                {
                    MAY_ANSWER_FROM
                } else {
                    ANSWERS_FROM
                },
                speaks: things.is_empty() || speaks_of(&things, item, passage),
            })
            .collect();
        let of_file = asks_for_content(question) || seen.iter().any(|seen| seen.is_named);
        let texts = || -> Vec<String> {
            let texts = items.iter();
            texts.map(|i| format!("{} {}", i.source, i.text)).collect()
        };
        Self {
            of_file,
            heard: of_file || plain.contains(&true) || is_heard(question, &texts()),
            seen,
        }
    }

    /// The relevance of an item, raised where the question names its file or its form is asked for.
    pub(super) fn raised(&self, at: usize, measured: f64) -> f64 {
        let seen = &self.seen[at];
        if seen.is_named {
            1.0
        } else if seen.raised_from.is_some_and(|from| measured >= from) {
            measured.max(PLAINLY)
        } else {
            measured
        }
    }

    /// Whether an item of this relevance may be quoted. When the question names a file that is
    /// there, only that file, and for what a file says no other can stand in; when it names an
    /// identifier, only what speaks of it.
    pub(super) fn lets_through(&self, at: usize, relevance: f64) -> bool {
        let seen = &self.seen[at];
        let fits = if self.of_file {
            seen.is_named
        } else {
            seen.speaks
        };
        self.heard && relevance >= seen.quoted_from && fits
    }

    /// Whether any item may be quoted, given how relevant each was measured to be.
    pub(super) fn is_open(&self, measured: &[f64]) -> bool {
        let measured = measured.iter().copied().enumerate();
        let mut raised = measured.map(|(at, measured)| (at, self.raised(at, measured)));
        raised.any(|(at, relevance)| self.lets_through(at, relevance))
    }
}

/// Whether nothing in the passage that shares a word with the question is of the kind it asks for:
/// where the question is when, no time.
fn lacks(passage: &Passage, sought: Option<Sought>, asked: &[String]) -> bool {
    let mut units = passage.units.iter().zip(&passage.unit_terms);
    sought.is_some_and(|kind| {
        !units.any(|(unit, own)| kind.is_in(unit) && asked.iter().any(|term| own.contains(term)))
    })
}
