//! What speaks for a block: each signal is a function with a name.
//!
//! Most are between 0 and 1. A relative signal counts once more as its distance to the best block of the question,
//! because a share that is high beside poor blocks may be low beside a good one.

use std::collections::HashSet;

use crate::domain::QuestionKind;

use super::super::passage::{Block, BlockKind};
use super::query::Query;
use super::terms::{BlockTerms, PassageTerms};
use super::terms::{Pool, SearchMeasure};

/// A block with all that is known of it.
struct Candidate<'a> {
    block: &'a Block,
    terms: &'a BlockTerms,
    passage_terms: &'a PassageTerms,
    /// How near it is to the question in meaning.
    nearness: f64,
    /// The words of the block before it in its section.
    before: Option<&'a BlockTerms>,
    /// What the search measured of the passage, less the best of all passages in each.
    found: SearchMeasure,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Alone,
    Relative,
}

use Scope::{Alone, Relative};

type Signal = fn(&Query, &Candidate<'_>) -> f64;

const SIGNALS: &[(&str, Scope, Signal)] = &[
    ("passage_terms", Relative, passage_terms),
    ("named", Alone, heading_match),
    ("written", Alone, as_written),
    ("grams", Relative, grams),
    ("nearness", Relative, nearness),
    ("found", Alone, search_score),
    ("found_cosine", Alone, found_cosine),
    ("before", Alone, previous_block_match),
    ("shows_code", Alone, shows_code),
    ("lists", Alone, lists),
];

/// The names of the signals in the order of a row; relative ones stand once more behind all others.
pub fn signal_names() -> Vec<String> {
    let plain = SIGNALS.iter().map(|(name, ..)| (*name).to_owned());
    let relative = SIGNALS.iter().filter(|(_, scope, _)| *scope == Relative);
    plain
        .chain(relative.map(|(name, ..)| format!("{name}_to_best")))
        .collect()
}

/// A row of signals for each block of each passage.
pub(super) fn rows(query: &Query, pool: &Pool<'_>, nearness: &[Vec<f64>]) -> Vec<Vec<Vec<f64>>> {
    let best = |of: fn(&SearchMeasure) -> f64| pool.found.iter().map(of).fold(0.0, f64::max);
    let best_found = SearchMeasure {
        score: best(|it| it.score),
        cosine: best(|it| it.cosine),
    };
    let mut rows: Vec<Vec<Vec<f64>>> = Vec::with_capacity(pool.passages.len());
    for (at, passage) in pool.passages.iter().enumerate() {
        let found = SearchMeasure {
            score: pool.found[at].score - best_found.score,
            cosine: pool.found[at].cosine - best_found.cosine,
        };
        let of_block = |block: usize| {
            let before = block.checked_sub(1).filter(|before| {
                passage.blocks[*before].headings == passage.blocks[block].headings
            });
            let candidate = Candidate {
                block: &passage.blocks[block],
                terms: &pool.terms[at].blocks[block],
                before: before.map(|before| &pool.terms[at].blocks[before]),
                passage_terms: &pool.terms[at],
                nearness: nearness[at][block],
                found,
            };
            SIGNALS
                .iter()
                .map(|(.., signal)| signal(query, &candidate))
                .collect()
        };
        rows.push((0..passage.blocks.len()).map(of_block).collect());
    }
    for column in (0..SIGNALS.len()).filter(|at| SIGNALS[*at].1 == Relative) {
        let best = rows
            .iter()
            .flatten()
            .map(|row| row[column])
            .fold(f64::NEG_INFINITY, f64::max);
        for row in rows.iter_mut().flatten() {
            row.push(row[column] - best);
        }
    }
    rows
}

/// The share that the whole passage holds with its headings and the names and path of its document.
fn passage_terms(query: &Query, candidate: &Candidate<'_>) -> f64 {
    query.words.share(&[&candidate.passage_terms.all])
}

/// How far the innermost heading, or a name of the document, is exactly what is asked for: their common words as a
/// share of all their words (Jaccard 1901).
fn heading_match(query: &Query, candidate: &Candidate<'_>) -> f64 {
    let names = std::iter::once(&candidate.terms.heading).chain(&candidate.passage_terms.names);
    names
        .map(|name| jaccard(name, &query.subject))
        .fold(0.0, f64::max)
}

fn jaccard(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let common = a.intersection(b).count();
    common as f64 / (a.len() + b.len() - common).max(1) as f64
}

/// The share of the words as they are written, small ones too.
fn as_written(query: &Query, candidate: &Candidate<'_>) -> f64 {
    query.written.share(&[&candidate.terms.written])
}

/// The share of the question's letters, in threes, or Chinese characters.
fn grams(query: &Query, candidate: &Candidate<'_>) -> f64 {
    let common = query.grams.intersection(&candidate.terms.grams).count();
    common as f64 / query.grams.len().max(1) as f64
}

/// How near the block is in meaning.
fn nearness(_: &Query, candidate: &Candidate<'_>) -> f64 {
    candidate.nearness
}

/// The score that the search gave the passage, less the best of all.
fn search_score(_: &Query, candidate: &Candidate<'_>) -> f64 {
    candidate.found.score
}

/// The same of its cosine with the question.
fn found_cosine(_: &Query, candidate: &Candidate<'_>) -> f64 {
    candidate.found.cosine
}

/// The share of the question's words that the block before it in its section holds.
fn previous_block_match(query: &Query, candidate: &Candidate<'_>) -> f64 {
    candidate
        .before
        .map_or(0.0, |before| query.words.share(&[&before.held]))
}

/// Code within its sentences, where a way to do something is asked for.
fn shows_code(query: &Query, candidate: &Candidate<'_>) -> f64 {
    f64::from(query.kind == QuestionKind::How && candidate.block.text.contains('`'))
}

/// A list or table, where several things are asked for.
fn lists(query: &Query, candidate: &Candidate<'_>) -> f64 {
    let lists = matches!(
        candidate.block.kind,
        BlockKind::List | BlockKind::Table | BlockKind::Slide
    );
    f64::from(query.kind == QuestionKind::List && lists)
}
