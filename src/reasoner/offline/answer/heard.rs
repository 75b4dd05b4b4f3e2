//! Whether what was found speaks of what is asked at all.
//!
//! A passage can be near a question by the subject alone: "which bridge was the engineer born
//! under" is near every page about the engineer. Where most of a question's words, by weight, occur
//! in nothing that was found, nothing that was found can answer it.

use std::collections::HashSet;

use super::kindred::{holds, in_known_words};
use super::literals::Literals;
use super::supported::without_parts;
use super::words::{SAYS_LITTLE, characters, is_everywhere, terms, weights};
use crate::text::{distance, is_chinese};

/// From this share of a question's words on, by weight, the evidence may hold an answer; set by
/// hand between the golden questions that had one and those that had none.
const HEARD_FROM: f64 = 0.35;

/// And beyond this share of a Chinese question's characters, in one passage.
const CHARACTERS_OVER: f64 = 0.5;

/// Whether enough of the question's words occur in any of the texts.
pub(super) fn is_heard(question: &str, texts: &[String]) -> bool {
    let asked = without_parts(terms(question));
    let held: Vec<HashSet<String>> = texts
        .iter()
        .map(|text| terms(text).into_iter().collect())
        .collect();
    let known = in_known_words(question, &held);
    let asked = if known == question {
        asked
    } else {
        without_parts(terms(&known))
    };
    let mut weights = weights(&asked, &held);
    for (term, weight) in &mut weights {
        if is_everywhere(term, &held) && is_name(term, question) {
            *weight *= SAYS_LITTLE;
        }
    }
    let all: f64 = asked.iter().map(|term| weights[term]).sum();
    let heard: f64 = asked
        .iter()
        .filter(|term| held.iter().any(|held| occurs(term, held)))
        .map(|term| weights[term.as_str()])
        .sum();
    let by_words = heard >= HEARD_FROM * all && !only_names_are_heard(question, &asked, &held);
    asked.is_empty() || by_words || is_heard_by_character(question, texts)
}

/// Whether a word is written like a name: in parts, or with a capital within the question.
pub(super) fn is_name(term: &str, question: &str) -> bool {
    let mut words = question.split_whitespace().skip(1);
    let capital = |word: &str| {
        word.starts_with(char::is_uppercase) && terms(word).iter().any(|own| own == term)
    };
    term.contains(['-', '_']) || words.any(capital)
}

/// Whether a Chinese question names something that occurs, and nothing of what it says of it does.
fn only_names_are_heard(question: &str, asked: &[String], held: &[HashSet<String>]) -> bool {
    let is_held = |term: &&String| held.iter().any(|held| occurs(term, held));
    let mut said = asked.iter().filter(|term| is_chinese(term)).peekable();
    is_chinese(question) && said.peek().is_some() && !said.any(|term| is_held(&term))
}

/// Pairs of Chinese characters are broken by every particle between them; the characters are not.
fn is_heard_by_character(question: &str, texts: &[String]) -> bool {
    let mut asked: HashSet<String> = characters(question).into_iter().collect();
    // A name that occurs says nothing of what is asked about it.
    asked.retain(|character| is_chinese(character));
    let heard = |text: &String| {
        let held: HashSet<String> = characters(text).into_iter().collect();
        asked
            .iter()
            .filter(|character| held.contains(*character))
            .count()
    };
    let most = texts.iter().map(heard).max().unwrap_or(0);
    let half = CHARACTERS_OVER * asked.len() as f64;
    // What is asked of a ticket that is there need not be said in its words.
    let ticket = !Literals::of(question).tickets.is_empty();
    is_chinese(question) && (most as f64 > half || ticket && most as f64 >= half)
}

fn occurs(term: &str, held: &HashSet<String>) -> bool {
    holds(held, term) || held.iter().any(|other| is_misspelt(term, other))
}

/// Whether two words are one but for a slip: they begin alike, and a letter or two differ.
fn is_misspelt(a: &str, b: &str) -> bool {
    let (letters, others) = (a.chars().count(), b.chars().count());
    let most = match letters.min(others) {
        0..=4 => 0,
        5..=7 => 1,
        _ => 2,
    };
    most > 0
        && a.chars().next() == b.chars().next()
        && a.starts_with(|c: char| c.is_ascii_alphabetic())
        && letters.abs_diff(others) <= most
        && distance(a, b) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_words_that_occur_nowhere_have_no_answer() {
        let texts = vec![
            "The kb-agent index is brought up to date before a search.".to_owned(),
            "kb-agent explains the thresholds of grading.".to_owned(),
        ];
        for (question, heard) in [
            ("Which printer is kb-agent faster on?", false),
            ("When is the index brought up to date?", true),
            ("What are the treshholds?", true),
            ("What is the price of bread?", false),
            ("", true),
            ("怎样卸载 kb-agent？", false),
        ] {
            assert_eq!(is_heard(question, &texts), heard, "{question}");
        }
    }
}
