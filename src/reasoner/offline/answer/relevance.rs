//! How well a passage answers a question, as a number that means the same everywhere.
//!
//! Word and meaning overlap go through a logistic map. The features are absolute: a measure
//! relative to the other passages would call the best of them right even when the knowledge base
//! holds nothing.

use std::collections::{HashMap, HashSet};

use crate::agent::ports::{EmbedError, Embedder};
use crate::text::is_chinese;

use super::kindred::{holds, in_known_words};
use super::literals::Literals;
use super::passage::Passage;
use super::words::{characters, is_weak, spelt_out, terms, weights};

/// From this relevance on a passage may be quoted as an answer; set by hand between golden questions
/// that have an answer and those that have none but are heard ([`super::heard`]).
pub(super) const ANSWERS_FROM: f64 = 0.36;
/// From this relevance on a Chinese passage may be quoted for a Chinese question, with a word of
/// caution, unless it lacks the kind of thing that is asked for: the embedding, which counts most
/// elsewhere, says nothing of these. Set by hand on questions over four bases; in English such a
/// band let through as many wrong answers as right ones.
pub(super) const MAY_ANSWER_FROM: f64 = 0.16;
/// What it is worth to hold the words of an identifier rather than the identifier itself.
const SPELT: f64 = 0.9;

/// What speaks for one passage as the answer to one question.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Features {
    /// Share of the question's words in the passage, its headings and path, by weight.
    pub(super) coverage: f64,
    /// The same for the one sentence that holds most.
    pub(super) sentence_coverage: f64,
    /// Share of the question's neighbouring words that are near each other in the passage too; of a
    /// lone word, whether the passage holds it.
    pub(super) pairs: f64,
    /// Cosine of question and passage.
    pub(super) meaning: f64,
    /// Cosine of question and the best of a few sentences.
    pub(super) sentence_meaning: f64,
    /// Share of the question's words in path and headings, by weight.
    pub(super) heading: f64,
    /// Share of a Chinese question's characters in the one sentence that holds most, by weight.
    pub(super) characters: f64,
    /// Whether the question names the passage's title, 0 or 1.
    pub(super) titled: f64,
    /// How relevant, by all of the above, the best of those passages is that name this one's title.
    pub(super) linked: f64,
}

/// The names of what is looked at, in the order of their values.
pub const FEATURES: [&str; 9] = [
    "coverage",
    "sentence_coverage",
    "pairs",
    "meaning",
    "sentence_meaning",
    "heading",
    "characters",
    "titled",
    "linked",
];

/// What each counts, after what nothing counts; see `assets/grading/NOTICE` for data and figures.
#[rustfmt::skip]
const ENGLISH: (f64, [f64; FEATURES.len()]) =
    (-3.79, [0.54, 1.21, 0.89, 3.48, 1.57, 0.00, 0.00, 1.31, 1.57]);
/// The last two are the English ones: no Chinese collection has titles.
#[rustfmt::skip]
const CHINESE: (f64, [f64; FEATURES.len()]) =
    (-4.69, [0.00, 0.00, 2.07, 5.59, 2.32, 0.05, 0.52, 1.31, 1.57]);

impl Features {
    /// The numbers alone, in the order of [`FEATURES`].
    pub(super) fn values(&self) -> [f64; FEATURES.len()] {
        [
            self.coverage,
            self.sentence_coverage,
            self.pairs,
            self.meaning,
            self.sentence_meaning,
            self.heading,
            self.characters,
            self.titled,
            self.linked,
        ]
    }
}

