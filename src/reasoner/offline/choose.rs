//! Which units of which passages answer one question.
//!
//! Greedy cover: the best unit first, then what brings words of the question that are still
//! missing (maximal marginal relevance, Carbonell and Goldstein 1998, with words for novelty). A
//! question that asks for several things takes the whole list.

use std::collections::HashSet;

use crate::agent::ports::{EmbedError, Embedder};
use crate::text::is_chinese;

use super::fit_to_say::{definition, opening_of, points_elsewhere, rest_of_opening};
use super::lists::{asks_for_several, whole_list};
use super::literals::Literals;
use super::named_things::wants_code;
use super::passage::Passage;
use super::relevance::Vectors;
use super::sentences::{Kind, Unit};
use super::words::{terms, weights};

/// How many passages are read for one question, and how many units of each by meaning.
const PASSAGES: usize = 6;
const UNITS: usize = 8;
/// A unit with less than this share of the best one's score adds nothing.
const WORTH: f64 = 0.72;
/// Lists longer than this are cut.
pub(super) const LONGEST_LIST: usize = 40;
/// What a sentence gains that names several things where several are asked for.
const ENUMERATES: f64 = 0.25;
/// What code gains where code is asked for.
const SHOWN: f64 = 0.3;
/// What a unit gains whose section is headed with the question's words.
const HEADED: f64 = 0.15;

/// A unit of a passage, both by their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Choice {
    pub(super) item: usize,
    pub(super) unit: usize,
}

/// What to quote, in reading order.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) units: Vec<Choice>,
    /// Whether they are a list, also where they are sentences of several sections.
    pub(super) is_list: bool,
}

/// What is asked, and how much may be said.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) question: &'a str,
    /// How many units, where they are no list.
    pub(super) most: usize,
    /// In which language they should be.
    pub(super) chinese: bool,
    /// What another part of the answer has quoted.
    pub(super) used: &'a [Choice],
}

/// The units to quote; `fit` holds the passages that may be quoted and how relevant they are.
pub(super) fn choose(
    wish: Wish<'_>,
    passages: &[Passage],
    fit: &[(usize, f64)],
    embedder: &dyn Embedder,
) -> Result<Chosen, EmbedError> {
    let mut fit = fit.to_vec();
    fit.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut units = whole_list(wish.question, passages, &fit);
    units.retain(|choice| !wish.used.contains(choice));
    if !units.is_empty() {
        return Ok(Chosen {
            units,
            is_list: true,
        });
    }
    fit.truncate(PASSAGES);
    let mut scored = scored(&wish, passages, &fit, embedder)?;
    let is_code = |choice: Choice| passages[choice.item].units[choice.unit].kind == Kind::Code;
    if let Some(best) = scored.first()
        && is_code(best.choice)
    {
        // Other code is another answer, also where a part before has quoted this one.
        let best = best.choice;
        scored.retain(|candidate| candidate.choice == best || !is_code(candidate.choice));
    }
    scored.retain(|candidate| !wish.used.contains(&candidate.choice));
    let tickets = Literals::of(wish.question).tickets;
    let at_home = |candidate: &Scored| passages[candidate.choice.item].is_home_of(&tickets);
    if scored.first().is_some_and(at_home) {
        // The fields of other tickets name this one, but speak of themselves.
        scored.retain(at_home);
    }
    let Some(best) = scored.first() else {
        return Ok(Chosen::default());
    };
    let mut units = covering(best, &scored[1..], wish.most);
    let added: Vec<Choice> = units
        .iter()
        .flat_map(|choice| belonging(&wish, *choice, *choice == best.choice, passages))
        .filter(|choice| !wish.used.contains(choice))
        .collect();
    units.extend(added);
    units.sort();
    units.dedup();
    Ok(Chosen {
        units,
        is_list: false,
    })
}

