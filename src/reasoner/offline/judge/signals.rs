//! What speaks for a block: each signal has a name.
//!
//! Most are between 0 and 1. Some count once more as their distance to the best block of the question, because a share
//! that is high beside poor blocks may be low beside a good one; what the search measured counts as its distance alone.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

use super::super::passage::{Block, BlockKind};
use super::meaning::Meaning;
use super::terms::{BlockTerms, PassageTerms, Pool, Query, SearchMeasure};
use crate::domain::{Language, Languages, QuestionKind};

/// A block with all that is known of it.
struct Candidate<'a> {
    block: &'a Block,
    terms: &'a BlockTerms,
    passage_terms: &'a PassageTerms,
    /// How near it is to the question in meaning.
    nearness: f64,
    /// The log-odds that its tokens answer.
    matching: f64,
    /// The words of the block before it in its section.
    block_before: Option<&'a BlockTerms>,
    search: SearchDistance,
    /// Whether its document is a list of changes or a page of a manual of commands.
    is_record: bool,
}

/// What the search measured of a passage, less the best of all passages in each: 0 of the best, below 0 of the others.
struct SearchDistance {
    score: f64,
    cosine: f64,
}

/// Something that speaks for a block.
struct Signal {
    name: &'static str,
    measure: fn(&Query, &Candidate<'_>) -> f64,
    /// Whether it counts once more as its distance to the best block of the question.
    also_to_best: bool,
}

const SIGNALS: [Signal; 12] = [
    // The share that the whole passage holds with its headings and the names and path of its document.
    Signal::also_to_best("passage_terms", |query, it| {
        query.stems.share(&[&it.passage_terms.all])
    }),
    Signal::plain("heading_match", heading_match),
    // The share of the words as they are written, small ones too.
    Signal::plain("raw_words", |query, it| {
        query.raw_words.share(&[&it.terms.raw_words])
    }),
    // The share of the question's letters, in threes, or Chinese characters.
    Signal::also_to_best("grams", |query, it| {
        let common = query.grams.intersection(&it.terms.grams).count();
        common as f64 / query.grams.len().max(1) as f64
    }),
    Signal::also_to_best("nearness", |_, it| it.nearness),
    Signal::also_to_best("matching", |_, it| it.matching),
    Signal::plain("search_score_to_best", |_, it| it.search.score),
    Signal::plain("search_cosine_to_best", |_, it| it.search.cosine),
    Signal::plain("block_before", |query, it| {
        let before = it.block_before;
        before.map_or(0.0, |it| query.stems.share(&[&it.stems]))
    }),
    // Code within its sentences, where a way to do something is asked for.
    Signal::plain("shows_code", |query, it| {
        f64::from(query.kind == QuestionKind::How && it.block.text.contains('`'))
    }),
    // Where several things are asked for.
    Signal::plain("lists", |query, it| {
        use BlockKind::{List, Slide, Table};
        let lists = matches!(it.block.kind, List | Table | Slide);
        f64::from(query.kind == QuestionKind::List && lists)
    }),
    // What a document of releases or a page of a manual of commands says is seldom asked for.
    Signal::plain("explains", |_, it| f64::from(!it.is_record)),
];

impl Signal {
    const fn plain(name: &'static str, measure: fn(&Query, &Candidate<'_>) -> f64) -> Self {
        Self {
            name,
            measure,
            also_to_best: false,
        }
    }

    const fn also_to_best(name: &'static str, measure: fn(&Query, &Candidate<'_>) -> f64) -> Self {
        Self {
            name,
            measure,
            also_to_best: true,
        }
    }
}

/// The names of the signals in the order of a row; behind them all stand the distances to the best block.
pub fn signal_names() -> Vec<String> {
    let plain = SIGNALS.iter().map(|signal| signal.name.to_owned());
    let to_best = SIGNALS.iter().filter(|signal| signal.also_to_best);
    let to_best = to_best.map(|signal| format!("{}_to_best", signal.name));
    plain.chain(to_best).collect()
}