/// The features of each passage for each question, `[question][passage]`.
pub(super) fn features(
    questions: &[String],
    passages: &[Passage],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<Features>>, EmbedError> {
    let asked: Vec<Vec<String>> = questions.iter().map(|question| terms(question)).collect();
    let chosen: Vec<Vec<usize>> = passages.iter().map(|p| p.best_units(&asked)).collect();
    // The embedding does not know identifiers, but it knows the words they are made of.
    let spelt: Vec<String> = questions
        .iter()
        .map(|question| in_words(question))
        .collect();
    let mut texts: Vec<&str> = questions.iter().chain(&spelt).map(String::as_str).collect();
    for (passage, chosen) in passages.iter().zip(&chosen) {
        texts.push(&passage.excerpt);
        texts.extend(chosen.iter().map(|at| passage.units[*at].text.as_str()));
    }
    let vectors = Vectors::of(&texts, embedder)?;
    let held: Vec<HashSet<String>> = passages.iter().map(|p| p.held.clone()).collect();
    let named_by = named_by(passages);
    Ok(questions
        .iter()
        .zip(&spelt)
        .map(|(question, spelt)| {
            let meaning = |text: &str| {
                vectors
                    .cosine(question, text)
                    .max(vectors.cosine(spelt, text))
            };
            let wordings = Wording::all(question, spelt, &held);
            let best = |measure: &dyn Fn(&Wording) -> f64| {
                let worths = wordings.iter().map(|w| w.worth * measure(w));
                worths.fold(0.0, f64::max)
            };
            let characters = best_characters(question, passages);
            let row = passages.iter().zip(&chosen).zip(characters).map(
                |((passage, chosen), characters)| Features {
                    coverage: best(&|w| w.share(&passage.held)),
                    sentence_coverage: best(&|w| {
                        let units = passage.unit_terms.iter();
                        units.map(|unit| w.share(unit)).fold(0.0, f64::max)
                    }),
                    pairs: best(&|w| near_pairs(&w.terms, &passage.ordered)),
                    meaning: meaning(&passage.excerpt),
                    sentence_meaning: chosen
                        .iter()
                        .map(|at| meaning(&passage.units[*at].text))
                        .fold(0.0, f64::max),
                    heading: best(&|w| w.share(&passage.heading)),
                    characters,
                    titled: best(&|w| f64::from(u8::from(passage.title.is_asked_for(&w.terms)))),
                    linked: 0.0,
                },
            );
            linked(question, row.collect(), &named_by)
        })
        .collect())
}

/// A question's words, its identifiers as they stand or spelt out: `maxItems` is `MAX_ITEMS` too.
struct Wording {
    terms: Vec<String>,
    weights: HashMap<String, f64>,
    worth: f64,
    /// Whether a kindred word counts too.
    loose: bool,
}

impl Wording {
    fn all(question: &str, spelt: &str, held: &[HashSet<String>]) -> Vec<Self> {
        let wording = |text: &str, worth, loose| {
            let terms = terms(text);
            Self {
                weights: weights(&terms, held),
                terms,
                worth,
                loose,
            }
        };
        let mut all = vec![
            wording(question, 1.0, false),
            wording(question, SPELT, true),
        ];
        if spelt != question {
            all.push(wording(spelt, SPELT, true));
        }
        let known = in_known_words(question, held);
        if known != question {
            all.push(wording(&known, SPELT, false));
        }
        all
    }

    /// The share of its words that are held, by weight.
    fn share(&self, held: &HashSet<String>) -> f64 {
        share(&self.weights, |term| {
            held.contains(term) || self.loose && holds(held, term)
        })
    }
}

/// For each passage the places of the others that name its title.
pub(super) fn named_by(passages: &[Passage]) -> Vec<Vec<usize>> {
    let names = |at: usize, passage: &Passage| {
        let others = passages.iter().enumerate();
        let others = others.filter(|(other, by)| *other != at && passage.is_named_by(by));
        others.map(|(other, _)| other).collect()
    };
    let passages = passages.iter().enumerate();
    passages.map(|(at, passage)| names(at, passage)).collect()
}

/// The row with its links: each counts as much as the passage it comes from is relevant by itself.
fn linked(question: &str, mut row: Vec<Features>, named_by: &[Vec<usize>]) -> Vec<Features> {
    let alone: Vec<f64> = row.iter().map(|f| relevance(question, f)).collect();
    for (features, by) in row.iter_mut().zip(named_by) {
        features.linked = by.iter().map(|at| alone[*at]).fold(0.0, f64::max);
    }
    row
}

/// The logistic map.
pub(super) fn relevance(question: &str, f: &Features) -> f64 {
    let (bias, weights) = if is_chinese(question) {
        &CHINESE
    } else {
        &ENGLISH
    };
    let z = weights.iter().zip(f.values()).map(|(w, x)| w * x);
    1.0 / (1.0 + (-(bias + z.sum::<f64>())).exp())
}

/// The text with its identifiers spelt out: "What is maxItems?" is "What is max items?".
pub(super) fn in_words(question: &str) -> String {
    let mut words = question.to_owned();
    for name in Literals::of(question).identifiers {
        words = words.replace(&name, &spelt_out(&name));
    }
    words
}

/// Vectors by text, each text embedded once.
pub(super) struct Vectors<'a>(HashMap<&'a str, Vec<f32>>);