/// The best unit and those that bring words of the question that it lacks.
fn covering(best: &Scored, others: &[Scored], most: usize) -> Vec<Choice> {
    let mut chosen = vec![best.choice];
    let mut covered = best.terms.clone();
    for candidate in others {
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
    chosen
}

/// What a chosen unit is not complete without: what it leans on, announces or entails.
fn belonging(wish: &Wish<'_>, choice: Choice, best: bool, passages: &[Passage]) -> Vec<Choice> {
    let passage = &passages[choice.item];
    let units = &passage.units;
    let at = |unit: usize| Choice {
        item: choice.item,
        unit,
    };
    let mut found = sequel(choice, units);
    if leans_back(units, choice.unit) {
        found.push(at(choice.unit - 1));
    }
    if best && wish.most > 1 {
        let rest = rest_of_opening(wish.question, passage, choice.unit);
        found.extend((1..=rest).map(|more| at(choice.unit + more)));
        if asks_what_follows(wish.question) && runs_on(units, choice.unit) {
            found.push(at(choice.unit + 1));
        }
    }
    found
}

/// Whether the question wants to know what comes of something.
fn asks_what_follows(question: &str) -> bool {
    let line = question.to_lowercase();
    ["what happens", "what if", "what will happen"]
        .iter()
        .any(|cue| line.contains(cue))
        || ["会怎样", "怎么办", "会发生什么", "会如何"]
            .iter()
            .any(|cue| question.contains(cue))
}

/// Whether the next unit is the next sentence of the same paragraph.
fn runs_on(units: &[Unit], at: usize) -> bool {
    units.get(at + 1).is_some_and(|next| {
        next.kind == Kind::Sentence
            && units[at].kind == Kind::Sentence
            && next.block == units[at].block
    })
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
    wish: &Wish<'_>,
    passages: &[Passage],
    fit: &[(usize, f64)],
    embedder: &dyn Embedder,
) -> Result<Vec<Scored>, EmbedError> {
    let question = wish.question;
    let asked = terms(question);
    let several = asks_for_several(question);
    let wanted_code = wants_code(question);
    let tickets = Literals::of(question).tickets;
    let mut candidates: Vec<(Scored, &Unit)> = Vec::new();
    let held: Vec<Vec<HashSet<String>>> = fit
        .iter()
        .map(|(at, _)| {
            passages[*at]
                .units
                .iter()
                .map(|unit| with_identifiers(terms(&unit.text).into_iter().collect(), &asked))
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
                let headed: f64 = asked
                    .iter()
                    .filter(|term| heading.contains(*term))
                    .map(|term| weights[term])
                    .sum();
                if leans_back(&passages[*at].units, unit_at)
                    || replies(&passages[*at].units, unit_at)
                {
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
                let foreign = wish.chinese != is_chinese(&unit.text)
                    && (is_chinese(&unit.text) || unit.kind == Kind::Sentence);
                let shown = wanted_code && unit.kind == Kind::Code;
                let names_several = several && 2.0 * own >= all && enumerates(unit);
                let at_home = passages[*at].is_home_of(&tickets);
                let scored = Scored {
                    choice: Choice {
                        item: *at,
                        unit: unit_at,
                    },
                    score: own / all
                        + early
                        + 0.3 * relevance
                        + HEADED * headed / all
                        + if names_several { ENUMERATES } else { 0.0 }
                        + if shown { SHOWN } else { 0.0 }
                        - if is_question(unit) { 0.5 } else { 0.0 }
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
    // What the embedding knows of Chinese is little more than that it is Chinese.
    let mut texts = Vec::new();
    if !is_chinese(question) {
        texts.push(question);
        texts.extend(candidates.iter().map(|(_, unit)| unit.text.as_str()));
    }
    let vectors = Vectors::of(&texts, embedder)?;
    let mut scored: Vec<Scored> = candidates
        .into_iter()
        .map(|(mut scored, unit)| {
            scored.score += vectors.cosine(question, &unit.text);
            scored
        })
        .collect();
    scored.sort_by(by_score);
    Ok(scored)
}

/// The words held, and the identifiers asked for all of whose parts are held: "path types" are
/// what `path_type` stands for.
fn with_identifiers(mut held: HashSet<String>, asked: &[String]) -> HashSet<String> {
    for term in asked.iter().filter(|term| term.contains('_')) {
        let parts = terms(&term.replace('_', " "));
        if !parts.is_empty() && parts.iter().all(|part| held.contains(part)) {
            held.insert(term.clone());
        }
    }
    held
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

/// A question in a document is what its next sentence answers, and no answer itself.
fn is_question(unit: &Unit) -> bool {
    unit.kind == Kind::Sentence && unit.text.ends_with(['?', '？'])
}

fn replies(units: &[Unit], at: usize) -> bool {
    at > 0 && is_question(&units[at - 1]) && units[at - 1].block == units[at].block
}

/// Whether a sentence names several things: "A, B and C", "A、B 和 C".
fn enumerates(unit: &Unit) -> bool {
    let text = &unit.text;
    let joined = [" and ", " or ", ", and ", ", or "]
        .iter()
        .any(|joint| text.contains(joint));
    unit.kind == Kind::Sentence && (text.contains(", ") && joined || text.contains('、'))
}

/// What a chosen sentence announces with its final colon.
fn sequel(choice: Choice, units: &[Unit]) -> Vec<Choice> {
    let announcing = &units[choice.unit];
    if !announcing.text.ends_with([':', '：']) {
        return Vec::new();
    }
    units
        .iter()
        .enumerate()
        .skip(choice.unit + 1)
        .take_while(|(_, unit)| unit.kind != Kind::Sentence && unit.heading == announcing.heading)
        .take(LONGEST_LIST)
        .map(|(unit, _)| Choice {
            item: choice.item,
            unit,
        })
        .collect()
}
