//! Passages that hold what is asked for by its kind, however little they are like the question.
//!
//! A question and its answer can be worded far apart: "how much did they ask for the roof" and a row
//! with a price. Where one unit, with its heading, holds most of what the question tells and a thing
//! of the kind it asks for, or where a list is announced as what it wants listed, that supports the
//! passage. Alone it is not enough: the measured relevance must not speak against it.

use std::collections::HashSet;

use super::kindred::{holds, in_known_words};
use super::lists::{things_asked_for, whole_list};
use super::passage::Passage;
use super::sought::Sought;
use super::words::{is_weak, terms, weights};

/// The measured relevance below which nothing is supported.
pub(super) const SUPPORTED_FROM: f64 = 0.12;
/// The share of the question's words, by weight, that one unit and its heading must hold.
const HELD_FROM: f64 = 0.5;
/// And this many of them.
const LEAST: usize = 2;

/// Whether each of the passages is supported.
pub(super) fn supported(question: &str, passages: &[Passage]) -> Vec<bool> {
    let sought = Sought::of(question);
    let held: Vec<HashSet<String>> = passages.iter().map(|p| p.held.clone()).collect();
    let asked = match sought {
        Some(Sought::Options) => things_asked_for(question),
        _ => without_parts(terms(&in_known_words(question, &held))),
    };
    let weights = weights(&asked, &held);
    let all: f64 = asked.iter().map(|term| weights[term]).sum();
    let holds_one = |passage: &Passage, sought: Sought| {
        let name = terms(passage.name());
        passage
            .units
            .iter()
            .zip(&passage.unit_terms)
            .any(|(unit, own)| {
                let mut held: HashSet<String> = own.clone();
                held.extend(terms(&unit.heading));
                held.extend(name.iter().cloned());
                let found: Vec<&String> = asked.iter().filter(|term| holds(&held, term)).collect();
                let telling = found.iter().filter(|term| !is_weak(term)).count();
                let share: f64 = found.iter().map(|term| weights[term.as_str()]).sum();
                !asked.is_empty()
                    && share >= HELD_FROM * all
                    && telling >= LEAST.min(asked.len().max(2) - 1)
                    && sought.is_in(unit)
            })
    };
    passages
        .iter()
        .enumerate()
        .map(|(at, passage)| {
            sought.is_some_and(|sought| holds_one(passage, sought))
                || whole_list(question, passages, &[(at, 1.0)])
                    .iter()
                    .any(|choice| choice.item == at)
        })
        .collect()
}

/// An identifier counts once, not once more for each of its parts.
pub(super) fn without_parts(mut asked: Vec<String>) -> Vec<String> {
    let parts: HashSet<String> = asked
        .iter()
        .filter(|term| term.contains(['_', '-']))
        .flat_map(|term| terms(&term.replace(['_', '-'], " ")))
        .collect();
    asked.retain(|term| !parts.contains(term));
    asked
}
