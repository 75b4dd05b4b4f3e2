//! The tokenizer of BERT uncased: basic tokens, then the longest known pieces of each.
//!
//! Written out because the reference (`tokenizers`) costs more build time than the rest of the
//! embedding, and because `rten-text` differs where Chinese and control characters meet. The steps
//! and their order are those of Devlin et al. 2019, `tokenization.py`. Words are taken from a
//! stream of characters, so that a text far beyond the limit costs no more than the part read.

use std::collections::HashMap;

use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

/// Longer words are unknown as a whole, as in the reference.
const MAX_WORD_CHARS: usize = 100;

/// A vocabulary and the way to cut a text into it.
#[derive(Debug)]
pub struct WordPiece {
    ids: HashMap<&'static str, i32>,
    unknown: i32,
    first: i32,
    last: i32,
}

impl WordPiece {
    /// Reads the vocabulary of `bert-base-uncased`, which all-MiniLM-L6-v2 shares, but for what no text
    /// leads to.
    pub fn bert_uncased() -> Self {
        let ids: HashMap<&'static str, i32> = include_str!("../../assets/embedding/vocab.txt")
            .lines()
            .zip(0..)
            .collect();
        let id = |token| ids.get(token).copied().unwrap_or_default();
        Self {
            unknown: id("[UNK]"),
            first: id("[CLS]"),
            last: id("[SEP]"),
            ids,
        }
    }

    /// The text between its two marks, at most `max` tokens in all.
    ///
    /// Names of marks within the text, such as `[SEP]`, are text.
    pub fn encode(&self, text: &str, max: usize) -> Vec<i32> {
        let room = max.saturating_sub(2);
        let mut ids = vec![self.first];
        let mut word = String::new();
        for c in normalised(text) {
            if ids.len() > room {
                break;
            }
            if c.is_whitespace() {
                self.finish(&mut word, &mut ids);
            } else if stands_alone(c) {
                self.finish(&mut word, &mut ids);
                word.push(c);
                self.finish(&mut word, &mut ids);
            } else {
                word.push(c);
            }
        }
        self.finish(&mut word, &mut ids);
        ids.truncate(room + 1);
        ids.push(self.last);
        ids
    }

    /// Whether a token stands for something in a text: it is not `[CLS]`, `[SEP]` or `[UNK]`.
    pub fn is_known(&self, token: i32) -> bool {
        ![self.unknown, self.first, self.last].contains(&token)
    }

    /// The longest known piece first, and so on; one piece that is not known makes the word
    /// unknown.
    fn finish(&self, word: &mut String, ids: &mut Vec<i32>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        if word.chars().nth(MAX_WORD_CHARS).is_some() || !self.pieces(word, ids) {
            ids.truncate(before);
            ids.push(self.unknown);
        }
        word.clear();
    }

    fn pieces(&self, word: &str, ids: &mut Vec<i32>) -> bool {
        let mut start = 0;
        let mut piece = String::new();
        while start < word.len() {
            let found = word[start..]
                .char_indices()
                .rev()
                .map(|(at, c)| start + at + c.len_utf8())
                .find_map(|end| {
                    piece.clear();
                    if start > 0 {
                        piece.push_str("##");
                    }
                    piece.push_str(&word[start..end]);
                    self.ids.get(piece.as_str()).map(|id| (end, *id))
                });
            let Some((end, id)) = found else {
                return false;
            };
            ids.push(id);
            start = end;
        }
        true
    }
}

/// Cleaned, without accents, in lower case.
fn normalised(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars()
        .filter(|c| !is_noise(*c))
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .nfd()
        .filter(|c| !c.is_mark_nonspacing())
        .flat_map(char::to_lowercase)
}

fn is_noise(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{fffd}' => true,
        c => c.is_other(),
    }
}

fn stands_alone(c: char) -> bool {
    c.is_ascii_punctuation() || c.is_punctuation() || is_ideograph(c)
}

