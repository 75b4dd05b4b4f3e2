//! What decided a route: a sentence for people, then the probability that was measured and the words that it rests
//! on most.

use crate::domain::{Cue, QuestionKind};

/// At most so many words are told.
const WORDS: usize = 3;
/// A word that changes the probability by less decided nothing.
const DECIDING_FROM: f64 = 0.05;
/// Longer questions are not taken apart word by word.
const MOST_WORDS: usize = 40;

/// A reason as a sentence.
pub(super) fn sentence(reason: &str) -> Cue {
    let cue = reason.to_owned();
    Cue { cue, weight: None }
}

/// Why a question needs one look-up only.
pub(super) fn reason_of_simple(kind: QuestionKind) -> String {
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

/// The probability that `judge` gives the route `name` for a text, and the words without which it falls most, each with
/// by how much. What is written without spaces has no words.
pub(super) fn measured(name: &str, text: &str, judge: impl Fn(&str) -> f64) -> Vec<Cue> {
    let weighed = |cue: String, weight| Cue {
        cue,
        weight: Some(weight),
    };
    let whole = judge(text);
    let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS + 1).collect();
    let mut falls: Vec<(&str, f64)> = Vec::new();
    if words.len() <= MOST_WORDS && !text.contains(crate::text::is_cjk) {
        for (at, word) in words.iter().enumerate() {
            let others = [&words[..at], &words[at + 1..]].concat().join(" ");
            falls.push((word, whole - judge(&others)));
        }
    }
    falls.retain(|(_, fall)| words.len() > 1 && *fall >= DECIDING_FROM);
    falls.sort_by(|a, b| b.1.total_cmp(&a.1));
    let falls = falls.iter().take(WORDS).map(|(word, fall)| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        weighed(format!("\"{word}\""), *fall)
    });
    let probability = weighed(name.to_owned(), whole);
    std::iter::once(probability).chain(falls).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_by_what_goes_without_it() {
        let judge = |text: &str| if text.contains("both") { 0.9 } else { 0.2 };
        let cues = measured("complex", "so both, then", judge);
        let names: Vec<&str> = cues.iter().map(|cue| cue.cue.as_str()).collect();
        assert_eq!(names, ["complex", "\"both\""]);
        assert!((cues[1].weight.unwrap() - 0.7).abs() < 1e-9);
        assert_eq!(measured("complex", "both", judge).len(), 1);
    }
}