/// A row of signals for each block of each passage.
pub(super) fn rows(query: &Query, pool: &Pool, meaning: &Meaning) -> Vec<Vec<Vec<f64>>> {
    let best = |of: fn(&SearchMeasure) -> f64| pool.found.iter().map(of).fold(0.0, f64::max);
    let (best_score, best_cosine) = (best(|it| it.score), best(|it| it.cosine));
    let mut rows: Vec<Vec<Vec<f64>>> = Vec::with_capacity(pool.passages.len());
    for (at, passage) in pool.passages.iter().enumerate() {
        let (blocks, terms) = (&passage.blocks, &pool.terms[at]);
        let of_block = |block: usize| {
            let before = block.checked_sub(1);
            let before = before.filter(|it| blocks[*it].headings == blocks[block].headings);
            let candidate = Candidate {
                block: &blocks[block],
                terms: &terms.blocks[block],
                block_before: before.map(|before| &terms.blocks[before]),
                passage_terms: terms,
                nearness: meaning.nearness[at][block],
                matching: meaning.matching[at][block],
                search: SearchDistance {
                    score: pool.found[at].score - best_score,
                    cosine: pool.found[at].cosine - best_cosine,
                },
                is_record: is_record(&passage.source),
            };
            let signals = SIGNALS.iter();
            signals
                .map(|signal| (signal.measure)(query, &candidate))
                .collect()
        };
        rows.push((0..blocks.len()).map(of_block).collect());
    }
    for column in (0..SIGNALS.len()).filter(|at| SIGNALS[*at].also_to_best) {
        let values = rows.iter().flatten().map(|row| row[column]);
        let best = values.fold(f64::NEG_INFINITY, f64::max);
        for row in rows.iter_mut().flatten() {
            row.push(row[column] - best);
        }
    }
    rows
}

/// Whether a file records changes, or is a page of a manual of commands.
fn is_record(source: &str) -> bool {
    const RECORDS: [&str; 6] = [
        "changelog",
        "changes",
        "history",
        "releases",
        "release-notes",
        "release_notes",
    ];
    let name = source.rsplit('/').next().unwrap_or_default().to_lowercase();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_page = ending.len() == 1 && ending.starts_with(|c: char| c.is_ascii_digit());
    is_page || RECORDS.iter().any(|record| stem.starts_with(record))
}

/// How far the innermost heading, or a name of the document, is exactly what is asked for: their common words as a
/// share of all their words (Jaccard 1901).
fn heading_match(query: &Query, candidate: &Candidate<'_>) -> f64 {
    let jaccard = |name: &HashSet<String>| {
        let common = name.intersection(&query.subject).count();
        common as f64 / (name.len() + query.subject.len() - common).max(1) as f64
    };
    let names = std::iter::once(&candidate.terms.heading).chain(&candidate.passage_terms.names);
    names.map(jaccard).fold(0.0, f64::max)
}

/// The fitted weights by the language that they are for. They are data, made by `assets/judge/fit.py`; its NOTICE says
/// of what and how well they do.
static FITTED: LazyLock<BTreeMap<String, Model>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../assets/judge/weights.toml")).unwrap_or_default()
});

/// A logistic model of the signals, and what the chance of a block means for the passage that holds it and for an answer
/// that quotes it.
#[derive(Debug, Deserialize)]
#[serde(try_from = "FittedModel")]
pub(super) struct Model {
    bias: f64,
    /// A weight for each signal, in the order of a row; 0 of one that says nothing.
    weights: Vec<f64>,
    grade: GradeModel,
    pub(super) answer: AnswerModel,
}

/// How likely a passage answers: by its best block, and by how far it is behind the best of all passages.
#[derive(Debug)]
struct GradeModel {
    bias: f64,
    /// The weight of the log-odds of the best block.
    odds: f64,
    /// The places in a row of the distances that count, each with its weight.
    to_best: [(usize, f64); 2],
}

/// A [`Model`] as it is written, by the names of the signals.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FittedModel {
    bias: f64,
    weights: BTreeMap<String, f64>,
    grade: FittedGrade,
    answer: AnswerModel,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FittedGrade {
    bias: f64,
    odds: f64,
    terms_to_best: f64,
    nearness_to_best: f64,
}

impl TryFrom<FittedModel> for Model {
    type Error = String;

