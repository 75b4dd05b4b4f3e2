//! What is asked, as the signals look at it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::domain::Language;
use crate::text::is_cjk;

use super::super::language::terms;
use super::seen::SeenUnit;
use super::wanted::{Wanted, names, wanted};
use super::words::{grams, written};

/// A question, or a part or reading of one, with what its words weigh among some passages.
#[derive(Debug)]
pub(super) struct Asked {
    /// Its words in order.
    pub(super) terms: Vec<String>,
    /// Each of its words once, with its weight.
    pub(super) weights: BTreeMap<String, f64>,
    /// Its words as they are written, small ones too, with their weights.
    pub(super) written: BTreeMap<String, f64>,
    /// The sum of the weights; 1 where there are none, so that it can be divided by.
    pub(super) total: f64,
    /// The heaviest weight; 1 where there are none.
    pub(super) heaviest: f64,
    /// Three letters in a row of its words, or single characters of scripts without spaces.
    pub(super) grams: HashSet<String>,
    /// Its text without the names of what the passages are all about: "which licence is the tool released
    /// under" is near every sentence about the tool, by its name.
    pub(super) core: String,
    /// The kind of thing that would answer it.
    pub(super) wanted: Option<Wanted>,
}

impl Asked {
    /// Reads `text`. The fewer of the units hold a word, the more it weighs: the inverse document
    /// frequency of Robertson and Spärck Jones (1976), each unit being a document.
    pub(super) fn read<'a>(
        text: &str,
        language: Language,
        units: impl Iterator<Item = &'a SeenUnit>,
    ) -> Self {
        let units: Vec<&SeenUnit> = units.collect();
        let terms = terms(text, language);
        let once: BTreeSet<&String> = terms.iter().collect();
        let weights = weights(
            once.into_iter(),
            |term| units.iter().filter(|unit| unit.held.contains(term)).count(),
            units.len(),
        );
        let words: HashSet<String> = written(text).collect();
        let words = super::asked::weights(
            words.iter(),
            |word| {
                units
                    .iter()
                    .filter(|unit| unit.written.contains(word))
                    .count()
            },
            units.len(),
        );
        let or_one = |value: f64| if value > 0.0 { value } else { 1.0 };
        Self {
            total: or_one(weights.values().sum()),
            heaviest: or_one(weights.values().copied().fold(0.0, f64::max)),
            grams: grams(terms.iter()),
            core: text.to_owned(),
            wanted: wanted(text, language),
            written: words,
            weights,
            terms,
        }
    }

    /// Takes the names out of the core that most of the passages hold, given the words of each.
    pub(super) fn part_core(&mut self, language: Language, held: &[&HashSet<String>]) {
        let capitals = names(&self.core);
        let everywhere = |term: &String| {
            let holding = held.iter().filter(|held| held.contains(term)).count();
            held.len() >= FEWEST && holding as f64 >= EVERYWHERE * held.len() as f64
        };
        let is_cut = |word: &str| {
            let own = terms(word, language);
            let capital = own.iter().any(|term| capitals.contains(term));
            // Every noun of German has a capital.
            let is_name = (capital || word.contains(['-', '_'])) && language != Language::De;
            is_name && !own.is_empty() && own.iter().all(everywhere)
        };
        let letter = |c: char| c.is_alphanumeric() && !is_cjk(c);
        let pieces = self
            .core
            .split_inclusive(|c: char| c.is_whitespace() || is_cjk(c));
        let kept: String = pieces
            .filter(|piece| !is_cut(piece.trim_matches(|c| !letter(c))))
            .collect();
        if !terms(&kept, language).is_empty() {
            self.core = kept;
        }
    }

    /// The share of its words that are `held`, by weight.
    pub(super) fn share(&self, held: impl Fn(&str) -> bool) -> f64 {
        let found = self.weights.iter().filter(|(term, _)| held(term));
        found.map(|(_, weight)| weight).sum::<f64>() / self.total
    }

    /// The weight of the heaviest of its words that are `held`, as a share of the heaviest of all.
    pub(super) fn heaviest(&self, held: impl Fn(&str) -> bool) -> f64 {
        let found = self.weights.iter().filter(|(term, _)| held(term));
        found.map(|(_, weight)| *weight).fold(0.0, f64::max) / self.heaviest
    }
}

/// What this share of the passages holds is what all of them are about, where there are so many.
const EVERYWHERE: f64 = 0.7;
const FEWEST: usize = 4;

/// What a word weighs at least that all units hold.
const FLOOR: f64 = 0.1;

fn weights<'a>(
    terms: impl Iterator<Item = &'a String>,
    holding: impl Fn(&str) -> usize,
    all: usize,
) -> BTreeMap<String, f64> {
    let idf = |count: usize| (1.0 + (all as f64 - count as f64 + 0.5) / (count as f64 + 0.5)).ln();
    terms
        .map(|term| (term.clone(), FLOOR + idf(holding(term))))
        .collect()
}
