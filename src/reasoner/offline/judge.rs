//! How likely a block answers a question.
//!
//! One fitted model over the signals of `signals.rs` is asked for everything: the block to quote is the one with the
//! highest chance, the grade of a passage follows from that of its best block and from the passages beside it, and
//! how sure an answer is follows from the chance of the block it quotes.

mod meaning;
mod signals;
mod terms;

use super::passage::Passage;
use super::question::{Part, read};
use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Confidence, Evidence, LineRange, Question};
pub(super) use signals::log_odds;
pub use signals::signal_names;
use signals::{Calibration, Model};
use terms::Query;
pub(super) use terms::{PassageTerms, Pool, SearchMeasure};

/// What was judged of one question over some passages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judgement {
    /// The signals of each block of each passage.
    pub(super) rows: Vec<Vec<Vec<f64>>>,
    /// How likely each block of each passage answers, 0–1.
    pub(super) chances: Vec<Vec<f64>>,
    /// How likely each passage answers, 0–1; 0 of a passage that was not looked at.
    pub(super) grades: Vec<f64>,
    /// The sentence of each block that says most of it, by its place; `None` of a block without sentences.
    pub(super) sentences: Vec<Vec<Option<usize>>>,
    /// How near the nearest block is in meaning.
    nearest: f64,
    calibration: Calibration,
}

impl Judgement {
    /// The confidence from which on an answer is given.
    pub(super) fn answer_from(&self) -> f64 {
        self.calibration.answer_from
    }

    /// How likely an answer is right whose best block has this chance.
    pub(super) fn confidence(&self, best: f64) -> Confidence {
        Confidence::clamped(self.calibration.answer.chance(best, self.nearest))
    }
}

/// Judges the blocks of a pool; of more than `most` passages the least promising have no chance. Blocks while it
/// embeds.
pub(super) fn judge(
    question: &Question,
    pool: &Pool<'_>,
    most: usize,
    embedder: &dyn Embedder,
) -> Result<Judgement, EmbedError> {
    let query = Query::read(question, pool);
    let promising = promising(&query, pool, most);
    let nearness = meaning::nearness(&query, pool, &promising, embedder)?;
    let rows = signals::rows(&query, pool, &nearness.of_blocks);
    let model = Model::for_question(question.language, nearness.languages);
    let mut chances: Vec<Vec<f64>> = Vec::new();
    let mut grades: Vec<f64> = Vec::new();
    for (rows, is_promising) in rows.iter().zip(promising) {
        let chance = |row: &Vec<f64>| if is_promising { model.chance(row) } else { 0.0 };
        let of_blocks: Vec<f64> = rows.iter().map(chance).collect();
        let best = of_blocks.iter().copied().fold(0.0, f64::max);
        grades.push(if best > 0.0 {
            model.grade(best, rows)
        } else {
            0.0
        });
        chances.push(of_blocks);
    }
    let sentence = |block| meaning::best_sentence(&query, block).map(|(at, _)| at);
    let sentences = pool.terms.iter();
    let sentences = sentences.map(|it| it.blocks.iter().map(sentence).collect());
    let nearest = nearness.of_blocks.into_iter().flatten();
    Ok(Judgement {
        rows,
        chances,
        grades,
        sentences: sentences.collect(),
        nearest: nearest.reduce(f64::max).unwrap_or_default(),
        calibration: model.calibration(),
    })
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

// What is judged of the evidence for a question and each of its parts.

/// Passages that are judged, those that the search and the words put first. The rest cannot matter to an answer of
/// three blocks and would only cost time and pull the average of the grades down.
const MOST_JUDGED: usize = 8;

/// The judgements of a question.
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
        let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
        let pool = Pool {
            terms: PassageTerms::read_all(&passages),
            found: items.iter().map(SearchMeasure::from_evidence).collect(),
            passages: &passages,
        };
        let whole = judge(question, &pool, MOST_JUDGED, embedder)?;
        let of_parts = parts
            .iter()
            .map(|part| judge(&part.question, &pool, MOST_JUDGED, embedder));
        let of_parts = of_parts.collect::<Result<Vec<Judgement>, EmbedError>>()?;
        Ok(Self {
            passages,
            whole,
            of_parts,
        })
    }

    /// The grade of each item, 0–1: the best that the whole question or a part gives it.
    pub fn grades(&self) -> Vec<f64> {
        let mut grades = self.whole.grades.clone();
        for part in &self.of_parts {
            for (grade, other) in grades.iter_mut().zip(&part.grades) {
                *grade = grade.max(*other);
            }
        }
        grades
    }
}

// The signals that the judge looks at, as numbers: what its weights are fitted on (`benches/judge_signals.rs`).

/// The signals of a block, and the lines that it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Signals {
    /// Its lines in the file, from 1.
    pub lines: LineRange,
    /// Values in the order of [`super::signal_names`].
    pub row: Vec<f64>,
}

/// The signals of each block of each item, for one question. Blocks while it embeds.
pub fn measure_signals(
    question: &str,
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<Signals>>, EmbedError> {
    let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
    let pool = Pool {
        terms: PassageTerms::read_all(&passages),
        found: items.iter().map(SearchMeasure::from_evidence).collect(),
        passages: &passages,
    };
    let judged = judge(&read(question, &[]), &pool, passages.len(), embedder)?;
    let all = passages.iter().zip(judged.rows).map(|(passage, rows)| {
        let blocks = passage.blocks.iter().zip(rows);
        let signals = blocks.map(|(block, row)| Signals {
            lines: LineRange {
                start: passage.start + block.lines.start,
                end: passage.start + block.lines.end - 1,
            },
            row,
        });
        signals.collect()
    });
    Ok(all.collect())
}
