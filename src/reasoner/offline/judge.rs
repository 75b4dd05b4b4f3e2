//! How well passages answer a question, and which of their units say it: one fitted model over few
//! signals, each measured also against the best of the same question.

mod asked;
#[cfg(test)]
pub(super) mod letters;
mod linking;
mod model;
mod order;
mod readings;
mod seen;
mod signals;
mod weighed;
mod words;

use std::collections::{HashMap, HashSet};

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::Question;

use super::evidence::Passage;
use super::language::language_of;
use asked::Asked;
use model::{Linear, Weights, log_odds};
pub(super) use readings::{JudgedReading, judge_reading};
pub(super) use seen::Seen;
pub use signals::signal_names;
use signals::{OF_PASSAGES, OF_UNITS, with_relative};

/// Units of a passage that are compared by meaning, those that share most with the question. With eight, and the
/// whole passage beside them, grades are as good (area under the curve) to .009 in each collection that the weights are
/// fitted on, and an answer takes three to five times as long.
const EMBEDDED: usize = 2;

/// What was judged of one question (or one reading or part of it) over some passages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    /// How likely each passage answers it, 0–1, in their order.
    pub(super) grades: Vec<f64>,
    /// How well each unit of each passage says it, in log-odds against the others.
    pub(super) units: Vec<Vec<f64>>,
    /// What the passages were judged by.
    rows: Vec<Vec<f64>>,
    answers: Linear,
    quote_from: f64,
}

impl Judged {
    /// How likely any of these passages answers, 0–1: by the best of them in each signal.
    pub(super) fn answered(&self, among: impl Iterator<Item = usize>) -> f64 {
        let best = among
            .filter_map(|at| self.rows.get(at).cloned())
            .reduce(|a, b| a.iter().zip(b).map(|(a, b)| a.max(b)).collect());
        best.map_or(0.0, |row| self.answers.chance(&row))
    }

    /// Whether anything of these passages is fit to be quoted as an answer.
    pub(super) fn answers(&self, among: impl Iterator<Item = usize>) -> bool {
        self.answered(among) >= self.quote_from
    }
}

/// The signals of a question's passages, each row with the relative ones behind the others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signals {
    /// Of each unit of each passage.
    pub units: Vec<Vec<Vec<f64>>>,
    /// Of each passage.
    pub passages: Vec<Vec<f64>>,
    /// For each passage the places of those that say its title.
    pub named_by: Vec<Vec<usize>>,
}

/// Judges passages against `asked`: the question's text, a part or a reading of it. `seen` are the same
/// passages, read by [`Seen::read`]. Blocks while it embeds.
pub(super) fn judge(
    question: &Question,
    asked: &str,
    (passages, seen): (&[Passage], &mut [Seen]),
    embedder: &dyn Embedder,
) -> Result<Judged, EmbedError> {
    let weights = Weights::of(question.language);
    let signals = signals(asked, (passages, seen), embedder)?;
    let alone: Vec<f64> = signals
        .passages
        .iter()
        .map(|row| weights.grade.chance(row))
        .collect();
    let grades = linking::linked(&alone, &signals.named_by);
    let of_unit = |row: &Vec<f64>, grade: f64| {
        weights.said.unit * weights.unit.sum(row) + weights.said.grade * log_odds(grade)
    };
    let units = signals.units.iter().zip(&grades);
    let units = units.map(|(rows, grade)| rows.iter().map(|row| of_unit(row, *grade)).collect());
    Ok(Judged {
        units: units.collect(),
        rows: signals.passages,
        answers: weights.answers,
        quote_from: weights.quote_from,
        grades,
    })
}

/// What the model looks at. Blocks while it embeds.
pub(super) fn signals(
    asked: &str,
    (passages, seen): (&[Passage], &mut [Seen]),
    embedder: &dyn Embedder,
) -> Result<Signals, EmbedError> {
    let mut read = Asked::read(
        asked,
        language_of(asked),
        seen.iter().flat_map(|seen| &seen.units),
    );
    let held: Vec<&HashSet<String>> = seen.iter().map(|seen| &seen.held).collect();
    read.part_core(language_of(asked), &held);
    measure_meaning(asked, &read, passages, seen, embedder)?;
    let of_units = |seen: &Seen| {
        let places = 0..seen.units.len();
        let rows = places.map(|at| {
            OF_UNITS
                .iter()
                .map(|(.., of)| of(&read, seen, at))
                .collect()
        });
        with_relative(rows.collect(), OF_UNITS)
    };
    let of_passages = |seen: &Seen| OF_PASSAGES.iter().map(|(.., of)| of(&read, seen)).collect();
    Ok(Signals {
        units: seen.iter().map(of_units).collect(),
        passages: with_relative(seen.iter().map(of_passages).collect(), OF_PASSAGES),
        named_by: linking::named_by(passages),
    })
}

