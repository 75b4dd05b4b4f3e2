use std::ops::Range;

use crate::text::is_cjk;

/// A word, a character of a script without spaces, or a mark, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Token {
    /// Where it stands, in bytes.
    pub(in super::super) range: Range<usize>,
    /// In lower case.
    pub(in super::super) word: String,
    pub(in super::super) sign: Sign,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Sign {
    /// A word of a script with spaces; `_` and `-` are letters within it.
    Word,
    /// A Han character.
    Han,
    /// A character of another script without spaces.
    Kana,
    /// What parts sentences and clauses.
    Mark,
}

/// The tokens of a text in order; an apostrophe parts words, as every other sign does.
pub(in super::super) fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut word: Option<usize> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let letter = c.is_alphanumeric() && !is_cjk(c);
        if letter || word.is_some() && matches!(c, '_' | '-') {
            word.get_or_insert(at);
            continue;
        }
        if let Some(from) = word.take() {
            let end = from + text[from..at].trim_end_matches(['_', '-']).len();
            let word = text[from..end].to_lowercase();
            found.push(Token {
                range: from..end,
                word,
                sign: Sign::Word,
            });
        }
        let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
        let sign = match c {
            '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ac00}'..='\u{d7af}' => {
                Sign::Kana
            }
            c if is_cjk(c) => Sign::Han,
            ',' | ';' | '?' | '!' | '，' | '；' | '？' | '！' | '。' | '、' | '：' | '\n' => {
                Sign::Mark
            }
            // Within "guide.md" and "12:30" they part nothing.
            '.' | ':' if !rest.starts_with(char::is_alphanumeric) => Sign::Mark,
            _ => continue,
        };
        found.push(Token {
            range: at..at + c.len_utf8(),
            word: c.to_string(),
            sign,
        });
    }
    found
}
