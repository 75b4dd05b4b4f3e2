//! Passages as the signals look at them: their words, read once for all questions.

use std::collections::HashSet;

use crate::domain::Language;

use super::super::evidence::{Passage, Unit};
use super::super::language::{language_of, table, terms, tokens};
use super::words::{grams, written};

/// A passage.
#[derive(Debug)]
pub(in super::super) struct Seen {
    pub(in super::super) units: Vec<SeenUnit>,
    /// The words of its title.
    pub(super) title: HashSet<String>,
    /// All of its words, with those of its title, its path and its headings.
    pub(super) held: HashSet<String>,
    /// The cosine of the question's core and the unit nearest to that.
    pub(super) core_cosine: f64,
}

/// One of its units.
#[derive(Debug)]
pub(in super::super) struct SeenUnit {
    /// Its words in order.
    pub(in super::super) terms: Vec<String>,
    pub(in super::super) held: HashSet<String>,
    /// Its words as they are written, in lower case.
    pub(super) written: HashSet<String>,
    pub(in super::super) heading: HashSet<String>,
    /// Its words, with those of its heading and of the title of its passage.
    pub(super) titled: HashSet<String>,
    pub(super) grams: HashSet<String>,
    /// Whether it begins with a word that stands for something said before it.
    pub(in super::super) leans: bool,
    /// The cosine of the question and it, where it is among those that share most with that; else the lowest
    /// of those.
    pub(super) cosine: f64,
}

impl Seen {
    /// Reads a passage; nothing is embedded yet.
    pub(in super::super) fn read(passage: &Passage) -> Self {
        let language = language_of(&passage.text);
        let title: HashSet<String> = terms(title_of(&passage.title), language)
            .into_iter()
            .collect();
        let units: Vec<SeenUnit> = passage
            .units
            .iter()
            .map(|unit| SeenUnit::read(unit, &title, language))
            .collect();
        let path = passage.source.replace(['/', '.'], " ");
        let mut held: HashSet<String> = terms(&path, language).into_iter().collect();
        held.extend(title.iter().cloned());
        held.extend(units.iter().flat_map(|unit| unit.heading.iter().cloned()));
        held.extend(units.iter().flat_map(|unit| unit.terms.iter().cloned()));
        Self {
            units,
            title,
            held,
            core_cosine: 0.0,
        }
    }
}

impl SeenUnit {
    fn read(unit: &Unit, title: &HashSet<String>, language: Language) -> Self {
        let terms_of = |text: &str| terms(text, language);
        let terms = terms_of(&unit.text);
        let heading: HashSet<String> = terms_of(&unit.heading).into_iter().collect();
        let titled = terms.iter().chain(&heading).chain(title);
        Self {
            titled: titled.cloned().collect(),
            held: terms.iter().cloned().collect(),
            written: written(&unit.text).collect(),
            heading,
            grams: grams(terms.iter()),
            leans: table(language).leaning.at(&tokens(&unit.text), 0).is_some(),
            cosine: 0.0,
            terms,
        }
    }
}

/// What a title adds in brackets, as in "Arrow (film)", only tells it from its namesakes.
pub(super) fn title_of(title: &str) -> &str {
    title.split(['(', '（']).next().unwrap_or_default().trim()
}
