//! The same words come again and again: what was made of a piece of text between two blanks is
//! remembered, so that folding, cutting and stemming are paid once a word and not once a use.
//!
//! Nothing that the chain does looks across a blank, so the terms are the same. Looking a word up
//! is what indexing does most, and most of that is waiting for memory: a piece and its terms lie
//! side by side in one long text, and the pieces of a text are looked up several at a time, so
//! that the processor waits for all of them at once. What one writer of the index has learned, the
//! next one gets.

use std::hash::Hasher;
use std::mem;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

/// Longer pieces are sentences of a script without blanks, or data; they seldom come again.
const LONGEST: usize = 40;
/// Pieces and terms remembered at once; then all are forgotten. About 5 MB.
const MOST: usize = 100_000;
/// Pieces looked up together.
const AHEAD: usize = 16;
/// Memories kept for the next writers, as many as write at once.
const KEPT: usize = 8;

/// A chain that does not take the same word apart twice.
pub(super) struct Remembering {
    chain: TextAnalyzer,
    memory: Memory,
    /// Of a piece that is not remembered.
    passing: Terms,
    token: Token,
    /// What clones leave to each other.
    kept: Arc<Mutex<Vec<Memory>>>,
}

/// What was made of which piece.
#[derive(Default)]
struct Memory {
    known: HashTable<CachedWord>,
    terms: Terms,
}

/// Terms, one after the other.
#[derive(Clone, Default)]
struct Terms {
    text: String,
    lengths: Vec<u32>,
}

/// Where a piece and its terms are. Small, because the table of them is larger than what is near
/// to the processor.
#[derive(Clone, Copy)]
struct CachedWord {
    hash: u32,
    piece: u32,
    /// Where the lengths of its terms begin.
    lengths: u32,
    /// How long the first of them is: most have no other, and need not look further.
    first: u16,
    piece_length: u8,
    terms: u8,
}

/// A piece of the text being taken apart, and its entry if it has one.
#[derive(Clone, Copy, Default)]
struct Piece<'a> {
    text: &'a str,
    hash: u32,
    entry: Option<CachedWord>,
}

/// Terms that wait to be given out.
#[derive(Clone, Copy, Default)]
struct Waiting {
    text: usize,
    /// Of the next one.
    length: usize,
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

impl CachedWord {
    fn waiting(self) -> Waiting {
        Waiting {
            text: self.piece as usize + usize::from(self.piece_length),
            length: usize::from(self.first),
            lengths: self.lengths as usize,
            terms: usize::from(self.terms),
            passing: false,
        }
    }
}

impl Memory {
    fn found(&self, hash: u32) -> Option<CachedWord> {
        let found = self.known.find(spread(hash), |entry| entry.hash == hash);
        found.copied()
    }

    /// What is known of these pieces; another one of the same hash is not. In passes, because
    /// within one the processor need not wait for one piece before it looks for the next.
    fn recall(&self, pieces: &mut [Piece<'_>]) {
        for piece in &mut *pieces {
            piece.entry = self.found(piece.hash);
        }
        let text = self.terms.text.as_bytes();
        for piece in &mut *pieces {
            let first = piece.text.as_bytes().first();
            piece.entry = piece
                .entry
                .filter(|entry| text.get(entry.piece as usize) == first);
        }
        for piece in pieces {
            piece.entry = piece.entry.filter(|entry| {
                let from = entry.piece as usize;
                text[from..from + usize::from(entry.piece_length)] == *piece.text.as_bytes()
            });
        }
    }

    /// `None` when it is too much, or the hash is another piece's: the first stays.
    fn learn(&mut self, chain: &mut TextAnalyzer, piece: &str, hash: u32) -> Option<CachedWord> {
        let at = self.terms.text.len();
        let lengths = self.terms.lengths.len();
        if piece.len() > LONGEST || self.found(hash).is_some() {
            return None;
        }
        self.terms.text.push_str(piece);
        self.terms.take(chain, piece);
        let made = &self.terms.lengths[lengths..];
        let entry = CachedWord {
            hash,
            piece: at as u32,
            lengths: lengths as u32,
            first: u16::try_from(made.first().copied().unwrap_or(0)).ok()?,
            piece_length: piece.len() as u8,
            terms: u8::try_from(made.len()).ok()?,
        };
        self.known
            .insert_unique(spread(hash), entry, |entry| spread(entry.hash));
        Some(entry)
    }

    fn forget_if_full(&mut self) {
        if self.terms.lengths.len().max(self.known.len()) > MOST {
            self.known.clear();
            self.terms.clear();
        }
    }
}

impl Remembering {
    /// Remembers what `chain` makes.
    pub fn new(chain: TextAnalyzer) -> Self {
        Self {
            chain,
            memory: Memory::default(),
            passing: Terms::default(),
            token: Token::default(),
            kept: Arc::default(),
        }
    }

