//! What decided a route: a sentence for people, then the probability that was measured and the words that it rests
//! on most.

use crate::domain::{Cue, QuestionKind};
use crate::text::is_cjk;

/// Most words that a reason lists.
const WORDS: usize = 3;
/// A word that changes the probability by less decided nothing.
const DECIDING_FROM: f64 = 0.05;
/// Longer questions are not taken apart word by word.
const MOST_WORDS: usize = 40;

/// A reason as a sentence.
pub fn sentence(reason: &str) -> Cue {
    let cue = reason.to_owned();
    Cue { cue, weight: None }
}

/// Why a question needs one look-up only.
pub fn reason_of_simple(kind: QuestionKind) -> String {
    let asked = match kind {
        QuestionKind::Definition => "meaning",
        QuestionKind::How => "way to do something",
        QuestionKind::Why => "reason",
        QuestionKind::List | QuestionKind::State => "list",
        QuestionKind::File => "document",
        QuestionKind::Overview => return "the documents as a whole are asked for".to_owned(),
        _ => "fact",
    };
    format!("one {asked} is asked for; nothing to compare")
}

/// The reason, the probability that `judge` gives the route `name` for a text, and the words without which it falls
/// most, each with by how much. What is written without spaces has no words.
pub fn reasons(reason: &str, name: &str, text: &str, judge: impl Fn(&str) -> f64) -> Vec<Cue> {
    let whole = judge(text);
    let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS + 1).collect();
    let mut falls: Vec<(&str, f64)> = Vec::new();
    if (2..=MOST_WORDS).contains(&words.len()) && !text.contains(is_cjk) {
        for (at, word) in words.iter().enumerate() {
            let others = [&words[..at], &words[at + 1..]].concat().join(" ");
            falls.push((word, whole - judge(&others)));
        }
    }
    falls.retain(|(_, fall)| *fall >= DECIDING_FROM);
    falls.sort_by(|a, b| b.1.total_cmp(&a.1));
    falls.truncate(WORDS);
    let falls = falls.into_iter().map(|(word, fall)| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        (format!("\"{word}\""), fall)
    });
    let measured = std::iter::once((name.to_owned(), whole)).chain(falls);
    let measured = measured.map(|(cue, weight)| Cue {
        cue,
        weight: Some(weight),
    });
    std::iter::once(sentence(reason)).chain(measured).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_by_what_goes_without_it() {
        let judge = |text: &str| if text.contains("both") { 0.9 } else { 0.2 };
        let cues = reasons("two", "complex", "so both, then", judge);
        let names: Vec<&str> = cues.iter().map(|cue| cue.cue.as_str()).collect();
        assert_eq!(names, ["two", "complex", "\"both\""]);
        assert!((cues[2].weight.unwrap() - 0.7).abs() < 1e-9);
        assert_eq!(reasons("two", "complex", "both", judge).len(), 2);
    }
}
