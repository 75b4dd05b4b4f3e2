//! How likely a block answers a question.
//!
//! One fitted model over the signals of `signals.rs` is asked for everything: the block to quote is the one with the
//! highest chance, the grade of a passage follows from that of its best block and from the passages beside it, and
//! how sure an answer is follows from the chance of the block it quotes.

mod matching;
mod meaning;
mod signals;
mod terms;

use super::passage::Passage;
use super::question::{Part, read};
use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Confidence, Evidence, Languages, LineRange, Question};
pub(super) use signals::log_odds;
pub use signals::signal_names;
use signals::{Model, PoolMeasure};
use terms::{Pool, Query};

/// What was judged of one question over some passages.
#[derive(Debug)]
pub(super) struct Judgement {
    /// How likely each block of each passage answers, 0–1. The blocks of a passage that was not looked at come last,
    /// with 0.
    pub(super) chances: Vec<Vec<f64>>,
    /// How likely each passage answers, 0–1; `None` of a passage that was not looked at.
    pub(super) grades: Vec<Option<f64>>,
    /// The sentence of each block that says most of it, by its place; `None` of a block without sentences.
    pub(super) sentences: Vec<Vec<Option<usize>>>,
    measure: PoolMeasure,
    model: &'static Model,
}

impl Judgement {
    /// Whether a passage is among those that were looked at.
    pub(super) fn looked_at(&self, passage: usize) -> bool {
        self.grades[passage].is_some()
    }

    /// The confidence from which on an answer is given rather than "not found".
    pub(super) fn answers_from(&self) -> f64 {
        self.model.answer.from
    }

    /// How likely an answer is right whose best block has this chance.
    pub(super) fn confidence(&self, best: f64) -> Confidence {
        Confidence::clamped(self.model.answer.chance(best, self.measure))
    }
}

/// Judges the blocks of a pool; of more than `most` passages the least promising are not looked at. Blocks while it
/// embeds.
fn judge(
    question: &Question,
    pool: &Pool,
    most: usize,
    embedder: &dyn Embedder,
) -> Result<Judgement, EmbedError> {
    let measured = MeasuredPool::measure(question, pool, most, embedder)?;
    let model = Model::for_question(question.language, measured.languages);
    let mut chances: Vec<Vec<f64>> = Vec::new();
    let mut grades: Vec<Option<f64>> = Vec::new();
    for (rows, is_promising) in measured.rows.iter().zip(measured.promising) {
        if !is_promising {
            chances.push(vec![0.0; rows.len()]);
            grades.push(None);
            continue;
        }
        let of_blocks: Vec<f64> = rows.iter().map(|row| model.chance(row)).collect();
        let best = of_blocks.iter().copied().reduce(f64::max);
        // What has no block says nothing.
        grades.push(Some(best.map_or(0.0, |best| model.grade(best, rows))));
        chances.push(of_blocks);
    }
    let sentence = |block| meaning::best_sentence(&measured.query, block).map(|(at, _)| at);
    let sentences = pool.terms.iter();
    let sentences = sentences.map(|it| it.blocks.iter().map(sentence).collect());
    Ok(Judgement {
        sentences: sentences.collect(),
        measure: measured.measure,
        chances,
        grades,
        model,
    })
}

/// A pool with all that is measured of it for a question.
struct MeasuredPool {
    query: Query,
    /// Which passages are looked at.
    promising: Vec<bool>,
    /// The signals of each block of each passage.
    rows: Vec<Vec<Vec<f64>>>,
    measure: PoolMeasure,
    /// The languages of the embedding that compared them.
    languages: Languages,
}

impl MeasuredPool {
    /// Measures the blocks; of more than `most` passages the least promising are not embedded. Blocks while it embeds.
    fn measure(
        question: &Question,
        pool: &Pool,
        most: usize,
        embedder: &dyn Embedder,
    ) -> Result<Self, EmbedError> {
        let query = Query::read(question, pool);
        let promising = promising(&query, pool, most);
        let meaning = meaning::compare(&query, pool, &promising, embedder)?;
        let rows = signals::rows(&query, pool, &meaning);
        let greatest = |values: &[Vec<f64>]| values.iter().flatten().copied().reduce(f64::max);
        let nearness = greatest(&meaning.nearness).unwrap_or_default();
        let cosines = pool.found.iter().map(|found| found.cosine);
        // Where no search measured one, the blocks tell as much.
        let cosine = cosines.filter(|cosine| *cosine > 0.0).reduce(f64::max);
        let measure = PoolMeasure {
            nearness,
            matching: greatest(&meaning.matching).unwrap_or_default(),
            held: query.held,
            cosine: cosine.unwrap_or(nearness),
        };
        Ok(Self {
            query,
            promising,
            rows,
            measure,
            languages: meaning.languages,
        })
    }
}

