//! The same words come again and again: what was made of a piece of text between two blanks is
//! remembered, so that folding, cutting and stemming are paid once a word and not once a use.
//!
//! Nothing that the chain does looks across a blank, so the terms are the same.

use std::collections::HashMap;
use std::ops::Range;

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

/// Longer pieces are sentences of a script without blanks, or data; they seldom come again.
const LONGEST: usize = 40;
/// Terms remembered at once; then all are forgotten. About 5 MB.
const MOST_TERMS: usize = 100_000;

/// A chain that does not take the same word apart twice.
#[derive(Clone)]
pub(super) struct Remembering {
    chain: TextAnalyzer,
    known: HashMap<Box<str>, Range<usize>>,
    terms: Vec<String>,
    token: Token,
}

impl Remembering {
    /// Remembers what `chain` makes.
    pub fn new(chain: TextAnalyzer) -> Self {
        Self {
            chain,
            known: HashMap::new(),
            terms: Vec::new(),
            token: Token::default(),
        }
    }

    /// Where the terms of a piece are.
    fn terms_of(&mut self, piece: &str) -> Range<usize> {
        if let Some(range) = self.known.get(piece) {
            return range.clone();
        }
        if self.terms.len().max(self.known.len()) > MOST_TERMS {
            self.known.clear();
            self.terms.clear();
        }
        let start = self.terms.len();
        let mut stream = self.chain.token_stream(piece);
        while stream.advance() {
            self.terms.push(stream.token().text.clone());
        }
        let range = start..self.terms.len();
        if piece.len() <= LONGEST {
            self.known.insert(piece.into(), range.clone());
        }
        range
    }
}

impl Tokenizer for Remembering {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.token.reset();
        self.token.position = 0;
        Stream {
            rest: text,
            terms: 0..0,
            begun: false,
            of: self,
        }
    }
}

pub(super) struct Stream<'a> {
    of: &'a mut Remembering,
    rest: &'a str,
    terms: Range<usize>,
    begun: bool,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        loop {
            if let Some(at) = self.terms.next() {
                let token = &mut self.of.token;
                token.text.clear();
                token.text.push_str(&self.of.terms[at]);
                token.position += usize::from(std::mem::replace(&mut self.begun, true));
                return true;
            }
            self.rest = self.rest.trim_ascii_start();
            if self.rest.is_empty() {
                return false;
            }
            let blank = |byte: &u8| byte.is_ascii_whitespace();
            let end = self.rest.as_bytes().iter().position(blank);
            let (piece, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest;
            self.terms = self.of.terms_of(piece);
        }
    }

    fn token(&self) -> &Token {
        &self.of.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.of.token
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain;
    use super::*;

    fn all(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut stream = analyzer.token_stream(text);
        while stream.advance() {
            found.push(stream.token().text.clone());
        }
        found
    }

    #[test]
    fn the_terms_are_those_of_the_chain() {
        let mut plain = chain();
        let mut remembering = TextAnalyzer::builder(Remembering::new(chain())).build();
        let texts = [
            "The routers' routing routes, PROJ-123 and max_retry_count.\n\tHttpServer's e.g. x.y",
            "快速路径可以 跳过grep评分 节点。 ＡＢＣ ｅ\u{301} caf\u{e9} a\u{a0}b \u{301}c",
            "- . _ -- 'tis don't we'll rock-'n'-roll v1.2.3-rc_4 trailing- -leading end.",
            "",
            " \n ",
        ];
        for _ in 0..3 {
            for text in texts {
                assert_eq!(all(&mut remembering, text), all(&mut plain, text), "{text}");
            }
        }
        let many: Vec<String> = (0..MOST_TERMS + 999).map(|n| format!("w{n}x")).collect();
        let many = many.join(" ");
        assert_eq!(all(&mut remembering, &many), all(&mut plain, &many));
        assert_eq!(all(&mut remembering, texts[0]), all(&mut plain, texts[0]));
    }
}
