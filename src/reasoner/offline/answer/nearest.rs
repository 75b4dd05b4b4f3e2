//! What is said where nothing answers: so much, and where the nearest is.

use std::collections::HashSet;

use crate::domain::{Language, Question};
use crate::text::one_line;

use super::super::evidence::{Passage, Unit, UnitKind};
use super::super::judge::Seen;
use super::found::Found;
use super::frames::Frames;

/// How many places are named.
const NEAREST: usize = 3;
/// What is graded less than this share of the best was not nearly an answer.
const NEAR_TO_BEST: f64 = 0.5;
/// So much is quoted of each, in characters.
const LONGEST_SAID: usize = 140;

/// The nearest place in each of the nearest files by `grades`, with its heading, nearest first.
pub(super) fn nothing(
    question: &Question,
    found: Found<'_>,
    grades: &[f64],
    language: Language,
) -> String {
    let asked: HashSet<&String> = question.terms.iter().collect();
    let places = found.passages.iter().zip(found.seen);
    let units: Vec<Option<usize>> = places
        .map(|(passage, seen)| nearest_unit(&asked, passage, seen))
        .collect();
    let mut order: Vec<usize> = (0..found.items.len()).collect();
    order.sort_by(|a, b| grades[*b].total_cmp(&grades[*a]).then(a.cmp(b)));
    let enough = order.first().map_or(0.0, |at| NEAR_TO_BEST * grades[*at]);
    let mut nearest: Vec<(usize, usize)> = Vec::new();
    for at in order.into_iter().filter(|at| grades[*at] >= enough) {
        let source = |at: usize| &found.items[at].source;
        let known = nearest
            .iter()
            .any(|(known, _)| source(*known) == source(at));
        nearest.extend(units[at].filter(|_| !known).map(|unit| (at, unit)));
    }
    nearest.truncate(NEAREST);
    let frames = Frames::of(language);
    if nearest.is_empty() {
        return frames.nothing.clone();
    }
    let places = nearest.iter().map(|(at, unit)| {
        let item = &found.items[*at];
        let said = said(&found.passages[*at].units[*unit]);
        format!("- {}:{}{said}", item.source, item.location())
    });
    let places: Vec<String> = places.collect();
    format!(
        "{}\n\n{}\n{}",
        frames.nothing,
        frames.nearest,
        places.join("\n")
    )
}

/// The place of the unit of a passage that holds most of these words; nothing where none holds any.
fn nearest_unit(asked: &HashSet<&String>, passage: &Passage, seen: &Seen) -> Option<usize> {
    let holds = |at: &usize| {
        let held = &seen.units[*at].held;
        asked.iter().filter(|term| held.contains(**term)).count()
    };
    let units = (0..passage.units.len()).filter(|at| passage.units[*at].kind != UnitKind::Code);
    let best = units.map(|at| (holds(&at), at));
    let best = best.max_by_key(|(held, at)| (*held, std::cmp::Reverse(*at)));
    best.filter(|(held, _)| *held > 0).map(|(_, at)| at)
}

/// A unit with its heading in front, shortened and in quotation marks.
fn said(unit: &Unit) -> String {
    let heading = match unit.heading.as_str() {
        "" => String::new(),
        heading => format!(" — {}", unmarked(heading)),
    };
    let line: String = unit.text.chars().take(LONGEST_SAID).collect();
    let more = if line.len() < unit.text.len() {
        "…"
    } else {
        ""
    };
    format!("{heading}: “{}{more}”", unmarked(&line))
}

/// A text on one line, without signs that would be taken for the answer's own.
fn unmarked(text: &str) -> String {
    let text = text.replace(['[', ']', '`', '|', '*', '<', '>'], " ");
    one_line(&text, usize::MAX)
}
