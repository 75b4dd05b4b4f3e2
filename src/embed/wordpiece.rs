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
    /// With the vocabulary of `bert-base-uncased`, which all-MiniLM-L6-v2 shares.
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

    /// The numbers are those of the reference tokenizer (Hugging Face `tokenizers` 0.23).
    #[test]
    fn tokens_are_those_of_the_reference() {
        let tokens = WordPiece::bert_uncased();
        let table: &[(&str, &[i32])] = &[
            ("", &[]),
            ("Hello, World!", &[7592, 1010, 2088, 999]),
            ("naïve Café ÅNGSTRÖM", &[15743, 7668, 17076, 15687]),
            ("快速路径 fast", &[100, 100, 100, 100, 3435]),
            ("ab\0c\u{200b}d\u{fffd}e\tf", &[5925, 3207, 1042]),
            ("don't stop…", &[2123, 1005, 1056, 2644, 1529]),
            (
                "unaffable embeddings",
                &[14477, 20961, 3468, 7861, 8270, 4667, 2015],
            ),
            ("😀", &[100]),
            ("豈", &[100]),
            (
                "한국어",
                &[1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008],
            ),
            ("ＡＢＣ１２", &[100]),
            (
                "grep_keywords KB_AGENT_MAX",
                &[
                    24665, 13699, 1035, 3145, 22104, 21677, 1035, 4005, 1035, 4098,
                ],
            ),
            ("İstanbul", &[9960]),
            ("ﬁne", &[1984, 2638]),
            ("カタカナ", &[1700, 30235, 30226, 30241]),
            ("½ ¥ €", &[1092, 1071, 1574]),
            ("a\u{a0}b\u{3000}c", &[1037, 1038, 1039]),
        ];
        for (text, expected) in table {
            let ids = tokens.encode(text, 256);
            assert_eq!(&ids[1..ids.len() - 1], *expected, "{text:?}");
            assert_eq!((ids[0], ids[ids.len() - 1]), (101, 102), "{text:?}");
        }
    }

    #[test]
    fn names_of_marks_in_the_text_are_text() {
        let ids = WordPiece::bert_uncased().encode("[SEP] x", 256);
        assert_eq!(ids.iter().filter(|id| **id == 102).count(), 1, "{ids:?}");
    }

    #[test]
    fn a_word_beyond_the_limit_is_unknown() {
        let tokens = WordPiece::bert_uncased();
        assert_eq!(tokens.encode(&"x".repeat(101), 256), [101, 100, 102]);
        let ids = tokens.encode(&"x".repeat(100), 256);
        assert_eq!((ids.len(), ids[1], ids[2]), (52, 22038, 20348));
    }

    #[test]
    fn a_long_text_is_cut() {
        let tokens = WordPiece::bert_uncased();
        for text in ["word ".repeat(5_000), "x".repeat(99).repeat(400)] {
            let ids = tokens.encode(&text, 256);
            assert!(ids.len() <= 256, "{}", ids.len());
            assert_eq!(ids.last(), Some(&102));
        }
        assert_eq!(tokens.encode(&"word ".repeat(300), 256).len(), 256);
    }
}
