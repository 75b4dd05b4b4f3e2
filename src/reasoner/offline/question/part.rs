//! The parts of a question as questions of their own.

use super::super::language::table;
use super::read;
use super::sides::aspect;
use crate::domain::{Parts, Question};

/// A part of a question, as a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub question: Question,
    /// The heading of its piece of an answer.
    pub label: String,
}

impl Part {
    fn new(text: &str) -> Self {
        Self {
            question: read(text, &[]),
            label: text
                .trim_end_matches(['?', '？', '.', '。', ' '])
                .to_owned(),
        }
    }

    /// What a comparison asks of one side: its name, with the words that name neither and do not compare.
    fn of_side(question: &Question, own: &str, other: &str) -> Self {
        let without = |text: &str, name: &str| {
            let lower = text.to_lowercase();
            let at = lower.find(&name.to_lowercase()).unwrap_or(text.len());
            let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
            format!("{before} {}", rest.get(name.len()..).unwrap_or_default())
        };
        let rest = without(&without(&question.asked, own), other);
        let table = table(question.language);
        let text = match aspect(&rest) {
            Some(aspect) => table.with_topic(&aspect, own),
            None => table.question_about(own),
        };
        Self {
            question: read(&text, &[]),
            label: own.to_owned(),
        }
    }
}

/// The parts that a route was planned with; without any, the question is one.
pub fn parts(question: &Question, planned: &[String]) -> Vec<Part> {
    match &question.parts {
        _ if planned.is_empty() => Vec::new(),
        Parts::Sides { left, right } => vec![
            Part::of_side(question, left, right),
            Part::of_side(question, right, left),
        ],
        Parts::Several { questions } => questions.iter().map(|text| Part::new(text)).collect(),
        Parts::One => planned.iter().map(|text| Part::new(text)).collect(),
    }
}
