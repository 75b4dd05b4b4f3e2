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
    Cue {
        cue: reason.to_owned(),
        weight: None,
    }
}

/// Why a question needs one look-up only.
pub(super) fn reason_of_simple(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Definition => "one meaning is asked for; nothing to compare",
        QuestionKind::How => "one way to do something is asked for; nothing to compare",
        QuestionKind::Why => "one reason is asked for; nothing to compare",
        QuestionKind::List | QuestionKind::State => "one list is asked for; nothing to compare",
        QuestionKind::File => "one document is asked for; nothing to compare",
        QuestionKind::Overview => "the documents as a whole are asked for",
        _ => "one fact is asked for; nothing to compare",
    }
}

/// A reason, the probability that `judge` gives the route `name` for a text, and the words without which it falls
/// most, each with by how much. What is written without spaces has no words.
pub(super) fn measured(
    reason: &str,
    name: &str,
    text: &str,
    judge: impl Fn(&str) -> f64,
) -> Vec<Cue> {
    let weighed = |cue: String, weight| Cue {
        cue,
        weight: Some(weight),
    };
    let whole = judge(text);
    let mut cues = vec![sentence(reason), weighed(name.to_owned(), whole)];
    let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS + 1).collect();
    if !(2..=MOST_WORDS).contains(&words.len()) || text.contains(crate::text::is_cjk) {
        return cues;
    }
    let falls = words.iter().enumerate().map(|(at, word)| {
        let others = [&words[..at], &words[at + 1..]].concat().join(" ");
        (*word, whole - judge(&others))
    });
    let mut falls: Vec<(&str, f64)> = falls.filter(|(_, fall)| *fall >= DECIDING_FROM).collect();
    falls.sort_by(|a, b| b.1.total_cmp(&a.1));
    cues.extend(falls.into_iter().take(WORDS).map(|(word, fall)| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        weighed(format!("\"{word}\""), fall)
    }));
    cues
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_by_what_goes_without_it() {
        let judge = |text: &str| if text.contains("both") { 0.9 } else { 0.2 };
        let cues = measured("it has parts", "complex", "so both, then", judge);
        let names: Vec<&str> = cues.iter().map(|cue| cue.cue.as_str()).collect();
        assert_eq!(names, ["it has parts", "complex", "\"both\""]);
        assert!((cues[2].weight.unwrap() - 0.7).abs() < 1e-9);
        assert_eq!(measured("it has parts", "complex", "both", judge).len(), 2);
    }
}
