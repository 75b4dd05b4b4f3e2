//! What the documents say of both sides of a comparison at once.
//!
//! A comparison is parted into a question for each side, and each side gets its own answer. Where a
//! document compares the two itself, that is quoted below them.

use super::choose::Choice;
use super::fit_to_say::{asks_what_it_is, points_elsewhere};
use super::passage::Passage;
use super::relevance::ANSWERS_FROM;
use super::resolve::topic_of;
use super::sentences::Kind;
use super::words::terms;
use crate::text::is_chinese;

/// At most this many sentences.
const MOST: usize = 3;

/// Sentences of a section that is headed with both sides, or that name both themselves, and the
/// label to stand over them; none where `parts` are not the two sides of a comparison.
pub(super) fn of_both(
    parts: &[String],
    passages: &[Passage],
    relevances: &[Vec<f64>],
    used: &[Choice],
) -> Option<(String, Vec<Choice>)> {
    let [a, b] = parts else {
        return None;
    };
    if !asks_what_it_is(a) || !asks_what_it_is(b) {
        return None;
    }
    let chinese = is_chinese(a);
    let (a, b) = (topic_of(a), topic_of(b));
    let sides = [terms(&a), terms(&b)];
    let apart = |one: &[String], other: &[String]| one.iter().any(|term| !other.contains(term));
    if !apart(&sides[0], &sides[1]) || !apart(&sides[1], &sides[0]) {
        return None;
    }
    let holds = |text: &str| {
        let held = terms(text);
        let whole = |side: &Vec<String>| side.iter().all(|term| held.contains(term));
        sides.iter().all(whole)
    };
    let mut found: Vec<(bool, Choice)> = Vec::new();
    for (item, passage) in passages.iter().enumerate() {
        let fits = relevances.iter().any(|row| row[item] >= ANSWERS_FROM);
        for (at, unit) in passage.units.iter().enumerate().filter(|_| fits) {
            let choice = Choice { item, unit: at };
            let headed = holds(&unit.heading);
            if unit.kind == Kind::Sentence
                && is_chinese(&unit.text) == chinese
                && (headed || holds(&unit.text))
                && !points_elsewhere(unit)
                && !used.contains(&choice)
            {
                found.push((!headed, choice));
            }
        }
    }
    found.sort();
    found.truncate(MOST);
    let mut chosen: Vec<Choice> = found.into_iter().map(|(_, choice)| choice).collect();
    chosen.sort();
    let joint = if chinese { "与" } else { "and" };
    (!chosen.is_empty()).then(|| (format!("{a} {joint} {b}"), chosen))
}
