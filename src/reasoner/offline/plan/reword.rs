//! A question in other words: those that carry its meaning, names of code spelt out.

use crate::domain::{Language, Question};

use super::super::language::{spelt_out, terms};

/// The words that carry meaning, identifiers as words: "maxItems" is "max items". The question itself
/// where none does.
pub(super) fn reworded(question: &Question) -> String {
    let words = if question.language == Language::Zh {
        question.terms.join(" ")
    } else {
        let asked = question.search_text();
        let words = asked.split_whitespace();
        let words = words.filter(|word| !terms(word, question.language).is_empty());
        let trimmed = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        trimmed.collect::<Vec<_>>().join(" ")
    };
    let words = spelt_out(&words);
    if words.trim().is_empty() {
        question.search_text()
    } else {
        words
    }
}
