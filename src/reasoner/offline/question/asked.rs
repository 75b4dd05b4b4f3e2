//! What is looked up, graded and answered for a question: its readings, each with its parts as questions.

use crate::domain::{Parts, Question};

use super::super::language::table;
use super::read;
use super::sides::aspect;

/// One way to understand a question.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reasoner::offline) struct Reading {
    /// The whole.
    pub(in crate::reasoner::offline) question: Question,
    /// What it is made of; none where it is one look-up.
    pub(in crate::reasoner::offline) parts: Vec<Part>,
}

/// A part of a question, as a question.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reasoner::offline) struct Part {
    pub(in crate::reasoner::offline) question: Question,
    /// What its piece of an answer is headed with.
    pub(in crate::reasoner::offline) label: String,
    /// Of a side of a comparison, the name of the other.
    pub(in crate::reasoner::offline) other: Option<String>,
}

impl Reading {
    /// The whole and its parts.
    pub(in crate::reasoner::offline) fn questions(&self) -> impl Iterator<Item = &Question> {
        let parts = self.parts.iter().map(|part| &part.question);
        std::iter::once(&self.question).chain(parts)
    }
}

/// The question as it stands and, where it may lean on the conversation, with its topic. `parted` are the
/// parts that the route was planned with; without any, the question is one.
pub(in crate::reasoner::offline) fn readings(
    question: &Question,
    parted: &[String],
) -> Vec<Reading> {
    let with_topic = question.with_topic.as_ref().map(|text| read(text, &[]));
    let both = std::iter::once(question.clone()).chain(with_topic);
    both.map(|question| {
        let parts = match (&question.parts, parted) {
            (_, []) => Vec::new(),
            (Parts::One, parted) => several(parted),
            (Parts::Sides { left, right }, _) => {
                let side = |own: &str, other: &str| Part {
                    question: read(&side(&question, own, other), &[]),
                    label: own.to_owned(),
                    other: Some(other.to_owned()),
                };
                vec![side(left, right), side(right, left)]
            }
            (Parts::Steps { steps: parts } | Parts::Several { questions: parts }, _) => {
                several(parts)
            }
        };
        Reading { question, parts }
    })
    .collect()
}

fn several(parts: &[String]) -> Vec<Part> {
    let part = |text: &String| Part {
        question: read(text, &[]),
        label: text
            .trim_end_matches(['?', '？', '.', '。', ' '])
            .to_owned(),
        other: None,
    };
    parts.iter().map(part).collect()
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
