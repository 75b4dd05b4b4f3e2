//! Where an English question can be cut.
//!
//! Places are byte offsets found in the lower-cased text; only ASCII is lower-cased, so that they
//! hold in the text itself.

use super::words::plain_words;

pub(super) fn starts_question(text: &str) -> bool {
    let first = plain_words(&text.chars().take(40).collect::<String>());
    let first: Vec<&str> = first.iter().map(String::as_str).take(2).collect();
    match first.as_slice() {
        [
            "what" | "which" | "who" | "whose" | "when" | "where" | "why" | "how",
            ..,
        ] => true,
        [
            "is" | "are" | "does" | "do" | "did" | "can" | "should" | "was" | "were",
            next,
        ] => *next != "not",
        _ => false,
    }
}

pub(super) fn starts_order(text: &str) -> bool {
    [
        "explain ",
        "describe ",
        "list ",
        "summarize ",
        "summarise ",
        "show ",
        "compare ",
        "name ",
        "tell me ",
    ]
    .iter()
    .any(|order| text.starts_with(order))
}

pub(super) fn clean(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '?' | '.' | '!'))
}

/// Where the words stand in the text, at word borders.
pub(super) fn find_words(lower: &str, words: &str) -> Option<usize> {
    lower.match_indices(words).map(|(at, _)| at).find(|at| {
        let before = lower[..*at].chars().next_back();
        let after = lower[at + words.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

pub(super) fn split_words<'a>(text: &'a str, joint: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_ascii_lowercase().find(joint)?;
    let (a, b) = (&text[..at], &text[at + joint.len()..]);
    (!clean(a).is_empty() && !clean(b).is_empty()).then_some((a, b))
}
