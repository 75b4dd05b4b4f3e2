//! Which units of which passages answer one question.
//!
//! Greedy cover: the best unit first, then what brings words of the question that are still
//! missing (maximal marginal relevance, Carbonell and Goldstein 1998, with words for novelty). A
//! question that asks for several things takes the whole list.

use std::collections::HashSet;

use crate::agent::ports::{EmbedError, Embedder};
use crate::text::is_chinese;

use super::fit_to_say::{definition, opening_of, points_elsewhere};
use super::lists::whole_list;
use super::literals::Literals;
use super::relevance::{Passage, Vectors};
use super::sentences::{Kind, Unit};
use super::words::{terms, weights};

/// How many passages are read for one question, and how many units of each by meaning.
const PASSAGES: usize = 6;
const UNITS: usize = 8;
/// A unit with less than this share of the best one's score adds nothing.
const WORTH: f64 = 0.72;
/// Lists longer than this are cut.
pub(super) const LONGEST_LIST: usize = 10;

/// A unit of a passage, both by their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Choice {
    pub(super) item: usize,
    pub(super) unit: usize,
}

/// The units to quote, in reading order; `fit` holds the passages that may be quoted and how
/// relevant they are, `used` what another part of the answer has already quoted.
pub(super) fn choose(
    question: &str,
    passages: &[Passage],
    fit: &[(usize, f64)],
    most: usize,
    used: &[Choice],
    embedder: &dyn Embedder,
) -> Result<Vec<Choice>, EmbedError> {
    let mut fit = fit.to_vec();
    fit.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fit.truncate(PASSAGES);
    let mut scored = scored(question, passages, &fit, embedder)?;
    scored.retain(|candidate| !used.contains(&candidate.choice));
    let tickets = Literals::of(question).tickets;
    let at_home = |candidate: &Scored| passages[candidate.choice.item].is_home_of(&tickets);
    if scored.first().is_some_and(at_home) {
        // The fields of other tickets name this one, but speak of themselves.
        scored.retain(at_home);
    }
    let Some(best) = scored.first() else {
        return Ok(Vec::new());
    };
    let mut chosen = vec![best.choice];
    let mut whole_list = whole_list(question, passages, &fit);
    whole_list.retain(|choice| !used.contains(choice));
    if !whole_list.is_empty() {
        return Ok(whole_list);
    }
    let mut covered = best.terms.clone();
    for candidate in &scored[1..] {
        if chosen.len() == most || candidate.score < WORTH * best.score {
            break;
        }
        let brings = candidate.terms.iter().any(|term| !covered.contains(term));
        let next_to = candidate.choice.item == best.choice.item
            && candidate.choice.unit == best.choice.unit + 1
            && candidate.score >= 0.8 * best.score;
        if brings || next_to {
            covered.extend(candidate.terms.iter().cloned());
            chosen.push(candidate.choice);
        }
    }
    chosen.extend(sequel(&chosen, best, passages));
    let antecedents: Vec<Choice> = chosen
        .iter()
        .filter(|choice| leans_back(&passages[choice.item].units, choice.unit))
        .map(|choice| Choice {
            item: choice.item,
            unit: choice.unit - 1,
        })
        .filter(|choice| !used.contains(choice))
        .collect();
    chosen.extend(antecedents);
    chosen.sort();
    chosen.dedup();
    Ok(chosen)
}

/// The first units of a passage, for a question about the passage itself.
pub(super) fn opening(item: usize, passage: &Passage, most: usize) -> Vec<Choice> {
    (0..passage.units.len().min(most))
        .map(|unit| Choice { item, unit })
        .collect()
}

struct Scored {
    choice: Choice,
    score: f64,
    /// The question's words that it holds.
    terms: HashSet<String>,
}

