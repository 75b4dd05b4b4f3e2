//! What is said where nothing answers: so much, and where the nearest is.

use crate::domain::{Language, Question};

use super::super::evidence::{Passage, UnitKind};
use super::super::language::terms;
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
    let mut order: Vec<usize> = (0..found.items.len()).collect();
    order.sort_by(|a, b| grades[*b].total_cmp(&grades[*a]).then(a.cmp(b)));
    let enough = order.first().map_or(0.0, |at| NEAR_TO_BEST * grades[*at]);
    order.retain(|at| grades[*at] >= enough && !said(question, &found.passages[*at]).is_empty());
    let mut nearest: Vec<usize> = Vec::new();
    for at in order {
        let source = |at: usize| &found.items[at].source;
        if !nearest.iter().any(|known| source(*known) == source(at)) {
            nearest.push(at);
        }
    }
    nearest.truncate(NEAREST);
    let frames = Frames::of(language);
    if nearest.is_empty() {
        return frames.nothing.clone();
    }
    let places = nearest.iter().map(|at| {
        let (item, passage) = (&found.items[*at], &found.passages[*at]);
        let mut headings = passage.units.iter().map(|unit| unit.heading.as_str());
        let heading = headings.find(|heading| !heading.is_empty());
        let heading = heading.map_or(String::new(), |heading| format!(" — {}", plain(heading)));
        let said = said(question, passage);
        format!("- {}:{}{heading}{said}", item.source, item.location())
    });
    let places: Vec<String> = places.collect();
    format!(
        "{}\n\n{}\n{}",
        frames.nothing,
        frames.nearest,
        places.join("\n")
    )
}

/// The unit of a passage that holds most of the question's words, shortened and in quotation marks; empty
/// where none holds any.
fn said(question: &Question, passage: &Passage) -> String {
    let holds = |at: &usize| {
        let own = terms(&passage.units[*at].text, question.language);
        let held = question.terms.iter().filter(|term| own.contains(*term));
        held.count()
    };
    let best = (0..passage.units.len())
        .filter(|at| passage.units[*at].kind != UnitKind::Code)
        .max_by_key(|at| (holds(at), std::cmp::Reverse(*at)))
        .filter(|at| holds(at) > 0);
    best.map_or(String::new(), |at| {
        let text = &passage.units[at].text;
        let line: String = text.chars().take(LONGEST_SAID).collect();
        let more = if line.len() < text.len() { "…" } else { "" };
        format!(": “{}{more}”", plain(&line))
    })
}

/// A text on one line, without signs that would be taken for the answer's own.
fn plain(text: &str) -> String {
    let text = text.replace(['[', ']', '`', '|', '*', '<', '>'], " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
