//! Whether a passage may be quoted as an answer to one question.
//!
//! The answer quotes by this gate, and grading asks the same gate whether a part of the question
//! has its answer: were they of two minds, a run would stop searching and then find nothing to say.
//! What it takes to judge is looked at once for each passage.

use std::collections::HashSet;

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::Evidence;
use crate::text::is_chinese;

use super::fit_to_say::asks_what_it_is_about;
use super::heard::is_heard;
use super::kindred::holds;
use super::named_files::{asks_for_content, names};
use super::named_things::{asks_for, named, speaks_of};
use super::near::{UNITS, Wanted, kind_named};
use super::passage::Passage;
use super::relevance::{ANSWERS_FROM, MAY_ANSWER_FROM};
use super::sought::Sought;
use super::supported::{SUPPORTED_FROM, supported};
use super::words::terms;

/// How relevant a passage is at least that says by its form that it is what was asked for.
pub(super) const PLAINLY: f64 = 0.5;

/// From this cosine of what is wanted and a unit below its heading on, where nothing else may be
/// quoted, the passage may: "how dear is the blue one?" and "Prices: blue; 4 euros" share few words.
/// Where most of the words occur in nothing found, more is needed. Set by hand on questions over four
/// sets: the first opened the gate for 19 questions with an answer and 4 without, the second for 14
/// and 2.
const NEAR_FROM: f64 = 0.45;
const NEAR_UNHEARD: f64 = 0.46;
/// Below this, what asks something of what the whole base is about asks what it does not tell.
const DOUBTED_BELOW: f64 = 0.36;
/// So many passages are looked at, the best first.
const PASSAGES: usize = 10;

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
    /// It speaks of the names that the answer has to be about, and tells a time where a date is asked.
    speaks: bool,
}

impl Gate {
    /// Of the question, over the items, what was read from them and how relevant each was measured
    /// to be. Blocks while it embeds, which it does only where nothing passes otherwise and where
    /// the question names what all passages are about.
    pub(super) fn of(
        question: &str,
        items: &[Evidence],
        passages: &[Passage],
        measured: &[f64],
        embedder: &dyn Embedder,
    ) -> Result<Self, EmbedError> {
        let mut gate = Self::by_words(question, items, passages);
        let held: Vec<HashSet<String>> = passages.iter().map(|p| p.held.clone()).collect();
        let Some(wanted) = Wanted::of(question, &held).filter(|_| !gate.of_file) else {
            return Ok(gate);
        };
        let open = gate.is_open(measured);
        let by_form = gate.seen.iter().any(|seen| seen.raised_from.is_some());
        if open && (!wanted.of_all || by_form || asks_what_it_is_about(question)) {
            return Ok(gate);
        }
        let mut order: Vec<usize> = (0..passages.len())
            .filter(|at| gate.seen[*at].speaks)
            .collect();
        order.sort_by(|a, b| measured[*b].total_cmp(&measured[*a]).then(a.cmp(b)));
        order.truncate(PASSAGES);
        let near = wanted.near(passages, &order, embedder)?;
        if open {
            let whole = |at: usize| order.contains(&at) && passages[at].units.len() <= UNITS;
            let looked_at = measured.iter().enumerate().all(|(at, measured)| {
                whole(at) || !gate.lets_through(at, gate.raised(at, *measured))
            });
            gate.heard = !looked_at || near.iter().any(|near| *near >= DOUBTED_BELOW);
            return Ok(gate);
        }
        let enough = if gate.heard { NEAR_FROM } else { NEAR_UNHEARD };
        let sought = Sought::of(question).filter(|kind| kind.is_plain());
        let named = kind_named(question);
        for at in order {
            let has_kind =
                sought.is_none_or(|kind| passages[at].units.iter().any(|unit| kind.is_in(unit)));
            let is_named =
                named.is_empty() || named.iter().any(|term| holds(&passages[at].held, term));
            if near[at] >= enough && has_kind && is_named {
                gate.seen[at].raised_from = Some(0.0);
                gate.heard = true;
            }
        }
        Ok(gate)
    }

    fn by_words(question: &str, items: &[Evidence], passages: &[Passage]) -> Self {
        let things = named(question);
        let plain: Vec<bool> = passages.iter().map(|p| asks_for(question, p)).collect();
        let supported = supported(question, passages);
        let (asked, sought) = (terms(question), Sought::of(question));
        let chinese = is_chinese(question);
        let date = Sought::is_date(question);
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
                speaks: (things.is_empty() || speaks_of(&things, item, passage))
                    && (!date || passage.units.iter().any(|unit| Sought::Time.is_in(unit))),
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
