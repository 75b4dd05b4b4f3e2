//! What the documents say of both sides of a comparison at once.
//!
//! A comparison is parted into a question for each side, and each side gets its own answer. Where a
//! document compares the two itself, that is quoted below them.

use super::choose::Choice;
use super::fit_to_say::{asks_what_it_is, points_elsewhere};
use super::passage::Passage;
use super::topic::topic_of;
use super::units::Kind;
use super::words::{spelt_out, terms};
use crate::text::is_chinese;

/// At most this many sentences.
const MOST: usize = 3;

/// The rows of one table that stand for the sides, to be shown below each other under their head;
/// none where `parts` are not the two sides of a comparison. `fits` says which passages may be
/// quoted.
pub(super) fn rows_of_both(
    parts: &[String],
    passages: &[Passage],
    fits: impl Fn(usize) -> bool,
) -> Option<Vec<Choice>> {
    let [a, b] = sides(parts)?;
    let row_of = |side: &str| {
        let side = terms(&spelt_out(side));
        let mut rows: Vec<(&str, &[String], Choice)> = Vec::new();
        for (item, passage) in passages.iter().enumerate().filter(|(at, _)| fits(*at)) {
            for (unit, quoted) in passage.units.iter().enumerate() {
                let Some(row) = &quoted.row else { continue };
                let key = row.cells.first().map_or("", String::as_str);
                let column = row.columns.first().map_or("", String::as_str);
                // "exit code 1" is the row "1" below "exit code", and the row "code: 1" as well.
                let named = terms(&format!("{column} {} {key}", quoted.heading));
                let key = terms(&spelt_out(key));
                let is_side = !key.is_empty()
                    && key.iter().all(|term| side.contains(term))
                    && side
                        .iter()
                        .all(|term| key.contains(term) || named.contains(term));
                if is_side {
                    rows.push((passage.source(), &row.columns, Choice { item, unit }));
                }
            }
        }
        rows
    };
    let (first, second) = (row_of(&a), row_of(&b));
    first.iter().find_map(|(source, columns, choice)| {
        let other = second
            .iter()
            .find(|other| (other.0, other.1) == (*source, *columns) && other.2 != *choice)?;
        Some(vec![*choice, other.2])
    })
}

/// What the two parts of a comparison are about.
fn sides(parts: &[String]) -> Option<[String; 2]> {
    let [a, b] = parts else {
        return None;
    };
    let both = asks_what_it_is(a) && asks_what_it_is(b);
    both.then(|| [topic_of(a), topic_of(b)])
}

/// Sentences of a section that is headed with both sides, or that name both themselves, and the
/// label to stand over them; none where `parts` are not the two sides of a comparison.
pub(super) fn of_both(
    parts: &[String],
    passages: &[Passage],
    fits: impl Fn(usize) -> bool,
    used: &[Choice],
) -> Option<(String, Vec<Choice>)> {
    let [a, b] = sides(parts)?;
    let chinese = parts.iter().any(|part| is_chinese(part));
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
    for (item, passage) in passages.iter().enumerate().filter(|(at, _)| fits(*at)) {
        for (at, unit) in passage.units.iter().enumerate() {
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
