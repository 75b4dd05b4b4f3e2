//! Text to index terms.
//!
//! Stock tokenizers lose what people look up in a knowledge base: `PROJ-123` falls into two
//! common pieces, `max_items` and `MaxItems` are one opaque word each, Chinese is one word a
//! sentence. Here a compound is kept whole *and* given in parts, and scripts without spaces give
//! single characters and pairs (measured better than a dictionary). Stop words and English stems
//! follow. Case and width are folded first.

mod remembering;

use std::borrow::Cow;

use tantivy::tokenizer::{
    Language, Stemmer, StopWordFilter, TextAnalyzer, Token, TokenStream, Tokenizer,
};
use unicode_normalization::{UnicodeNormalization, is_nfkc};

use self::remembering::Remembering;
use crate::text::is_cjk;

/// Raised when the same text gives other terms: an index made by another version is made anew.
pub(super) const VERSION: u32 = 1;

/// Longer runs are data, not words.
const MAX_CHARS: usize = 80;

/// Lucene's English list.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// The whole chain, for the index and for queries.
pub(super) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(Remembering::new(chain())).build()
}

fn chain() -> TextAnalyzer {
    TextAnalyzer::builder(Words::default())
        .filter(StopWordFilter::remove(
            STOP_WORDS.iter().map(|&word| word.to_owned()),
        ))
        .filter(Stemmer::new(Language::English))
        .build()
}

/// The distinct terms of a query, in order of appearance.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(text);
    let mut terms: Vec<String> = Vec::new();
    while stream.advance() {
        let term = &stream.token().text;
        if !terms.contains(term) {
            terms.push(term.clone());
        }
    }
    terms
}

#[derive(Clone, Default)]
struct Words {
    tokens: Vec<Token>,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.tokens.clear();
        let mut position = 0;
        split(text, &mut |word| {
            self.tokens.push(Token {
                offset_from: 0,
                offset_to: 0,
                position,
                text: word,
                position_length: 1,
            });
            position += 1;
        });
        Stream {
            tokens: &mut self.tokens,
            next: 0,
        }
    }
}

struct Stream<'a> {
    tokens: &'a mut [Token],
    next: usize,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        self.next += 1;
        self.next <= self.tokens.len()
    }

    fn token(&self) -> &Token {
        &self.tokens[self.next - 1]
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokens[self.next - 1]
    }
}

fn split(text: &str, sink: &mut dyn FnMut(String)) {
    let text: Cow<'_, str> = if text.is_ascii() || is_nfkc(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect())
    };
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        if is_cjk(chars[at]) {
            let end = run_end(&chars, at, |_, c| is_cjk(c));
            for n in at..end {
                sink(chars[n].to_string());
                if n + 1 < end {
                    sink(chars[n..n + 2].iter().collect());
                }
            }
            at = end;
        } else if chars[at].is_alphanumeric() {
            let end = run_end(&chars, at, |n, c| {
                is_word(c) || (is_joint(c) && chars.get(n + 1).is_some_and(|&c| is_word(c)))
            });
            compound(&chars[at..end], sink);
            at = end;
            if is_contraction(&chars[at..]) {
                at = run_end(&chars, at + 1, |_, c| c.is_alphabetic());
            }
        } else {
            at += 1;
        }
    }
}

fn run_end(chars: &[char], from: usize, goes_on: impl Fn(usize, char) -> bool) -> usize {
    (from..chars.len())
        .find(|&n| !goes_on(n, chars[n]))
        .unwrap_or(chars.len())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_cjk(c)
}

fn is_joint(c: char) -> bool {
    matches!(c, '_' | '-' | '.')
}

/// `'s`, `'t`, `'re` … after a word.
fn is_contraction(rest: &[char]) -> bool {
    let suffix: String = rest
        .iter()
        .skip(1)
        .take_while(|c| c.is_alphabetic())
        .take(4)
        .collect();
    matches!(rest.first(), Some('\'' | '\u{2019}'))
        && matches!(
            suffix.to_lowercase().as_str(),
            "s" | "t" | "re" | "ve" | "ll" | "d" | "m"
        )
}

/// A word with joints, whole and in parts.
fn compound(chars: &[char], sink: &mut dyn FnMut(String)) {
    if chars.len() > MAX_CHARS {
        return;
    }
    let mut parts: Vec<&[char]> = Vec::new();
    for segment in chars.split(|&c| is_joint(c)) {
        camel_parts(segment, &mut parts);
    }
    if parts.len() > 1 {
        sink(lower(chars));
    }
    for part in parts {
        sink(lower(part));
    }
}

/// `CamelCase` → `Camel`, `Case`; `HTTPServer` → `HTTP`, `Server`.
fn camel_parts<'a>(segment: &'a [char], parts: &mut Vec<&'a [char]>) {
    let mut start = 0;
    for n in 1..segment.len() {
        let up = segment[n].is_uppercase();
        let after_lower = segment[n - 1].is_lowercase();
        let before_lower =
            segment[n - 1].is_uppercase() && segment.get(n + 1).is_some_and(|c| c.is_lowercase());
        if up && (after_lower || before_lower) {
            parts.push(&segment[start..n]);
            start = n;
        }
    }
    if start < segment.len() {
        parts.push(&segment[start..]);
    }
}

fn lower(chars: &[char]) -> String {
    chars.iter().flat_map(|c| c.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_found_whole_and_in_parts() {
        for (text, expected) in [
            ("PROJ-123", vec!["proj-123", "proj", "123"]),
            ("max_items", vec!["max_item", "max", "item"]),
            ("HTTPServer", vec!["httpserver", "http", "server"]),
            ("end. Next", vec!["end", "next"]),
            ("the user's don't", vec!["user", "don"]),
            ("tools.md", vec!["tools.md", "tool", "md"]),
            ("ＡＢＣ", vec!["abc"]),
            (
                "快速路径",
                vec!["快", "快速", "速", "速路", "路", "路径", "径"],
            ),
            ("用grep搜索", vec!["用", "grep", "搜", "搜索", "索"]),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
    }
}