/// The ranges of the reference, which know no kana and no Hangul.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens_of(tokens: &WordPiece, ids: &[i32]) -> String {
        let names: HashMap<i32, &str> = tokens.ids.iter().map(|(name, id)| (*id, *name)).collect();
        let cut: Vec<&str> = ids.iter().map(|id| names[id]).collect();
        cut.join(" ")
    }

    /// As the reference tokenizer cuts them (Hugging Face `tokenizers` 0.23).
    #[test]
    fn tokens_are_those_of_the_reference() {
        let tokens = WordPiece::bert_uncased();
        let table = [
            ("", ""),
            ("Hello, World!", "hello , world !"),
            ("naïve Café ÅNGSTRÖM", "naive cafe ang ##strom"),
            ("快速路径 fast", "[UNK] [UNK] [UNK] [UNK] fast"),
            ("ab\0c\u{200b}d\u{fffd}e\tf", "abc ##de f"),
            ("don't stop…", "don ' t stop …"),
            (
                "unaffable embeddings",
                "una ##ffa ##ble em ##bed ##ding ##s",
            ),
            ("😀", "[UNK]"),
            ("豈", "[UNK]"),
            ("한국어", "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ ##ᄋ ##ᅥ"),
            ("ＡＢＣ１２", "[UNK]"),
            (
                "grep_keywords KB_AGENT_MAX",
                "gr ##ep _ key ##words kb _ agent _ max",
            ),
            ("İstanbul", "istanbul"),
            ("ﬁne", "ﬁ ##ne"),
            ("カタカナ", "カ ##タ ##カ ##ナ"),
            ("½ ¥ €", "½ ¥ €"),
            ("a\u{a0}b\u{3000}c", "a b c"),
        ];
        for (text, expected) in table {
            let expected = format!("[CLS] {expected} [SEP]").replace("  ", " ");
            let ids = tokens.encode(text, 256);
            assert_eq!(tokens_of(&tokens, &ids), expected, "{text:?}");
        }
    }

    /// Rows of the word table that no text leads to would be in the program for nothing.
    #[test]
    fn each_token_of_the_vocabulary_comes_of_some_text() {
        let tokens = WordPiece::bert_uncased();
        assert_eq!(
            tokens.ids.len(),
            29_190,
            "the others of 30,522 come of no text"
        );
        for token in tokens.ids.keys() {
            let piece = token.strip_prefix("##").unwrap_or(token);
            let stands_inside = piece != *token || piece.chars().nth(1).is_some();
            let is_mark = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].contains(token);
            let is_reached = normalised(piece).eq(piece.chars())
                && !(stands_inside && piece.chars().any(stands_alone));
            assert!(is_mark || is_reached, "{token}");
        }
    }

    #[test]
    fn names_of_marks_in_the_text_are_text() {
        let tokens = WordPiece::bert_uncased();
        let ids = tokens.encode("[SEP] x", 256);
        assert_eq!(tokens_of(&tokens, &ids), "[CLS] [ sep ] x [SEP]");
    }

    #[test]
    fn a_word_beyond_the_limit_is_unknown() {
        let tokens = WordPiece::bert_uncased();
        let ids = tokens.encode(&"x".repeat(101), 256);
        assert_eq!(tokens_of(&tokens, &ids), "[CLS] [UNK] [SEP]");
        let ids = tokens.encode(&"x".repeat(100), 256);
        let cut = format!("[CLS] xx{} [SEP]", " ##xx".repeat(49));
        assert_eq!(tokens_of(&tokens, &ids), cut);
    }

    #[test]
    fn a_long_text_is_cut() {
        let tokens = WordPiece::bert_uncased();
        for text in ["word ".repeat(5_000), "x".repeat(99).repeat(400)] {
            let ids = tokens.encode(&text, 256);
            assert!(ids.len() <= 256, "{}", ids.len());
            assert_eq!(ids.last(), Some(&tokens.last));
        }
        assert_eq!(tokens.encode(&"word ".repeat(300), 256).len(), 256);
    }
}
