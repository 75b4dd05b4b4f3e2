//! What is judged of the evidence for a question and each of its parts.

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, Question};

use super::judge::{Judgement, PassageTerms, Pool, SearchMeasure, judge};
use super::passage::Passage;
use super::question::Part;

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
