//! Whether what was found speaks of what is asked at all.
//!
//! A passage can be near a question by the subject alone: "which bridge was the engineer born
//! under" is near every page about the engineer. Where most of a question's words, by weight, occur
//! in nothing that was found, nothing that was found can answer it.

use std::collections::HashSet;

use super::words::{terms, weights};

/// From this share of a question's words on, by weight, the evidence may hold an answer; set by
/// hand between the golden questions that had one and those that had none.
const HEARD_FROM: f64 = 0.35;

/// Whether enough of the question's words occur in any of the texts.
pub(super) fn is_heard(question: &str, texts: &[String]) -> bool {
    let mut asked = terms(question);
    // An identifier counts once, not once more for each of its parts.
    let parts: HashSet<String> = asked
        .iter()
        .filter(|term| term.contains(['_', '-']))
        .flat_map(|term| terms(&term.replace(['_', '-'], " ")))
        .collect();
    asked.retain(|term| !parts.contains(term));
    let held: Vec<HashSet<String>> = texts
        .iter()
        .map(|text| terms(text).into_iter().collect())
        .collect();
    let weights = weights(&asked, &held);
    let all: f64 = asked.iter().map(|term| weights[term]).sum();
    let heard: f64 = asked
        .iter()
        .filter(|term| held.iter().any(|held| occurs(term, held)))
        .map(|term| weights[term.as_str()])
        .sum();
    asked.is_empty() || heard >= HEARD_FROM * all
}

fn occurs(term: &str, held: &HashSet<String>) -> bool {
    held.contains(term) || held.iter().any(|other| is_misspelt(term, other))
}

/// Whether two words are one but for a slip: they begin alike, and a letter or two differ.
fn is_misspelt(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let most = match a.len().min(b.len()) {
        0..=4 => 0,
        5..=7 => 1,
        _ => 2,
    };
    most > 0
        && a[0] == b[0]
        && a[0].is_ascii_alphabetic()
        && a.len().abs_diff(b.len()) <= most
        && distance(&a, &b) <= most
}

/// The edit distance of Levenshtein 1966.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let kept = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = kept.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
        ] {
            assert_eq!(is_heard(question, &texts), heard, "{question}");
        }
    }
}
