//! The parts of a question as questions of their own.

use crate::domain::{Parts, Question};

use super::super::language::table;
use super::read;
use super::sides::aspect;

/// A part of a question, as a question.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reasoner::offline) struct Part {
    pub(in crate::reasoner::offline) question: Question,
    /// What stands above its piece of an answer.
    pub(in crate::reasoner::offline) label: String,
}

/// The parts that a route was planned with; without any, the question is one.
pub(in crate::reasoner::offline) fn parts(question: &Question, planned: &[String]) -> Vec<Part> {
    match (&question.parts, planned) {
        (_, []) => Vec::new(),
        (Parts::Sides { left, right }, _) => {
            let part = |own: &str, other: &str| Part {
                question: read(&side(question, own, other), &[]),
                label: own.to_owned(),
            };
            vec![part(left, right), part(right, left)]
        }
        (Parts::Several { questions }, _) => several(questions),
        (Parts::One, planned) => several(planned),
    }
}

fn several(questions: &[String]) -> Vec<Part> {
    let part = |text: &String| Part {
        question: read(text, &[]),
        label: text
            .trim_end_matches(['?', '？', '.', '。', ' '])
            .to_owned(),
    };
    questions.iter().map(part).collect()
}

/// What a comparison asks of one side: its name, with the words that name neither and do not compare.
fn side(question: &Question, own: &str, other: &str) -> String {
    let without = |text: &str, name: &str| match text.to_lowercase().find(&name.to_lowercase()) {
        Some(at) if text.is_char_boundary(at) && text.is_char_boundary(at + name.len()) => {
            format!("{} {}", &text[..at], &text[at + name.len()..])
        }
        _ => text.to_owned(),
    };
    let rest = without(&without(&question.asked, own), other);
    let forms = &table(question.language).forms;
    match aspect(&rest) {
        Some(aspect) => forms.with_topic(&aspect, own),
        None => forms.about.replace("{}", own),
    }
}
