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

impl Phrases {
    /// The number of tokens of the longest phrase that begins at a token.
    pub fn longest(&self, tokens: &[Token], at: usize) -> Option<usize> {
        let rest = tokens.get(at..)?;
        let is_next = |phrase: &&Vec<String>| {
            let mut pairs = rest.iter().zip(phrase.iter());
            phrase.len() <= rest.len() && pairs.all(|(token, word)| token.word == *word)
        };
        let phrases = self.by_first.get(&rest.first()?.word)?;
        phrases.iter().find(is_next).map(Vec::len)
    }

    /// Whether the tokens hold a phrase.
    pub fn is_in(&self, tokens: &[Token]) -> bool {
        (0..tokens.len()).any(|at| self.longest(tokens, at).is_some())
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
