//! The same words come again and again: what was made of a piece of text between two blanks is
//! remembered, so that folding, cutting and stemming are paid once a word and not once a use.
//!
//! Nothing that the chain does looks across a blank, so the terms are the same. A piece and its
//! terms lie side by side in one long text, found by the piece's hash: looking a word up is what
//! indexing does most, and every other place in memory that it has to go to shows.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rustc_hash::FxHasher;
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

/// Longer pieces are sentences of a script without blanks, or data; they seldom come again.
const LONGEST: usize = 40;
/// Pieces and terms remembered at once; then all are forgotten. About 5 MB.
const MOST: usize = 100_000;

/// A chain that does not take the same word apart twice.
#[derive(Clone)]
pub(super) struct Remembering {
    chain: TextAnalyzer,
    known: HashMap<u64, Entry, BuildHasherDefault<Hashed>>,
    remembered: Terms,
    /// Of a piece that is not remembered.
    passing: Terms,
    token: Token,
}

/// Terms, one after the other.
#[derive(Clone, Default)]
struct Terms {
    text: String,
    lengths: Vec<u32>,
}

/// Where a piece and its terms are.
#[derive(Clone, Copy)]
struct Entry {
    piece: u32,
    piece_length: u32,
    lengths: u32,
    terms: u32,
}

/// Terms that wait to be given out.
#[derive(Clone, Copy, Default)]
struct Waiting {
    text: usize,
    lengths: usize,
    terms: usize,
    passing: bool,
}

impl Terms {
    fn clear(&mut self) {
        self.text.clear();
        self.lengths.clear();
    }

    fn take(&mut self, chain: &mut TextAnalyzer, piece: &str) {
        let mut stream = chain.token_stream(piece);
        while stream.advance() {
            let term = &stream.token().text;
            self.text.push_str(term);
            self.lengths.push(term.len() as u32);
        }
    }
}

impl Remembering {
    /// Remembers what `chain` makes.
    pub fn new(chain: TextAnalyzer) -> Self {
        Self {
            chain,
            known: HashMap::default(),
            remembered: Terms::default(),
            passing: Terms::default(),
            token: Token::default(),
        }
    }

    fn terms_of(&mut self, piece: &str) -> Waiting {
        let mut hasher = FxHasher::default();
        hasher.write(piece.as_bytes());
        let hash = hasher.finish();
        let known = self.known.get(&hash).copied();
        if let Some(entry) = known {
            let text = (entry.piece + entry.piece_length) as usize;
            if self.remembered.text[entry.piece as usize..text] == *piece {
                return Waiting {
                    text,
                    lengths: entry.lengths as usize,
                    terms: entry.terms as usize,
                    passing: false,
                };
            }
        }
        // Two pieces of one hash: the first stays.
        if known.is_some() || piece.len() > LONGEST {
            self.passing.clear();
            self.passing.take(&mut self.chain, piece);
            return Waiting {
                terms: self.passing.lengths.len(),
                passing: true,
                ..Waiting::default()
            };
        }
        if self.remembered.lengths.len().max(self.known.len()) > MOST {
            self.known.clear();
            self.remembered.clear();
        }
        let at = self.remembered.text.len();
        let lengths = self.remembered.lengths.len();
        self.remembered.text.push_str(piece);
        self.remembered.take(&mut self.chain, piece);
        let terms = self.remembered.lengths.len() - lengths;
        let entry = Entry {
            piece: at as u32,
            piece_length: piece.len() as u32,
            lengths: lengths as u32,
            terms: terms as u32,
        };
        self.known.insert(hash, entry);
        Waiting {
            text: at + piece.len(),
            lengths,
            terms,
            passing: false,
        }
    }
}

/// What is looked up by is a hash already.
#[derive(Clone, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Tokenizer for Remembering {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.token.reset();
        self.token.position = 0;
        Stream {
            rest: text,
            waiting: Waiting::default(),
            begun: false,
            of: self,
        }
    }
}

pub(super) struct Stream<'a> {
    of: &'a mut Remembering,
    rest: &'a str,
    waiting: Waiting,
    begun: bool,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        while self.waiting.terms == 0 {
            self.rest = self.rest.trim_ascii_start();
            if self.rest.is_empty() {
                return false;
            }
            let blank = |byte: &u8| byte.is_ascii_whitespace();
            let end = self.rest.as_bytes().iter().position(blank);
            let (piece, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest;
            self.waiting = self.of.terms_of(piece);
        }
        let from = if self.waiting.passing {
            &self.of.passing
        } else {
            &self.of.remembered
        };
        let end = self.waiting.text + from.lengths[self.waiting.lengths] as usize;
        let token = &mut self.of.token;
        token.text.clear();
        token.text.push_str(&from.text[self.waiting.text..end]);
        token.position += usize::from(std::mem::replace(&mut self.begun, true));
        self.waiting.text = end;
        self.waiting.lengths += 1;
        self.waiting.terms -= 1;
        true
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
        let many: Vec<String> = (0..MOST + 999).map(|n| format!("w{n}x")).collect();
        let many = many.join(" ");
        assert_eq!(all(&mut remembering, &many), all(&mut plain, &many));
        assert_eq!(all(&mut remembering, texts[0]), all(&mut plain, texts[0]));
    }
}
