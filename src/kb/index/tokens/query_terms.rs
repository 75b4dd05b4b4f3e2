//! A text's terms on their way, and what each stands for.

use std::mem;

use unicode_normalization::char::is_combining_mark;

use crate::text::is_cjk;

/// The role of a term in the text it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A word, or a word of a compound such as `high-speed`.
    Word,
    /// Words that are joined, all of them: they may stand apart in what is looked for.
    Joined,
    /// Something exact: an id or number, a part of one, a character.
    Exact,
    /// The term before it in another spelling.
    Spelling,
}

impl Role {
    /// Tantivy's tokens have room for a number, which this index makes no other use of.
    pub(super) fn as_length(self) -> usize {
        match self {
            Self::Word => 1,
            Self::Joined => 2,
            Self::Exact => 3,
            Self::Spelling => 4,
        }
    }

    pub(super) fn from_length(length: usize) -> Self {
        match length {
            1 => Self::Word,
            2 => Self::Joined,
            4 => Self::Spelling,
            _ => Self::Exact,
        }
    }
}

/// A text's terms, one after the other.
#[derive(Clone, Default)]
pub(super) struct Terms {
    pub(super) text: String,
    /// The end and the role of each term.
    pub(super) ends: Vec<(usize, Role)>,
}

impl Terms {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// The terms in order, with what each stands for.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Role)> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |&(end, role)| (&self.text[mem::replace(&mut start, end)..end], role))
    }

    /// Adds these pieces as one term, in lower case and without the marks of Hebrew abbreviations.
    pub(super) fn push(&mut self, pieces: &[&str], role: Role) {
        for piece in pieces {
            let from = self.text.len();
            if piece.is_ascii() {
                self.text.push_str(piece);
                self.text[from..].make_ascii_lowercase();
            } else {
                let lower = piece.chars().flat_map(char::to_lowercase);
                let kept = lower.filter(|c| !matches!(c, '"' | '\''));
                // The same letter, whatever comes after it.
                self.text
                    .extend(kept.map(|c| if c == 'ς' { 'σ' } else { c }));
            }
        }
        self.ends.push((self.text.len(), role));
    }
}

pub(super) fn char_at(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// Chinese, Japanese, Korean; Thai, Lao, Myanmar, Khmer.
pub(super) fn is_unspaced(c: char) -> bool {
    if c < '\u{e00}' {
        return false;
    }
    let is_south_east = matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    (is_cjk(c) || is_south_east) && c.is_alphanumeric()
}

/// Part of a word in a script with spaces; Indic vowel signs are marks, not letters.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || (!c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c))
}

/// A picture that is looked for like a word: emoji, symbols and dingbats. Signs that print has always
/// had, such as arrows and `©`, are none.
pub(super) fn is_picture(c: char) -> bool {
    matches!(c,
        '\u{231a}' | '\u{231b}' | '\u{2328}' | '\u{23cf}' | '\u{23e9}'..='\u{23fa}'
        | '\u{2600}'..='\u{27bf}' | '\u{2b1b}'..='\u{2b55}' | '\u{1f000}'..='\u{1faff}')
}
