use std::collections::HashMap;

use serde::Deserialize;

use super::tokens::{Token, tokens};

/// Phrases of a table, found token by token.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Vec<String>")]
pub struct Phrases {
    /// The words of each phrase by its first word, the longest phrase first.
    by_first: HashMap<String, Vec<Vec<String>>>,
}

/// Tokens of the longest phrase that is looked for at the end of a text.
const LONGEST: usize = 6;

impl Phrases {
    /// The number of tokens of the longest phrase that begins at a token.
    pub fn at(&self, tokens: &[Token], at: usize) -> Option<usize> {
        let rest = tokens.get(at..)?;
        let is_next = |phrase: &&Vec<String>| {
            let mut pairs = rest.iter().zip(phrase.iter());
            phrase.len() <= rest.len() && pairs.all(|(token, word)| token.word == *word)
        };
        let phrases = self.by_first.get(&rest.first()?.word)?;
        phrases.iter().find(is_next).map(Vec::len)
    }

    /// The number of tokens of the longest phrase that the tokens end with.
    pub fn at_end(&self, tokens: &[Token]) -> Option<usize> {
        let lengths = (1..=LONGEST.min(tokens.len())).rev();
        let mut lengths =
            lengths.filter(|length| self.at(tokens, tokens.len() - length) == Some(*length));
        lengths.next()
    }

    /// Whether the tokens hold a phrase.
    pub fn is_in(&self, tokens: &[Token]) -> bool {
        (0..tokens.len()).any(|at| self.at(tokens, at).is_some())
    }

    /// Whether a single word is a phrase.
    pub fn has(&self, word: &str) -> bool {
        let phrases = self.by_first.get(word);
        phrases.is_some_and(|phrases| phrases.iter().any(|phrase| phrase.len() == 1))
    }
}

impl From<Vec<String>> for Phrases {
    fn from(listed: Vec<String>) -> Self {
        let mut by_first: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for phrase in listed {
            let words: Vec<String> = tokens(&phrase).into_iter().map(|it| it.word).collect();
            if let Some(first) = words.first() {
                by_first.entry(first.clone()).or_default().push(words);
            }
        }
        for phrases in by_first.values_mut() {
            phrases.sort_by_key(|words| std::cmp::Reverse(words.len()));
        }
        Self { by_first }
    }
}

/// The number of tokens of the longest phrase of any list that begins at a token.
pub fn longest_at<'a>(
    lists: impl IntoIterator<Item = &'a Phrases>,
    tokens: &[Token],
    at: usize,
) -> Option<usize> {
    let lengths = lists.into_iter().filter_map(|list| list.at(tokens, at));
    lengths.max()
}

/// The places of the tokens that are neither marks nor in a phrase of the lists.
pub fn uncovered(lists: &[&Phrases], tokens: &[Token]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let length = longest_at(lists.iter().copied(), tokens, at);
        if length.is_none() && !tokens[at].is_mark() {
            places.push(at);
        }
        at += length.unwrap_or(1);
    }
    places
}
