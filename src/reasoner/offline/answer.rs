//! The answer as an extract: what the evidence says of the question, each piece with its source.
//!
//! Nothing is written but frames. Of two readings of a question the better graded one is answered,
//! and the answer says so.

mod both_sides;
mod choose;
mod compose;
mod fit_to_say;
mod frames;
mod gate;
mod heard;
mod kindred;
mod labels;
mod lists;
mod literals;
mod named_files;
mod named_things;
mod near;
mod nearest;
mod overview;
mod passage;
mod quoting;
mod relations;
mod relevance;
mod scoring;
mod script;
mod several;
mod sought;
mod sought_words;
mod source_code;
mod states;
mod supported;
mod titles;
mod topic;
mod topic_zh;
mod units;
mod words;

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, Language, Outcome, Question, QuestionKind, Turn};

use self::compose::Answer;
use self::frames::{Frames, filled};
use self::overview::overview;
use self::passage::Passage;
use self::states::in_state;
use super::evidence;
use super::question::{Reading, read, state_values};

/// The text of the answer to the better graded reading, and whether it is one. `grades` are those of
/// the items for each reading. Blocks while it embeds.
pub(super) fn compose(
    readings: &[(Reading, f64)],
    history: &[Turn],
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<(String, Outcome), EmbedError> {
    let Some((first, _)) = readings.first() else {
        return Ok((String::new(), Outcome::NotFound));
    };
    let mut best = &readings[0];
    for other in &readings[1..] {
        if other.1 > best.1 {
            best = other;
        }
    }
    let question = &best.0.question;
    let chinese = first.question.language == Language::Zh;
    if question.kind == QuestionKind::Overview
        && let Some(text) = overview(items, first.question.language)
    {
        return Ok((text, Outcome::Answered));
    }
    let parts: Vec<String> = best
        .0
        .parts
        .iter()
        .map(|part| part.question.asked.clone())
        .collect();
    let labels: Vec<String> = best.0.parts.iter().map(|part| part.label.clone()).collect();
    if question.kind == QuestionKind::State {
        let read: Vec<evidence::Passage> = items.iter().map(evidence::Passage::read).collect();
        if let Some(text) = in_state(&state_values(question), items, &read) {
            return Ok((text, Outcome::Answered));
        }
    }
    let answer = Answer {
        parts: &parts,
        passages: items.iter().map(Passage::read).collect(),
        items,
        labels: &labels,
        language: first.question.language,
        chinese,
        told: told_before(&first.question, history),
        embedder,
    };
    let (text, outcome) = answer.compose(&question.asked)?;
    if question.text == first.question.text || outcome == Outcome::NotFound {
        return Ok((text, outcome));
    }
    let understood = filled(&Frames::of(question.language).understood, &question.text);
    Ok((format!("{understood}\n\n{text}"), outcome))
}

/// The answer before, where nothing is asked but the reason of what was said: that is not said again.
fn told_before<'a>(question: &Question, history: &'a [Turn]) -> &'a str {
    let only_why = question.kind == QuestionKind::Why && question.terms.is_empty();
    let last = history.last().filter(|_| only_why);
    last.map_or("", |turn| turn.answer.as_str())
}

/// Whether files are asked for, and none is named.
fn asks_for_files(question: &str) -> bool {
    let question = read(question, &[]);
    question.kind == QuestionKind::File && question.literals.paths.is_empty()
}
