//! Words and their letters, as the signals compare them.

use std::collections::HashSet;

use crate::domain::Language;
use crate::text::is_cjk;

use super::super::language::terms;

/// Words as they are written, in lower case; of scripts without spaces pairs of characters.
pub(super) fn written(text: &str) -> impl Iterator<Item = String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric() || is_cjk(c))
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let mut before = None;
    let mut pairs = Vec::new();
    for c in text.chars() {
        let c = is_cjk(c).then_some(c);
        pairs.extend(before.zip(c).map(|(a, b)| String::from_iter([a, b])));
        before = c;
    }
    words.into_iter().chain(pairs)
}

/// Three letters in a row, the ends of words marked; of pairs of characters each character.
pub(super) fn grams<'a>(terms: impl Iterator<Item = &'a String>) -> HashSet<String> {
    let mut found = HashSet::new();
    for term in terms {
        if term.chars().any(is_cjk) {
            found.extend(term.chars().map(String::from));
            continue;
        }
        let marked: Vec<char> = ['#'].into_iter().chain(term.chars()).chain(['#']).collect();
        found.extend(
            marked
                .windows(3)
                .map(|three| three.iter().collect::<String>()),
        );
    }
    found
}

/// The words of names: those that a capital in the midst of a sentence shows.
pub(super) fn names(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut begins = true;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if !begins && bare.starts_with(char::is_uppercase) {
            found.extend(terms(bare, Language::En));
        }
        begins = word.ends_with(['.', '!', '?', ':', '"', '“', '(']);
    }
    found
}