    fn terms_of(&mut self, mut piece: Piece<'_>) -> Waiting {
        if piece.entry.is_none() {
            // The pieces before it may have taught it.
            self.memory.recall(slice::from_mut(&mut piece));
        }
        let (chain, memory) = (&mut self.chain, &mut self.memory);
        let learnt = || memory.learn(chain, piece.text, piece.hash);
        if let Some(entry) = piece.entry.or_else(learnt) {
            return entry.waiting();
        }
        self.passing.clear();
        self.passing.take(chain, piece.text);
        Waiting {
            length: self
                .passing
                .lengths
                .first()
                .map_or(0, |length| *length as usize),
            terms: self.passing.lengths.len(),
            passing: true,
            ..Waiting::default()
        }
    }
}

impl Clone for Remembering {
    fn clone(&self) -> Self {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            chain: self.chain.clone(),
            memory: kept.pop().unwrap_or_default(),
            passing: Terms::default(),
            token: Token::default(),
            kept: Arc::clone(&self.kept),
        }
    }
}

impl Drop for Remembering {
    fn drop(&mut self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.memory.known.is_empty() && kept.len() < KEPT {
            kept.push(mem::take(&mut self.memory));
        }
    }
}

/// As the table wants a hash, which looks at the highest bits and at the lowest.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Tokenizer for Remembering {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.token.reset();
        self.token.position = 0;
        Stream {
            rest: text,
            pieces: [Piece::default(); AHEAD],
            next: 0,
            ready: 0,
            waiting: Waiting::default(),
            begun: false,
            of: self,
        }
    }
}

/// Without the marks that close a sentence, a clause or a bracket: the chain makes nothing of them
/// before a blank, and a word is then one piece, however its sentences go on.
fn without_closing(piece: &str) -> &str {
    let closes = |byte: &u8| matches!(byte, b'.' | b',' | b';' | b':' | b'!' | b'?' | b')' | b'"');
    let last = piece.as_bytes().iter().rposition(|byte| !closes(byte));
    &piece[..last.map_or(0, |last| last + 1)]
}

pub(super) struct Stream<'a> {
    of: &'a mut Remembering,
    rest: &'a str,
    pieces: [Piece<'a>; AHEAD],
    next: usize,
    ready: usize,
    waiting: Waiting,
    begun: bool,
}

impl Stream<'_> {
    /// Cuts off the next pieces and looks them up; whether there are any.
    fn look_ahead(&mut self) -> bool {
        // Entries ahead point into what is remembered, so it is forgotten only here.
        self.of.memory.forget_if_full();
        self.next = 0;
        self.ready = 0;
        while self.ready < AHEAD {
            self.rest = self.rest.trim_ascii_start();
            if self.rest.is_empty() {
                break;
            }
            let blank = |byte: &u8| byte.is_ascii_whitespace();
            let end = self.rest.as_bytes().iter().position(blank);
            let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest;
            let text = without_closing(text);
            if text.is_empty() {
                continue;
            }
            let mut hasher = FxHasher::default();
            hasher.write(text.as_bytes());
            let hash = hasher.finish();
            self.pieces[self.ready] = Piece {
                text,
                hash: (hash ^ hash >> 32) as u32,
                entry: None,
            };
            self.ready += 1;
        }
        self.of.memory.recall(&mut self.pieces[..self.ready]);
        self.ready > 0
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        while self.waiting.terms == 0 {
            if self.next == self.ready && !self.look_ahead() {
                return false;
            }
            self.waiting = self.of.terms_of(self.pieces[self.next]);
            self.next += 1;
        }
        let from = if self.waiting.passing {
            &self.of.passing
        } else {
            &self.of.memory.terms
        };
        let end = self.waiting.text + self.waiting.length;
        let token = &mut self.of.token;
        token.text.clear();
        token.text.push_str(&from.text[self.waiting.text..end]);
        token.position += usize::from(mem::replace(&mut self.begun, true));
        self.waiting.text = end;
        self.waiting.lengths += 1;
        self.waiting.terms -= 1;
        if self.waiting.terms > 0 {
            self.waiting.length = from.lengths[self.waiting.lengths] as usize;
        }
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
    use super::*;
    use crate::kb::index::tokens::chain;

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
        // What the first has learned passes to the next, and must not be mixed up on the way.
        let mut heirs = [remembering.clone(), remembering.clone()];
        drop(remembering);
        for text in texts {
            for heir in &mut heirs {
                assert_eq!(all(heir, text), all(&mut plain, text), "{text}");
            }
            assert_eq!(all(&mut heirs[1].clone(), text), all(&mut plain, text));
        }
    }

    proptest::proptest! {
        #[test]
        fn so_they_are_of_any_text(text in "([a-cA-B01é快 .,;:!?)(\"'+#/@_-]|\\.net |C\\+\\+|1,234|'s){0,40}") {
            let mut remembering = TextAnalyzer::builder(Remembering::new(chain())).build();
            let expected = all(&mut chain(), &text);
            proptest::prop_assert_eq!(all(&mut remembering, &text), expected.clone());
            proptest::prop_assert_eq!(all(&mut remembering, &text), expected);
        }
    }
}