    fn try_from(fitted: FittedModel) -> Result<Self, String> {
        let names = signal_names();
        let column = |name: &str| {
            let at = names.iter().position(|known| known == name);
            at.ok_or_else(|| format!("'{name}' is no signal"))
        };
        let mut weights = vec![0.0; names.len()];
        for (name, weight) in &fitted.weights {
            weights[column(name)?] = *weight;
        }
        let grade = &fitted.grade;
        Ok(Self {
            bias: fitted.bias,
            weights,
            grade: GradeModel {
                bias: grade.bias,
                odds: grade.odds,
                to_best: [
                    (column("passage_terms_to_best")?, grade.terms_to_best),
                    (column("nearness_to_best")?, grade.nearness_to_best),
                ],
            },
            answer: fitted.answer,
        })
    }
}

/// How likely an answer is right.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerModel {
    /// The chance from which on an answer is given.
    pub(super) from: f64,
    bias: f64,
    /// The weight of the log-odds of the best block.
    odds: f64,
    /// The weights of what is measured of all passages.
    nearness: f64,
    #[serde(default)]
    matching: f64,
    #[serde(default)]
    held: f64,
    #[serde(default)]
    cosine: f64,
}

/// What is measured of all passages of a question together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PoolMeasure {
    /// How near the nearest block is in meaning.
    pub(super) nearness: f64,
    /// The log-odds of the block that matches it best.
    pub(super) matching: f64,
    /// The share of the question's words that any passage holds.
    pub(super) held: f64,
    /// The cosine of the passage nearest in meaning.
    pub(super) cosine: f64,
}

impl AnswerModel {
    pub(super) fn chance(&self, best: f64, pool: PoolMeasure) -> f64 {
        let of_pool = self.nearness * pool.nearness
            + self.matching * pool.matching
            + self.held * pool.held
            + self.cosine * pool.cosine;
        logistic(self.bias + self.odds * log_odds(best) + of_pool)
    }
}

impl Model {
    /// The model for questions in a language whose tokens are compared by the embedding for these languages.
    pub(super) fn for_question(language: Language, embedding: Languages) -> &'static Self {
        &FITTED[match (embedding, language) {
            (Languages::English, _) => "en",
            (Languages::All, Language::ZH) => "zh",
            (Languages::All, _) => "multilingual",
        }]
    }

    /// The chance that a block with these signals answers, 0–1.
    pub(super) fn chance(&self, row: &[f64]) -> f64 {
        let weighed = self.weights.iter().zip(row);
        let weighed = weighed.map(|(weight, value)| weight * value);
        logistic(self.bias + weighed.sum::<f64>())
    }

    /// How likely a passage answers whose best block has this chance and whose blocks have these signals.
    pub(super) fn grade(&self, best: f64, rows: &[Vec<f64>]) -> f64 {
        let mut sum = self.grade.bias + self.grade.odds * log_odds(best);
        for (column, weight) in self.grade.to_best {
            let greatest = rows.iter().map(|row| row[column]).reduce(f64::max);
            sum += weight * greatest.unwrap_or_default();
        }
        logistic(sum)
    }
}

fn logistic(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
}

/// The inverse of [`logistic`], finite also at 0 and 1.
pub fn log_odds(chance: f64) -> f64 {
    let chance = chance.clamp(1e-6, 1.0 - 1e-6);
    (chance / (1.0 - chance)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_every_weight_is_of_a_signal_and_more_is_never_worse() {
        for name in ["en", "zh", "multilingual"] {
            assert!(FITTED.contains_key(name), "{name}");
        }
        for model in FITTED.values() {
            assert_eq!(model.weights.len(), signal_names().len());
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
            let answer = &model.answer;
            let pool = |near| PoolMeasure {
                nearness: near,
                matching: near,
                ..PoolMeasure::default()
            };
            assert!(answer.chance(0.2, pool(0.5)) < answer.chance(0.8, pool(0.5)));
            assert!(answer.chance(0.5, pool(0.2)) < answer.chance(0.5, pool(0.8)));
            assert!(answer.chance(0.0, pool(1.0)).is_finite());
            assert!(answer.chance(1.0, pool(1.0)).is_finite());
        }
    }

    #[test]
    fn r17_a_weight_of_no_signal_is_an_error() {
        let text = include_str!("../../../../assets/judge/weights.toml");
        let read = |text: &str| toml::from_str::<BTreeMap<String, Model>>(text);
        assert!(read(text).is_ok());
        let error = read(&text.replace("heading_match", "named")).unwrap_err();
        assert!(
            error.to_string().contains("'named' is no signal"),
            "{error}"
        );
    }
}