/// Which of the passages are among the `most` that the search and the words put first.
fn promising(query: &Query, pool: &Pool, most: usize) -> Vec<bool> {
    let score = |at: usize| {
        let found = &pool.found[at];
        query.stems.share(&[&pool.terms[at].all]) + found.score + found.meaning_rank
    };
    let scores: Vec<f64> = (0..pool.passages.len()).map(score).collect();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let mut promising = vec![false; scores.len()];
    for at in order.into_iter().take(most) {
        promising[at] = true;
    }
    promising
}

/// Passages that are judged, those that the search and the words put first. The rest cannot matter to an answer of
/// three blocks and would only cost time and pull the average of the grades down.
const MOST_JUDGED_PASSAGES: usize = 8;

/// What is judged of the evidence for a question and each of its parts.
#[derive(Debug)]
pub struct Verdict {
    /// The items as blocks, in their order.
    pub passages: Vec<Passage>,
    pub whole: Judgement,
    pub of_parts: Vec<Judgement>,
}

impl Verdict {
    /// Judges the items for a question and its parts. Blocks while it embeds.
    pub fn reach(
        question: &Question,
        parts: &[Part],
        items: &[Evidence],
        embedder: &dyn Embedder,
    ) -> Result<Self, EmbedError> {
        let pool = Pool::read(items);
        let judge = |question| judge(question, &pool, MOST_JUDGED_PASSAGES, embedder);
        let of_parts: Result<_, EmbedError> = parts.iter().map(|it| judge(&it.question)).collect();
        Ok(Self {
            whole: judge(question)?,
            of_parts: of_parts?,
            passages: pool.passages,
        })
    }

    /// The grade of each item, 0–1: the best that the whole question or a part gives it. `None` of an item that was
    /// looked at for none of them.
    pub fn grades(&self) -> Vec<Option<f64>> {
        let mut grades = self.whole.grades.clone();
        for part in &self.of_parts {
            for (grade, other) in grades.iter_mut().zip(&part.grades) {
                *grade = [*grade, *other].into_iter().flatten().reduce(f64::max);
            }
        }
        grades
    }
}

/// The signals of a block, and the lines that it is: what the weights are fitted on (`benches/judge_signals.rs`).
#[derive(Debug, Clone, PartialEq)]
pub struct Signals {
    /// Its lines in the file, from 1.
    pub lines: LineRange,
    /// Its text below its headings, as the embedding compares it.
    pub text: String,
    /// Values in the order of [`signal_names`].
    pub row: Vec<f64>,
}

/// The signals of each block of each item, and by its name what is measured of all of them together.
pub type MeasuredSignals = (Vec<Vec<Signals>>, [(&'static str, f64); 4]);

/// The signals of each block of each item, for one question. Blocks while it embeds.
pub fn measure_signals(
    question: &str,
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<MeasuredSignals, EmbedError> {
    let pool = Pool::read(items);
    let measured = MeasuredPool::measure(&read(question, &[]), &pool, items.len(), embedder)?;
    let all = pool
        .passages
        .iter()
        .zip(measured.rows)
        .map(|(passage, rows)| {
            let blocks = passage.blocks.iter().zip(rows);
            let signals = blocks.map(|(block, row)| Signals {
                lines: passage.lines_in_file(&block.lines),
                text: meaning::text_below_headings(block),
                row,
            });
            signals.collect()
        });
    let PoolMeasure {
        nearness,
        matching,
        held,
        cosine,
    } = measured.measure;
    let pool = [
        ("nearness", nearness),
        ("matching", matching),
        ("held", held),
        ("cosine", cosine),
    ];
    Ok((all.collect(), pool))
}
