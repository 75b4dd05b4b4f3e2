//! How likely a block answers a question.
//!
//! One fitted model over the signals of `signals.rs` is asked for everything: the block to quote is the one with the
//! highest chance, the grade of a passage follows from that of its best block and from the passages beside it, and
//! how sure an answer is follows from the chance of the block it quotes.

mod meaning;
mod model;
mod pool;
mod query;
mod signals;
mod terms;

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Confidence, Question};

pub(super) use model::log_odds;
use model::{Calibration, Model, PassageMeasure};
pub(super) use pool::{Pool, SearchMeasure};
use query::Query;
pub use signals::signal_names;
pub(super) use terms::PassageTerms;

/// What was judged of one question over some passages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judgement {
    /// How likely each block of each passage answers, 0–1.
    pub(super) chances: Vec<Vec<f64>>,
    /// The sentence of each block that says most of it, by its place; `None` of a block without sentences.
    pub(super) sentences: Vec<Vec<Option<usize>>>,
    passages: Vec<PassageMeasure>,
    /// How near the nearest block is in meaning.
    nearest: f64,
    calibration: Calibration,
}

impl Judgement {
    /// How likely each passage answers, 0–1; 0 of a passage that was not looked at.
    pub(super) fn grades(&self) -> Vec<f64> {
        let grade = |passage: &PassageMeasure| {
            if passage.best > 0.0 {
                self.calibration.grade.chance(*passage)
            } else {
                0.0
            }
        };
        self.passages.iter().map(grade).collect()
    }

    /// The confidence from which on an answer is given.
    pub(super) fn answer_from(&self) -> f64 {
        self.calibration.answer_from
    }

    /// How likely an answer is right whose best block has this chance.
    pub(super) fn confidence(&self, best: f64) -> Confidence {
        Confidence::clamped(self.calibration.answer.chance(best, self.nearest))
    }
}

/// What the judge looks at.
struct Measured {
    query: Query,
    promising: Vec<bool>,
    /// How near each block is in meaning.
    nearness: Vec<Vec<f64>>,
    /// The signals of each block.
    rows: Vec<Vec<Vec<f64>>>,
}

/// Measures the blocks of a pool; of more than `most` passages the least promising are not compared in meaning. Blocks
/// while it embeds.
fn look_at(
    question: &Question,
    pool: &Pool<'_>,
    most: usize,
    embedder: &dyn Embedder,
) -> Result<Measured, EmbedError> {
    let query = Query::read(question, pool);
    let promising = promising(&query, pool, most);
    let nearness = meaning::nearness(&query, pool, &promising, embedder)?;
    Ok(Measured {
        rows: signals::rows(&query, pool, &nearness),
        query,
        promising,
        nearness,
    })
}

/// The signals of the blocks of a pool. Blocks while it embeds.
pub(super) fn measure(
    question: &Question,
    pool: &Pool<'_>,
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<Vec<f64>>>, EmbedError> {
    Ok(look_at(question, pool, pool.passages.len(), embedder)?.rows)
}

/// Judges the blocks of a pool; of more than `most` passages the least promising have no chance. Blocks while it
/// embeds.
pub(super) fn judge(
    question: &Question,
    pool: &Pool<'_>,
    most: usize,
    embedder: &dyn Embedder,
) -> Result<Judgement, EmbedError> {
    let Measured {
        query,
        promising,
        nearness,
        rows,
    } = look_at(question, pool, most, embedder)?;
    let model = Model::for_language(question.language);
    let chance =
        |row: &Vec<f64>, is_promising: bool| if is_promising { model.chance(row) } else { 0.0 };
    let passages = rows.iter().zip(promising);
    let chances: Vec<Vec<f64>> = passages
        .map(|(rows, it)| rows.iter().map(|row| chance(row, it)).collect())
        .collect();
    let share = |passage: &PassageTerms| query.words.share(&[&passage.all]);
    let terms: Vec<f64> = pool.terms.iter().map(share).collect();
    let nearest: Vec<f64> = nearness.iter().map(|blocks| greatest(blocks)).collect();
    let (most_terms, nearest_of_all) = (greatest(&terms), greatest(&nearest));
    let measure = |at: usize| PassageMeasure {
        best: greatest(&chances[at]),
        terms_to_best: terms[at] - most_terms,
        nearness_to_best: nearest[at] - nearest_of_all,
    };
    Ok(Judgement {
        passages: (0..chances.len()).map(measure).collect(),
        chances,
        sentences: best_sentences(&query, pool),
        nearest: nearest_of_all,
        calibration: model.calibration(),
    })
}

/// The greatest of some measures, 0 of none.
fn greatest(of: &[f64]) -> f64 {
    of.iter().copied().fold(0.0, f64::max)
}

/// Which of the passages are among the `most` that the search and the words put first.
fn promising(query: &Query, pool: &Pool<'_>, most: usize) -> Vec<bool> {
    let score = |at: usize| query.words.share(&[&pool.terms[at].all]) + pool.found[at].score;
    let scores: Vec<f64> = (0..pool.passages.len()).map(score).collect();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    let mut promising = vec![false; scores.len()];
    for at in order.into_iter().take(most) {
        promising[at] = true;
    }
    promising
}

/// The sentence of each block that shares most words with the question.
fn best_sentences(query: &Query, pool: &Pool<'_>) -> Vec<Vec<Option<usize>>> {
    let of_block = |block| {
        meaning::best_sentences(query, block)
            .first()
            .map(|(at, _)| *at)
    };
    let passages = pool.terms.iter();
    passages
        .map(|passage| passage.blocks.iter().map(of_block).collect())
        .collect()
}
