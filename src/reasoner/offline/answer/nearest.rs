//! What is said when nothing answers: that nothing does, and what came nearest.

use crate::domain::{Evidence, Language};

use super::frames::Frames;
use super::passage::Passage;
use super::units::Kind;
use super::words::terms;

/// How many sources are named when nothing answers.
pub(super) const NEAREST: usize = 3;
/// What is less relevant than this was not nearly an answer, and neither was what is less than this
/// share as relevant as the best.
const NEAR_FROM: f64 = 0.12;
const NEAR_TO_BEST: f64 = 0.5;

/// So much is quoted of each, in characters.
const LONGEST_SAID: usize = 140;

/// The sentence of a passage that holds most of the question's words, shortened and in quotation
/// marks; empty where none holds any.
fn said(question: &str, passage: &Passage) -> String {
    let asked = terms(question);
    let holds = |at: &usize| {
        let own = &passage.unit_terms[*at];
        asked.iter().filter(|term| own.contains(*term)).count()
    };
    let best = (0..passage.units.len())
        .filter(|at| passage.units[*at].kind != Kind::Code)
        .max_by_key(|at| (holds(at), std::cmp::Reverse(*at)))
        .filter(|at| holds(at) > 0);
    best.map_or(String::new(), |at| {
        let text = passage.units[at].words();
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

/// The answer to a question that nothing answers: the nearest place in each of the nearest files,
/// with its heading, nearest first by the best of `relevances`, `[question][passage]`.
pub(super) fn nothing(
    question: &str,
    items: &[Evidence],
    passages: &[Passage],
    relevances: &[Vec<f64>],
    language: Language,
) -> String {
    let best = |at: usize| relevances.iter().map(|row| row[at]).fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|a, b| best(*b).total_cmp(&best(*a)).then(a.cmp(b)));
    let enough = order.first().map_or(0.0, |at| NEAR_TO_BEST * best(*at));
    order.retain(|at| best(*at) >= enough.max(NEAR_FROM));
    let mut nearest: Vec<usize> = Vec::new();
    for at in order {
        let source = |at: usize| &items[at].source;
        if !nearest.iter().any(|known| source(*known) == source(at)) {
            nearest.push(at);
        }
    }
    nearest.truncate(NEAREST);
    let frames = Frames::of(language);
    let (text, lead) = (&frames.nothing, &frames.nearest);
    if nearest.is_empty() {
        return text.to_owned();
    }
    let places = nearest.iter().map(|at| {
        let item = &items[*at];
        let headings = passages[*at].units.iter();
        let mut headings = headings.map(|unit| unit.heading.as_str());
        let heading = headings.find(|heading| !heading.is_empty());
        let heading = heading.map_or(String::new(), |heading| format!(" — {}", plain(heading)));
        let said = said(question, &passages[*at]);
        format!("- {}:{}{heading}{said}", item.source, item.location())
    });
    let places: Vec<String> = places.collect();
    format!("{text}\n\n{lead}\n{}", places.join("\n"))
}
