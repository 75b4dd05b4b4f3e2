//! The parts of a question as questions of their own.

use super::read;
use crate::domain::{Parts, Question};

/// A part of a question, as a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub question: Question,
    /// The heading of its piece of an answer.
    pub label: String,
}

/// The parts that a route was planned with; without any, the question is one.
pub fn parts(question: &Question, planned: &[String]) -> Vec<Part> {
    let names = match &question.parts {
        Parts::Sides { left, right } => vec![left, right],
        Parts::One | Parts::Several { .. } => planned.iter().collect(),
    };
    let parts = planned.iter().zip(names).map(|(text, name)| Part {
        question: read(text, &[]),
        label: name
            .trim_end_matches(['?', '？', '.', '。', ' '])
            .to_owned(),
    });
    parts.collect()
}
