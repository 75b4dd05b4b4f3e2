//! What a passage must say, word for word, and which words it must not hold.
//!
//! Words between quotes stand in a passage as they are written, but for capitals and line breaks. A single
//! word that is left out is left out in all forms that the index takes for one: `-draft` goes for `drafts` too.

use super::tokens;
use super::tokens::Role;
use crate::domain::Condition;
use crate::text::is_cjk;

/// The words of a question's filters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhraseFilter {
    pub(crate) phrases: Vec<Phrase>,
    pub(crate) without: Vec<Phrase>,
}

/// Some words as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    /// The words in lower case, with one space between them.
    plain: String,
    /// The terms that the index has of them; none of words that stand everywhere.
    terms: Vec<String>,
}

impl PhraseFilter {
    /// Collects what these filters say of the words of passages.
    pub(crate) fn new<'c>(conditions: impl Iterator<Item = &'c Condition>) -> Self {
        let mut phrase_filter = Self::default();
        for condition in conditions {
            match condition {
                Condition::Phrase(text) => phrase_filter.phrases.push(Phrase::new(text)),
                Condition::Without(text) => phrase_filter.without.push(Phrase::new(text)),
                _ => {}
            }
        }
        phrase_filter
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty() && self.without.is_empty()
    }

    /// Whether a passage says what it must, and not what it must not.
    pub fn lets_through(&self, text: &str) -> bool {
        let plain = plain(text);
        self.phrases.iter().all(|words| words.stand_in(&plain))
            && !self.without.iter().any(|words| words.are_in(text, &plain))
    }
}

impl Phrase {
    fn new(text: &str) -> Self {
        let terms = tokens::terms(text).into_iter();
        // Joined words may be a part of a longer name.
        let terms = terms.filter(|term| term.role != Role::Joined);
        Self {
            plain: plain(text),
            terms: terms.map(|term| term.text).collect(),
        }
    }

    /// The terms of the index that a passage with these words holds.
    pub(crate) fn terms(&self) -> Vec<&str> {
        self.terms.iter().map(String::as_str).collect()
    }

    /// Whether they are one word, which its term stands for.
    pub(crate) fn is_one(&self) -> bool {
        self.terms.len() == 1 && !self.plain.contains(' ')
    }

    /// Whether they stand in a text, together and in this order.
    pub(crate) fn stand_in_text(&self, text: &str) -> bool {
        self.stand_in(&plain(text))
    }

    /// Checks a text that [`plain`] has normalised.
    fn stand_in(&self, plain: &str) -> bool {
        let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c));
        let (first, last) = (self.plain.chars().next(), self.plain.chars().next_back());
        plain.match_indices(&self.plain).any(|(at, found)| {
            let before = plain[..at].chars().next_back();
            let after = plain[at + found.len()..].chars().next();
            !(goes_on(first) && goes_on(before) || goes_on(last) && goes_on(after))
        })
    }

    /// Whether a text holds them in one of their forms.
    fn are_in(&self, text: &str, plain: &str) -> bool {
        if self.is_one() {
            tokens::terms(text)
                .iter()
                .any(|term| self.terms.contains(&term.text))
        } else {
            self.stand_in(plain)
        }
    }
}

/// A text in lower case with one space where it has some, or a line ends.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_in_a_text_as_they_are_written() {
        let phrase_filter = |phrase: &str, without: &str| {
            let conditions = [
                Condition::Phrase(phrase.to_owned()),
                Condition::Without(without.to_owned()),
            ];
            let some = conditions.into_iter().filter(|condition| match condition {
                Condition::Phrase(text) | Condition::Without(text) => !text.is_empty(),
                _ => false,
            });
            PhraseFilter::new(some.collect::<Vec<_>>().iter())
        };
        for (phrase, without, text, fits) in [
            ("blue green", "", "the Blue\n  Green way", true),
            ("blue green", "", "bluegreen and blue greenish", false),
            ("path", "", "the fast_path", true),
            ("path", "", "sympathy", false),
            ("租金是", "", "他的租金是九百", true),
            ("", "draft", "two drafts", false),
            ("", "draft", "a drawing", true),
            ("", "old plan", "the plan is old", true),
            ("", "old plan", "an old plan", false),
            ("rent", "draft", "rent, in a draft", false),
        ] {
            let phrase_filter = phrase_filter(phrase, without);
            assert_eq!(
                phrase_filter.lets_through(text),
                fits,
                "{phrase} -{without}: {text}"
            );
        }
    }
}
