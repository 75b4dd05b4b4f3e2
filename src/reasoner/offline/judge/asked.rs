//! What is asked, as the signals look at it.

use std::collections::{HashMap, HashSet};

use crate::domain::Language;
use crate::text::is_cjk;

use super::super::language::terms;
use super::order::Order;
use super::seen::SeenUnit;
use super::weighed::Weighed;
use super::words::{grams, names, written};

/// A question, or a part or reading of one, with what its words weigh among some passages.
#[derive(Debug)]
pub(super) struct Asked {
    /// The order of its words.
    pub(super) order: Order,
    /// Its words.
    pub(super) words: Weighed,
    /// Its words as they are written, small ones too.
    pub(super) written: Weighed,
    /// Three letters in a row of its words, or single characters of scripts without spaces.
    pub(super) grams: HashSet<String>,
    /// Its text without the names of what the passages are all about: "which licence is the tool released
    /// under" is near every sentence about the tool, by its name.
    pub(super) core: String,
}

impl Asked {
    /// Reads `text`. The fewer of the units hold a word, the more it weighs.
    pub(super) fn read<'a>(
        text: &str,
        language: Language,
        units: impl Iterator<Item = &'a SeenUnit>,
    ) -> Self {
        let units: Vec<&SeenUnit> = units.collect();
        let terms = terms(text, language);
        let holding = |of: fn(&SeenUnit) -> &HashSet<String>| {
            let mut holding: HashMap<&str, usize> = HashMap::new();
            for word in units.iter().flat_map(|unit| of(unit)) {
                *holding.entry(word).or_default() += 1;
            }
            move |word: &str| holding.get(word).copied().unwrap_or_default()
        };
        Self {
            order: Order::of(&terms),
            grams: grams(terms.iter()),
            core: text.to_owned(),
            written: Weighed::new(written(text), holding(|unit| &unit.written), units.len()),
            words: Weighed::new(terms.into_iter(), holding(|unit| &unit.held), units.len()),
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
}

/// What this share of the passages holds is what all of them are about, where there are so many.
const EVERYWHERE: f64 = 0.7;
const FEWEST: usize = 4;