impl<'a> Vectors<'a> {
    /// Embeds the texts; blocks.
    pub(super) fn of(texts: &[&'a str], embedder: &dyn Embedder) -> Result<Self, EmbedError> {
        let mut seen = HashSet::new();
        let texts: Vec<&str> = texts
            .iter()
            .copied()
            .filter(|text| seen.insert(*text))
            .collect();
        if texts.is_empty() {
            return Ok(Self(HashMap::new()));
        }
        let vectors = embedder.embed(&texts)?;
        Ok(Self(texts.into_iter().zip(vectors).collect()))
    }

    /// The cosine, never below 0; 0 for a text that was not embedded.
    pub(super) fn cosine(&self, a: &str, b: &str) -> f64 {
        let (Some(a), Some(b)) = (self.0.get(a), self.0.get(b)) else {
            return 0.0;
        };
        let dot: f32 = a.iter().zip(b).map(|(x, y)| x * y).sum();
        f64::from(dot).clamp(0.0, 1.0)
    }
}

fn share(weights: &HashMap<String, f64>, held: impl Fn(&String) -> bool) -> f64 {
    // Summed in the order of the words, because the order of a map would move the last digits.
    let mut terms: Vec<(&String, &f64)> = weights.iter().collect();
    terms.sort_by_key(|(term, _)| *term);
    let all: f64 = terms.iter().map(|(_, weight)| **weight).sum();
    let found: f64 = terms
        .iter()
        .filter(|(term, _)| held(term))
        .map(|(_, weight)| **weight)
        .sum();
    if all > 0.0 { found / all } else { 0.0 }
}

/// [`Features::characters`] of each passage.
fn best_characters(question: &str, passages: &[Passage]) -> Vec<f64> {
    if !is_chinese(question) {
        return vec![0.0; passages.len()];
    }
    let set = |text: &str| characters(text).into_iter().collect::<HashSet<String>>();
    let held: Vec<HashSet<String>> = passages.iter().map(|passage| set(&passage.text)).collect();
    let weights = weights(&characters(question), &held);
    let best = |passage: &Passage| {
        let units = passage.units.iter().map(|unit| set(&unit.text));
        units
            .map(|held| share(&weights, |character| held.contains(character)))
            .fold(0.0, f64::max)
    };
    passages.iter().map(best).collect()
}

/// How many of the question's neighbours stand at most two apart in the passage.
///
/// Words that say little are no neighbours: "what does GENERATE mean" asks for one word. Such a
/// word cannot stand near another; holding it is then all that can be asked of a passage. At 0, a
/// question of one word would be measured against a weight that it can never earn.
fn near_pairs(asked: &[String], passage: &[String]) -> f64 {
    let telling: Vec<&String> = asked.iter().filter(|term| !is_weak(term)).collect();
    if let [only] = telling.as_slice() {
        return f64::from(u8::from(passage.contains(only)));
    }
    if telling.is_empty() {
        return 0.0;
    }
    let near: HashSet<(&str, &str)> = passage
        .iter()
        .enumerate()
        .flat_map(|(at, a)| {
            let end = passage.len().min(at + 3);
            passage[at + 1..end]
                .iter()
                .map(move |b| (a.as_str(), b.as_str()))
        })
        .collect();
    let found = telling
        .windows(2)
        .filter(|pair| {
            let (a, b) = (pair[0].as_str(), pair[1].as_str());
            near.contains(&(a, b)) || near.contains(&(b, a))
        })
        .count();
    found as f64 / (telling.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_a_lone_word_is_near_where_it_is_held() {
        let passage = terms("Tools for grading: a hammer and a saw.");
        for (question, near) in [
            ("Which tools are there?", 1.0),
            ("What does grading mean?", 1.0),
            ("What does planning mean?", 0.0),
            ("a grading tool", 1.0),
            ("grading, planning, tools", 0.0),
            ("the hammer is a saw", 1.0),
            ("What is it?", 0.0),
        ] {
            let found = near_pairs(&terms(question), &passage);
            assert!((found - near).abs() < 1e-9, "{question}: {found}");
        }
    }
}
