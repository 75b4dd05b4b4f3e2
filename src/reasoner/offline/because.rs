//! What decided a route, for people: the rule that applied, the probability that was measured, and
//! the words that it rests on most.

use crate::domain::{Complexity, Cue};
use crate::text::is_chinese;

use super::decompose::parting_rule;
use super::learned;
use super::social::small_talk_probability;

/// So many words are told.
const WORDS: usize = 3;
/// A word that changes the probability by less decided nothing.
const DECIDING_FROM: f64 = 0.05;
/// Longer questions are not taken apart word by word.
const MOST_WORDS: usize = 40;

/// Why a message was taken for small talk.
pub(super) fn of_small_talk(query: &str) -> Vec<Cue> {
    measured("small talk", query, small_talk_probability)
}

/// Why a question goes the simple or the complex way.
pub(super) fn of_question(query: &str, complexity: Complexity) -> Vec<Cue> {
    let judge = if is_chinese(query) {
        learned::complexity_zh
    } else {
        learned::complexity
    };
    match parting_rule(query) {
        Some(rule) => vec![said(rule)],
        None if complexity == Complexity::Complex => measured("several look-ups", query, judge),
        None if judge(query) > 0.5 => vec![said("no steps to part it into")],
        None => measured("a single look-up", query, |text| 1.0 - judge(text)),
    }
}

/// A rule without a number.
pub(super) fn said(rule: &str) -> Cue {
    Cue {
        cue: rule.to_owned(),
        weight: None,
    }
}

fn measured(what: &str, query: &str, judge: impl Fn(&str) -> f64) -> Vec<Cue> {
    let whole = judge(query);
    let mut cues = vec![Cue {
        cue: what.to_owned(),
        weight: Some(whole),
    }];
    cues.extend(deciding_words(query, whole, judge));
    cues
}

/// The words without which the probability falls most, each with by how much. Chinese is not
/// written in words.
fn deciding_words(query: &str, whole: f64, judge: impl Fn(&str) -> f64) -> Vec<Cue> {
    let words: Vec<&str> = query.split_whitespace().collect();
    if is_chinese(query) || !(2..=MOST_WORDS).contains(&words.len()) {
        return Vec::new();
    }
    let without = |at: usize| -> String {
        let rest = words.iter().enumerate().filter(|(other, _)| *other != at);
        rest.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
    };
    let mut falls: Vec<(usize, f64)> = (0..words.len())
        .map(|at| (at, whole - judge(&without(at))))
        .filter(|(_, fall)| *fall >= DECIDING_FROM)
        .collect();
    falls.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    falls.truncate(WORDS);
    falls
        .into_iter()
        .map(|(at, fall)| Cue {
            cue: format!(
                "\"{}\"",
                words[at].trim_matches(|c: char| !c.is_alphanumeric())
            ),
            weight: Some(fall),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_names_what_decided_it() {
        let cues = of_question(
            "Compare the index pipeline with the query engine",
            Complexity::Complex,
        );
        assert_eq!(cues, [said("a comparison")]);
        let cues = of_question("What is the default chunk size?", Complexity::Simple);
        assert_eq!(cues[0].cue, "a single look-up");
        assert!(cues[0].weight.unwrap() > 0.5, "{cues:?}");
        let cues = of_small_talk("Hello there, how are you today?");
        assert_eq!(cues[0].cue, "small talk");
        assert!(cues[0].weight.unwrap() >= 0.7, "{cues:?}");
    }

    #[test]
    fn a_word_counts_by_what_goes_without_it() {
        let judge = |text: &str| if text.contains("both") { 0.9 } else { 0.2 };
        let cues = deciding_words("so both, then", 0.9, judge);
        assert_eq!(cues.len(), 1);
        assert_eq!(cues[0].cue, "\"both\"");
        assert!((cues[0].weight.unwrap() - 0.7).abs() < 1e-9);
        assert!(deciding_words("both", 0.9, judge).is_empty());
    }
}
