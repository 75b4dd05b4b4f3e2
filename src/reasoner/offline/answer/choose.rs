//! Which units of which passages answer one question.
//!
//! The best unit alone where it is plainly the best; otherwise also those near behind it and the
//! rest of its paragraph, because the answer is in one of the best three far more often than in the
//! very best. A question that asks for several things takes the whole list.

use std::collections::HashSet;

use crate::agent::ports::{EmbedError, Embedder};

use super::fit_to_say::{asks_what_it_is, is_field, points_elsewhere};
use super::lists::whole_list;
use super::literals::Literals;
use super::named_things::wishes_for_code;
use super::passage::Passage;
use super::scoring::{Scored, leans_back, scored};
use super::sought::Sought;
use super::units::{Kind, Unit};
use super::words::terms;

/// How many passages are read for one question.
const PASSAGES: usize = 6;
/// A unit that scores lower by more than this adds nothing to the best.
const NEAR: f64 = 0.4;
/// A unit that holds this share of the question's words and is ahead by this much is the answer.
const HOLDS_ALL: f64 = 0.8;
const AHEAD: f64 = 0.3;
/// What is quoted of one paragraph is at most this long, in characters.
const LONGEST_PARAGRAPH: usize = 420;
/// Lists longer than this are cut.
pub(super) const LONGEST_LIST: usize = 40;
/// At most this many steps are told.
const STEPS: usize = 12;

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
    pub(super) sides: &'a Sides,
    /// The answer before, where its reason is asked for; empty otherwise.
    pub(super) told: &'a str,
}

/// What tells the parts of a question apart, as the two sides of a comparison.
#[derive(Debug, Default)]
pub(super) struct Sides {
    /// Words that only this part has.
    own: Vec<String>,
    /// Words of the others that it has not.
    others: Vec<String>,
}

impl Sides {
    /// Of one of the parts.
    pub(super) fn of(part: &str, parts: &[String]) -> Self {
        let here = terms(part);
        let there: Vec<String> = parts
            .iter()
            .filter(|other| *other != part)
            .flat_map(|other| terms(other))
            .collect();
        let without = |of: &[String], those: &[String]| -> Vec<String> {
            let left = of.iter().filter(|term| !those.contains(term));
            left.cloned().collect()
        };
        Self {
            own: without(&here, &there),
            others: without(&there, &here),
        }
    }

    /// Whether the words speak of another side and not of this one.
    pub(super) fn is_of_another(&self, held: &HashSet<String>) -> bool {
        let speaks = |of: &[String]| of.iter().any(|term| held.contains(term));
        !self.own.is_empty() && speaks(&self.others) && !speaks(&self.own)
    }
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
    let steps = steps(wish.question, best.choice, passages);
    if steps.len() > 1 && steps.iter().all(|choice| !wish.used.contains(choice)) {
        return Ok(Chosen {
            units: steps,
            is_list: false,
        });
    }
    let mut units = nearest(best, &scored[1..], wish.most, passages);
    // What something is takes more than the first sentence that says "X is".
    let alone = is_plainly_best(best, &scored[1..]) && !asks_what_it_is(wish.question);
    let rest = if alone {
        Vec::new()
    } else {
        rest_of_paragraph(best.choice, wish.most, passages)
    };
    let added: Vec<Choice> = units
        .iter()
        .flat_map(|choice| belonging(&wish, *choice, *choice == best.choice, passages))
        .chain(
            rest.iter()
                .flat_map(|choice| with_sequel(*choice, passages)),
        )
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

/// Whether the best unit holds what is asked and no other comes near.
fn is_plainly_best(best: &Scored, others: &[Scored]) -> bool {
    let ahead = others
        .first()
        .is_none_or(|next| best.score - next.score >= AHEAD);
    ahead && best.share >= HOLDS_ALL && !best.lacks
}

/// The best unit and, unless it is plainly the best, those near behind it; no text twice, and no
/// bare fields.
fn nearest(best: &Scored, others: &[Scored], most: usize, passages: &[Passage]) -> Vec<Choice> {
    let mut chosen = vec![best.choice];
    if is_plainly_best(best, others) {
        return chosen;
    }
    let unit = |choice: Choice| &passages[choice.item].units[choice.unit];
    for other in others {
        if chosen.len() == most || best.score - other.score > NEAR {
            break;
        }
        let said = |choice: &Choice| unit(*choice).text == unit(other.choice).text;
        let bare =
            is_field(unit(other.choice)) && !is_field(unit(best.choice)) && other.share == 0.0;
        if !bare && !chosen.iter().any(said) {
            chosen.push(other.choice);
        }
    }
    chosen
}

/// The sentences that follow in the paragraph, then those before, up to `most` with the first.
fn rest_of_paragraph(first: Choice, most: usize, passages: &[Passage]) -> Vec<Choice> {
    let units = &passages[first.item].units;
    let one = &units[first.unit];
    let mut length = one.text.chars().count();
    let mut belongs = |unit: &Unit| {
        let with = length + unit.text.chars().count();
        let belongs = unit.kind == Kind::Sentence
            && one.kind == Kind::Sentence
            && unit.block == one.block
            && with <= LONGEST_PARAGRAPH
            && !points_elsewhere(unit);
        if belongs {
            length = with;
        }
        belongs
    };
    let after = (first.unit + 1..units.len()).take_while(|at| belongs(&units[*at]));
    let mut rest: Vec<usize> = after.take(most.saturating_sub(1)).collect();
    let left = most.saturating_sub(1 + rest.len());
    let before = (0..first.unit).rev().take_while(|at| belongs(&units[*at]));
    rest.extend(before.take(left));
    let choice = |unit| Choice {
        item: first.item,
        unit,
    };
    rest.into_iter().map(choice).collect()
}

/// All steps of what is done in steps, with the code between them, where one of them is chosen and
/// the question asks how.
fn steps(question: &str, chosen: Choice, passages: &[Passage]) -> Vec<Choice> {
    let units = &passages[chosen.item].units;
    let one = &units[chosen.unit];
    if Sought::of(question) != Some(Sought::Way) || one.number.is_none() {
        return Vec::new();
    }
    let belongs = |unit: &Unit| {
        unit.heading == one.heading && (unit.number.is_some() || unit.kind == Kind::Code)
    };
    let before = units[..chosen.unit]
        .iter()
        .rev()
        .take_while(|unit| belongs(unit))
        .count();
    let run = units[chosen.unit - before..]
        .iter()
        .take_while(|unit| belongs(unit))
        .count();
    // Of very many, those up to the one that was chosen.
    let first = (chosen.unit - before).max((chosen.unit + 1).saturating_sub(STEPS));
    let end = chosen.unit - before + run;
    (first..end.min(first + STEPS))
        .map(|unit| Choice {
            item: chosen.item,
            unit,
        })
        .collect()
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
    if best && wishes_for_code(wish.question) {
        // An example stands below what it is one of.
        let one = &units[choice.unit];
        let below = (choice.unit + 1..units.len())
            .take_while(|unit| units[*unit].heading == one.heading)
            .find(|unit| units[*unit].kind == Kind::Code);
        found.extend(below.filter(|_| one.kind == Kind::Sentence).map(at));
    }
    let first = best && wish.most > 1;
    if first && asks_what_follows(wish.question) && runs_on(units, choice.unit) {
        found.push(at(choice.unit + 1));
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

fn with_sequel(choice: Choice, passages: &[Passage]) -> Vec<Choice> {
    let mut found = vec![choice];
    found.extend(sequel(choice, &passages[choice.item].units));
    found
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