/// Fills in the cosines of those units that share most with the question; the other units get the
/// lowest of these.
fn measure_meaning(
    asked: &str,
    read: &Asked,
    passages: &[Passage],
    seen: &mut [Seen],
    embedder: &dyn Embedder,
) -> Result<(), EmbedError> {
    let chosen: Vec<Vec<usize>> = seen
        .iter()
        .map(|seen| nearest_in_words(read, seen))
        .collect();
    let mut texts: Vec<&str> = vec![asked, &read.core];
    for (passage, chosen) in passages.iter().zip(&chosen) {
        texts.extend(chosen.iter().map(|at| passage.units[*at].text.as_str()));
    }
    let mut once = HashSet::new();
    texts.retain(|text| !text.trim().is_empty() && once.insert(*text));
    let vectors: HashMap<&str, Vec<f32>> =
        texts.iter().copied().zip(embedder.embed(&texts)?).collect();
    let between = |one: &str, other: &str| {
        let (a, b) = (vectors.get(one)?, vectors.get(other)?);
        Some(f64::from(a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>()))
    };
    let cosine = |text: &str| between(asked, text);
    let core = read.core.as_str();
    for ((passage, chosen), seen) in passages.iter().zip(&chosen).zip(seen) {
        let found = chosen
            .iter()
            .map(|at| cosine(&passage.units[*at].text).unwrap_or_default());
        let found: Vec<f64> = found.collect();
        let lowest = found.iter().copied().reduce(f64::min).unwrap_or_default();
        let of_core = chosen
            .iter()
            .filter_map(|at| between(core, &passage.units[*at].text));
        seen.core_cosine = of_core.fold(0.0, f64::max);
        for unit in &mut seen.units {
            unit.cosine = lowest;
        }
        for (at, cosine) in chosen.iter().zip(found) {
            seen.units[*at].cosine = cosine;
        }
    }
    Ok(())
}

/// The units that share most with the question, in their order.
fn nearest_in_words(read: &Asked, seen: &Seen) -> Vec<usize> {
    let share = |at: usize| read.words.share(&[&seen.units[at].held]);
    let mut order: Vec<(usize, f64)> = (0..seen.units.len()).map(|at| (at, share(at))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.truncate(EMBEDDED);
    let mut chosen: Vec<usize> = order.into_iter().map(|(at, _)| at).collect();
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::letters::Letters;
    use super::*;

    fn asked(text: &str) -> Question {
        Question {
            text: text.to_owned(),
            asked: text.to_owned(),
            ..Question::default()
        }
    }

    fn judged(text: &str, passages: &[Passage]) -> Judged {
        let mut seen: Vec<Seen> = passages.iter().map(Seen::read).collect();
        judge(&asked(text), text, (passages, &mut seen), &Letters).unwrap()
    }

    #[test]
    fn r17_what_answers_is_graded_above_what_does_not() {
        let otter = ["The fence is green.", "The Otter pump was built in 1931."];
        let passages = [
            Passage::of_sentences(
                "Bread",
                &["Rye bread takes two days.", "Salt is added last."],
            ),
            Passage::of_sentences("Otter pump", &otter),
        ];
        let question = "When was the Otter pump built?";
        let judged = judged(question, &passages);
        assert!(
            judged.grades[0] < 0.3 && judged.grades[1] > 0.7,
            "{:?}",
            judged.grades
        );
        assert!(
            judged.units[1][1] > judged.units[1][0],
            "{:?}",
            judged.units
        );
        assert!(judged.answers(0..passages.len()));
        // What was read once is judged alike, whatever was asked before.
        let mut seen: Vec<Seen> = passages.iter().map(Seen::read).collect();
        for text in ["What is rye bread?", question] {
            let again = judge(&asked(text), text, (&passages, &mut seen), &Letters).unwrap();
            assert_eq!(again == judged, text == question, "{text}");
        }
    }

    #[test]
    fn r17_where_nothing_is_given_nothing_answers() {
        let none = judged("?", &[]);
        assert!(none.grades.is_empty() && !none.answers(0..1));
        let empty = judged("", &[Passage::of_sentences("", &[])]);
        assert!(empty.grades[0].is_finite() && empty.units[0].is_empty());
    }

    #[test]
    fn long_questions_cost_no_more_than_their_length() {
        let long = "the Otter pump and the well ".repeat(2_400);
        let passages = [Passage::of_sentences(
            "Otter pump",
            &["The Otter pump.", "A well."],
        )];
        assert!(judged(&long, &passages).grades[0].is_finite());
    }
}
