//! Grades for the readings of a question: the whole and its parts are judged each, and the best counts.

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, KEEP_FROM, Question, QuestionKind};

use super::super::evidence::Passage;
use super::super::language::{says_name, spelt_out};
use super::super::question::Reading;
use super::{Judged, Seen, judge};

/// What the grade of a passage is worth to the one behind it.
const CONTINUED: f64 = 0.7;
/// What a grade is worth while a part of the question has no answer.
const PARTLY: f64 = 0.7;

/// What was judged of one reading.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct JudgedReading {
    /// Of the whole, then of each part.
    pub(in super::super) questions: Vec<Judged>,
    /// How likely each item answers any of them, 0–1, in their order.
    pub(in super::super) grades: Vec<f64>,
}

impl JudgedReading {
    /// The best of the grades; 0 where there are none.
    pub(in super::super) fn best(&self) -> f64 {
        self.grades.iter().copied().fold(0.0, f64::max)
    }
}

/// Judges a reading over the items, which were read as `passages` and as `seen`: an item that answers one
/// part is as wanted as one that speaks of all. Blocks while it embeds.
pub(in super::super) fn judge_reading(
    reading: &Reading,
    items: &[Evidence],
    (passages, seen): (&[Passage], &mut [Seen]),
    embedder: &dyn Embedder,
) -> Result<JudgedReading, EmbedError> {
    let mut grades = vec![0.0_f64; items.len()];
    let mut answered = Vec::new();
    let mut questions = Vec::new();
    for (at, question) in reading.questions().enumerate() {
        let judged = judge(
            question,
            &as_named(question, items),
            (passages, seen),
            embedder,
        )?;
        if at > 0 {
            answered.push(judged.answers(0..items.len()) && holds_names(question, items));
        }
        let mut own = judged.grades.clone();
        if question.kind == QuestionKind::List {
            continued(&mut own, items);
        }
        for (grade, other) in grades.iter_mut().zip(own) {
            *grade = grade.max(other);
        }
        questions.push(judged);
    }
    if answered.contains(&true) && answered.contains(&false) {
        // What answers one part only is not enough for the whole; it stays, and the search goes on.
        for grade in &mut grades {
            *grade = (*grade * PARTLY).max(grade.min(KEEP_FROM));
        }
    }
    Ok(JudgedReading { questions, grades })
}

/// What is asked, with those names of code as words that nothing found writes so.
fn as_named(question: &Question, items: &[Evidence]) -> String {
    let mut asked = question.asked.clone();
    for name in &question.literals.identifiers {
        if !items.iter().any(|item| item.text.contains(name.as_str())) {
            asked = asked.replace(name.as_str(), &spelt_out(name));
        }
    }
    asked
}

/// Whether what a question names is named in any of the items: ids as they stand, names of code however their
/// words are joined.
fn holds_names(question: &Question, items: &[Evidence]) -> bool {
    let joined = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let texts: Vec<String> = items
        .iter()
        .map(|item| format!("{} {}", item.source, item.text))
        .collect();
    let (ids, identifiers) = (&question.literals.ids, &question.literals.identifiers);
    let is_said = |id: &String| texts.iter().any(|text| says_name(text, id));
    if identifiers.is_empty() {
        return ids.iter().all(is_said);
    }
    let together: Vec<String> = texts.iter().map(|text| joined(text)).collect();
    let is_joined = |name: &String| together.iter().any(|text| text.contains(&joined(name)));
    ids.iter().all(is_said) && identifiers.iter().all(is_joined)
}

/// A list may go on where the passage ends that announces it: what follows that directly in its file is
/// as wanted, less what is not known of it.
fn continued(grades: &mut [f64], items: &[Evidence]) {
    let own = grades.to_vec();
    for (at, item) in items.iter().enumerate() {
        let announces = items.iter().zip(&own).filter(|(other, _)| {
            let gap = item.lines.start.checked_sub(other.lines.end + 1);
            other.source == item.source && gap.is_some_and(|gap| gap <= 1)
        });
        let best = announces.map(|(_, grade)| *grade).fold(0.0, f64::max);
        grades[at] = grades[at].max(CONTINUED * best);
    }
}
