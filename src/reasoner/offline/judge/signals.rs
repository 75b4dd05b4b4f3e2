//! What speaks for a block: each signal is a function with a name.
//!
//! Most are between 0 and 1. A relative signal counts once more as its distance to the best block of the question,
//! because a share that is high beside poor blocks may be low beside a good one.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use Scope::{Alone, Relative};
use serde::Deserialize;

use super::super::passage::{Block, BlockKind};
use super::terms::{BlockTerms, PassageTerms, Pool, Query, SearchMeasure};
use crate::domain::{Language, Languages, QuestionKind};

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

// The fitted weights. They are data, made by `assets/judge/fit.py`; its NOTICE says of what and how well they do.

static FITTED: LazyLock<BTreeMap<String, Model>> = LazyLock::new(|| {
    let file = include_str!("../../../../assets/judge/weights.toml");
    let read: BTreeMap<String, WeightsFile> = toml::from_str(file).unwrap_or_default();
    read.into_iter()
        .map(|(language, file)| (language, file.in_order()))
        .collect()
});

/// A logistic model of the signals, and what its chance means.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    bias: f64,
    /// Weights in the order of the signals.
    weights: Vec<f64>,
    calibration: Calibration,
}

/// What the chance of a block means for the passage that holds it and for an answer that quotes it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
pub(super) struct Calibration {
    /// How likely a passage answers.
    pub(super) grade: GradeModel,
    /// How likely an answer is right.
    pub(super) answer: AnswerModel,
    /// The lowest confidence with which an answer is given rather than "not found".
    pub(super) answer_from: f64,
}

/// A logistic model of a passage: by its best block, and by how far it is behind the best of all passages.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GradeModel {
    bias: f64,
    /// The weight of the log-odds of the best block.
    odds: f64,
    terms_to_best: f64,
    nearness_to_best: f64,
}

/// A logistic model of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerModel {
    bias: f64,
    /// The weight of the log-odds of the best block.
    odds: f64,
    /// The weight of how near the nearest block is in meaning.
    nearness: f64,
}

impl AnswerModel {
    pub(super) fn chance(self, best: f64, nearness: f64) -> f64 {
        logistic(self.bias + self.odds * log_odds(best) + self.nearness * nearness)
    }
}

/// A language's part of the file.
#[derive(Deserialize)]
struct WeightsFile {
    bias: f64,
    weights: BTreeMap<String, f64>,
    #[serde(flatten)]
    calibration: Calibration,
}

impl WeightsFile {
    fn in_order(self) -> Model {
        let weight = |name: &String| self.weights.get(name).copied().unwrap_or(0.0);
        Model {
            bias: self.bias,
            weights: signal_names().iter().map(weight).collect(),
            calibration: self.calibration,
        }
    }
}

impl Model {
    /// The model for questions in a language whose tokens are compared by the embedding for these languages.
    pub(super) fn for_question(language: Language, embedding: Languages) -> Self {
        let name = match (embedding, language) {
            (Languages::English, _) => "en",
            (Languages::All, Language::ZH) => "zh",
            (Languages::All, _) => "multilingual",
        };
        let found = FITTED.get(name).or_else(|| FITTED.get("en"));
        found.cloned().unwrap_or_default()
    }

    /// The chance that a block with these signals answers, 0–1.
    pub(super) fn chance(&self, row: &[f64]) -> f64 {
        let sum: f64 = self
            .weights
            .iter()
            .zip(row)
            .map(|(weight, value)| weight * value)
            .sum();
        logistic(self.bias + sum)
    }

    /// How likely a passage answers whose best block has this chance and whose blocks have these signals.
    pub(super) fn grade(&self, best: f64, rows: &[Vec<f64>]) -> f64 {
        let greatest = |name: &str| {
            let at = signal_names().iter().position(|known| known == name);
            let values = rows.iter().filter_map(|row| row.get(at?).copied());
            values.reduce(f64::max).unwrap_or_default()
        };
        let model = self.calibration.grade;
        logistic(
            model.bias
                + model.odds * log_odds(best)
                + model.terms_to_best * greatest("passage_terms_to_best")
                + model.nearness_to_best * greatest("nearness_to_best"),
        )
    }

    pub(super) fn calibration(&self) -> Calibration {
        self.calibration
    }
}

fn logistic(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
}

/// The inverse of [`logistic`], finite also at 0 and 1.
pub(crate) fn log_odds(chance: f64) -> f64 {
    let chance = chance.clamp(1e-6, 1.0 - 1e-6);
    (chance / (1.0 - chance)).ln()
}

#[cfg(test)]
mod model_tests {
    use super::*;

    #[test]
    fn r17_every_weight_is_of_a_signal_and_more_is_never_worse() {
        let file = include_str!("../../../../assets/judge/weights.toml");
        let read: BTreeMap<String, WeightsFile> = toml::from_str(file).unwrap();
        for name in ["en", "zh", "multilingual"] {
            assert!(read.contains_key(name), "{name}");
        }
        for part in read.into_values() {
            for name in part.weights.keys() {
                assert!(signal_names().contains(name), "{name}");
            }
            let model = part.in_order();
            let graded = |best, name: &str, value| {
                let names = signal_names().into_iter();
                let row = names.map(|known| f64::from(u8::from(known == name)) * value);
                model.grade(best, &[row.collect()])
            };
            assert!(graded(0.2, "", 0.0) < graded(0.8, "", 0.0));
            for name in ["passage_terms_to_best", "nearness_to_best"] {
                assert!(graded(0.8, name, -0.2) < graded(0.8, name, 0.0), "{name}");
            }
            assert!(model.grade(0.0, &[]).is_finite());
            let Calibration {
                answer,
                answer_from,
                ..
            } = model.calibration();
            assert!(answer.chance(0.2, 0.5) < answer.chance(0.8, 0.5));
            assert!(answer.chance(0.5, 0.2) < answer.chance(0.5, 0.8));
            assert!(answer.chance(0.0, 1.0).is_finite() && answer.chance(1.0, 1.0).is_finite());
            assert!((0.0..1.0).contains(&answer_from));
        }
    }
}