fn scored(
    question: &str,
    passages: &[Passage],
    fit: &[(usize, f64)],
    embedder: &dyn Embedder,
) -> Result<Vec<Scored>, EmbedError> {
    let asked = terms(question);
    let tickets = Literals::of(question).tickets;
    let mut candidates: Vec<(Scored, &Unit)> = Vec::new();
    let held: Vec<Vec<HashSet<String>>> = fit
        .iter()
        .map(|(at, _)| {
            passages[*at]
                .units
                .iter()
                .map(|unit| terms(&unit.text).into_iter().collect())
                .collect()
        })
        .collect();
    let weights = weights(&asked, &held.concat());
    let all: f64 = asked
        .iter()
        .map(|term| weights[term])
        .sum::<f64>()
        .max(1e-9);
    for ((at, relevance), all_held) in fit.iter().zip(&held) {
        let mut of_passage: Vec<(Scored, &Unit)> = passages[*at]
            .units
            .iter()
            .zip(all_held)
            .enumerate()
            .map(|(unit_at, (unit, held))| {
                let mut heading: HashSet<String> = terms(&unit.heading).into_iter().collect();
                if leans_back(&passages[*at].units, unit_at) {
                    heading.extend(all_held[unit_at - 1].iter().cloned());
                }
                let own: f64 = asked
                    .iter()
                    .map(|term| match (held.contains(term), heading.contains(term)) {
                        (true, _) => weights[term],
                        (false, true) => 0.7 * weights[term],
                        (false, false) => 0.0,
                    })
                    .sum();
                let early = 0.05 / (1.0 + unit_at as f64);
                let foreign = is_chinese(question) != is_chinese(&unit.text)
                    && (is_chinese(&unit.text) || unit.kind == Kind::Sentence);
                let at_home = passages[*at].is_home_of(&tickets);
                let scored = Scored {
                    choice: Choice {
                        item: *at,
                        unit: unit_at,
                    },
                    score: own / all
                        + early
                        + 0.3 * relevance
                        + definition(question, unit)
                        + opening_of(question, &passages[*at], unit_at)
                        - if points_elsewhere(unit) { 0.5 } else { 0.0 }
                        + if at_home { 0.5 } else { 0.0 }
                        - if foreign { 0.8 } else { 0.0 },
                    terms: asked
                        .iter()
                        .filter(|term| held.contains(*term))
                        .cloned()
                        .collect(),
                };
                (scored, unit)
            })
            .collect();
        of_passage.sort_by(|a, b| by_score(&a.0, &b.0));
        of_passage.truncate(UNITS);
        candidates.append(&mut of_passage);
    }
    let mut texts = vec![question];
    texts.extend(candidates.iter().map(|(_, unit)| unit.text.as_str()));
    let vectors = Vectors::of(&texts, embedder)?;
    let meaning = if is_chinese(question) { 0.1 } else { 1.0 };
    let mut scored: Vec<Scored> = candidates
        .into_iter()
        .map(|(mut scored, unit)| {
            scored.score += meaning * vectors.cosine(question, &unit.text);
            scored
        })
        .collect();
    scored.sort_by(by_score);
    Ok(scored)
}

/// Whether a unit begins with a pronoun for what the one before it speaks of.
fn leans_back(units: &[Unit], at: usize) -> bool {
    let unit = &units[at];
    let first = unit.text.split(' ').next().unwrap_or_default();
    let pronoun = [
        "It", "Its", "They", "Their", "This", "These", "That", "Both",
    ]
    .contains(&first)
        || ["它", "其", "这", "该"]
            .iter()
            .any(|word| unit.text.starts_with(word));
    pronoun && unit.kind == Kind::Sentence && at > 0 && units[at - 1].block == unit.block
}

fn by_score(a: &Scored, b: &Scored) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.choice.cmp(&b.choice))
}

/// What a chosen sentence announces with its final colon.
fn sequel(chosen: &[Choice], best: &Scored, passages: &[Passage]) -> Vec<Choice> {
    let units = &passages[best.choice.item].units;
    let announces = units[best.choice.unit].text.ends_with([':', '：']);
    if !announces || chosen.is_empty() {
        return Vec::new();
    }
    units
        .iter()
        .enumerate()
        .skip(best.choice.unit + 1)
        .take_while(|(_, unit)| unit.kind != Kind::Sentence)
        .take(LONGEST_LIST)
        .map(|(unit, _)| Choice {
            item: best.choice.item,
            unit,
        })
        .collect()
}
