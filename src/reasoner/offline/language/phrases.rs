use std::collections::HashMap;
use std::hash::Hash;

use serde::Deserialize;

use super::tokens::{Token, tokens};

/// Phrases of a table, each with what it stands for, found token by token in one pass.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    from = "HashMap<T, Vec<String>>",
    bound(deserialize = "T: Deserialize<'de> + Hash + Eq + Copy")
)]
pub(in super::super) struct Kinds<T> {
    /// By their first token; the longest first.
    phrases: HashMap<String, Vec<(Vec<String>, T)>>,
}

/// Phrases of a table that all do the same.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Vec<String>")]
pub(in super::super) struct Phrases(Kinds<()>);

impl<T: Copy> Kinds<T> {
    /// How many tokens the longest phrase has that begins here, and what it stands for.
    pub(in super::super) fn at(&self, tokens: &[Token], at: usize) -> Option<(usize, T)> {
        let begun = self.phrases.get(&tokens.get(at)?.word)?;
        let said = |phrase: &[String]| {
            let rest = tokens.get(at..at + phrase.len())?;
            let same = rest
                .iter()
                .zip(phrase)
                .all(|(token, word)| token.word == *word);
            same.then_some(phrase.len())
        };
        begun
            .iter()
            .find_map(|(phrase, kind)| Some((said(phrase)?, *kind)))
    }

    fn new(listed: impl Iterator<Item = (String, T)>) -> Self {
        let mut phrases: HashMap<String, Vec<(Vec<String>, T)>> = HashMap::new();
        for (phrase, kind) in listed {
            let words: Vec<String> = tokens(&phrase)
                .into_iter()
                .map(|token| token.word)
                .collect();
            if let Some(first) = words.first() {
                phrases
                    .entry(first.clone())
                    .or_default()
                    .push((words, kind));
            }
        }
        for begun in phrases.values_mut() {
            begun.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        }
        Self { phrases }
    }
}

impl Phrases {
    /// How many tokens the longest phrase has that begins here.
    pub(in super::super) fn at(&self, tokens: &[Token], at: usize) -> Option<usize> {
        self.0.at(tokens, at).map(|(length, ())| length)
    }

    /// The first phrase: where it begins, and how many tokens it has.
    pub(in super::super) fn first(&self, tokens: &[Token]) -> Option<(usize, usize)> {
        (0..tokens.len()).find_map(|at| Some((at, self.at(tokens, at)?)))
    }

    /// Whether this one word is a phrase.
    pub(in super::super) fn has(&self, word: &str) -> bool {
        let begun = self.0.phrases.get(word);
        begun.is_some_and(|begun| begun.iter().any(|(words, ())| words.len() == 1))
    }

    /// Whether all tokens, marks aside, are such phrases, and there is one.
    pub(in super::super) fn make_up(&self, tokens: &[Token]) -> bool {
        let mut at = 0;
        let mut any = false;
        while at < tokens.len() {
            let length = self.at(tokens, at);
            if length.is_none() && !tokens[at].is_mark() {
                return false;
            }
            any |= length.is_some();
            at += length.unwrap_or(1);
        }
        any
    }
}

impl<T: Copy + Hash + Eq> From<HashMap<T, Vec<String>>> for Kinds<T> {
    fn from(listed: HashMap<T, Vec<String>>) -> Self {
        let each = listed.into_iter();
        Self::new(
            each.flat_map(|(kind, phrases)| phrases.into_iter().map(move |phrase| (phrase, kind))),
        )
    }
}

impl From<Vec<String>> for Phrases {
    fn from(listed: Vec<String>) -> Self {
        Self(Kinds::new(listed.into_iter().map(|phrase| (phrase, ()))))
    }
}
