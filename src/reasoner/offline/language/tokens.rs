use std::ops::Range;

use crate::domain::Language;
use crate::text::is_cjk;

/// A word, a character of a script without spaces, or a mark, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub range: Range<usize>,
    /// The word in lower case.
    pub word: String,
    pub sign: Sign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A word of a script with spaces; `_` and `-` are letters within it.
    Word,
    Han,
    /// A character of another script without spaces.
    Kana,
    /// A mark that ends sentences or clauses.
    Mark,
}

impl Token {
    /// The language whose table holds the token, in a text of a language.
    pub fn language(&self, of_text: Language) -> Language {
        match (self.sign, of_text) {
            (Sign::Han | Sign::Kana, _) => Language::ZH,
            (_, Language::ZH) => Language::EN,
            (_, language) => language,
        }
    }

    pub fn is_mark(&self) -> bool {
        self.sign == Sign::Mark
    }
}

/// The tokens of a text in order; an apostrophe separates words, as every other sign does.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let token = |range: Range<usize>, sign| Token {
        word: text[range.clone()].to_lowercase(),
        range,
        sign,
    };
    let mut word: Option<usize> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_letter = c.is_alphanumeric() && !is_cjk(c);
        if is_letter || word.is_some() && matches!(c, '_' | '-') {
            word.get_or_insert(at);
            continue;
        }
        if let Some(from) = word.take() {
            let end = from + text[from..at].trim_end_matches(['_', '-']).len();
            found.push(token(from..end, Sign::Word));
        }
        let end = at + c.len_utf8();
        let sign = match c {
            '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ac00}'..='\u{d7af}' => {
                Sign::Kana
            }
            c if is_cjk(c) => Sign::Han,
            c if ",;?!，；？！。、：\n".contains(c) => Sign::Mark,
            // Within "guide.md" and "12:30" they separate nothing.
            '.' | ':' if !text[end..].starts_with(char::is_alphanumeric) => Sign::Mark,
            _ => continue,
        };
        found.push(token(at..end, sign));
    }
    found
}
