//! Notices a reply that says the same again and again: small models do so until their limit.
//!
//! Words and sentences are compared by their hashes, with those a few places before; nothing else
//! is kept. Blocks of code and tables are left out, because their lines may be alike.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::code::CodeState;
use crate::text::is_cjk;

/// Longest cycle of words or sentences that is noticed.
const CYCLE: usize = 8;
/// So many words are one cycle after another: eight words twenty times.
const WORDS: usize = CYCLE * 20;
/// So often a cycle of sentences comes.
const TIMES: usize = 3;
/// A shorter sentence may come again.
const SENTENCE: usize = 6;

/// Watches a reply.
#[derive(Debug, Default)]
pub struct RepetitionWatch {
    /// Whether it repeats itself.
    pub repeats: bool,
    code: CodeState,
    line: Line,
    word: DefaultHasher,
    is_in_word: bool,
    sentence: DefaultHasher,
    /// Words of the sentence.
    length: usize,
    words: Cycles,
    sentences: Cycles,
}

/// What is known of the line.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Line {
    #[default]
    Begins,
    Text,
    /// Of a table or of code.
    Row,
}

/// The latest things, and for how many each cycle holds by now.
#[derive(Debug, Default)]
struct Cycles {
    latest: [u64; CYCLE],
    runs: [usize; CYCLE],
    count: usize,
}

impl Cycles {
    /// Takes the next thing; whether a cycle has come so often that `is_enough` of its length and
    /// its run.
    fn push(&mut self, thing: u64, is_enough: impl Fn(usize, usize) -> bool) -> bool {
        let mut found = false;
        for length in 1..=CYCLE.min(self.count) {
            let before = self.latest[(self.count - length) % CYCLE];
            let run = &mut self.runs[length - 1];
            *run = if before == thing { *run + 1 } else { 0 };
            found |= is_enough(length, *run + length);
        }
        self.latest[self.count % CYCLE] = thing;
        self.count += 1;
        found
    }
}

impl RepetitionWatch {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &str) {
        for c in piece.chars() {
            self.code.push(c);
            if self.code.is_block() {
                continue;
            }
            self.line = match (self.line, c) {
                (_, '\n') | (Line::Begins, ' ') => Line::Begins,
                (Line::Begins, '|' | '\t') => Line::Row,
                (Line::Begins, _) => Line::Text,
                (line, _) => line,
            };
            if self.line != Line::Row {
                self.read(c);
            }
        }
    }

    fn read(&mut self, c: char) {
        let joins = c.is_alphanumeric() && !is_cjk(c);
        if !joins {
            self.end_word();
        }
        if !c.is_whitespace() {
            c.hash(&mut self.word);
            self.is_in_word = true;
        }
        if !joins {
            self.end_word();
        }
        // What is short, such as the number of a list's item, belongs to what follows.
        let ends = matches!(c, '.' | '!' | '?' | '。' | '！' | '？') && self.length > SENTENCE;
        if ends || c == '\n' {
            self.end_sentence();
        }
    }

    fn end_word(&mut self) {
        if std::mem::take(&mut self.is_in_word) {
            let word = std::mem::take(&mut self.word).finish();
            word.hash(&mut self.sentence);
            self.length += 1;
            self.repeats |= self.words.push(word, |_, run| run >= WORDS);
        }
    }

    fn end_sentence(&mut self) {
        let sentence = std::mem::take(&mut self.sentence).finish();
        if std::mem::take(&mut self.length) > SENTENCE {
            let is_enough = |length, run| run >= length * TIMES;
            self.repeats |= self.sentences.push(sentence, is_enough);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_only_a_reply_that_goes_round_in_circles_repeats_itself() {
        let is = |text: &str| {
            let mut watch = RepetitionWatch::default();
            watch.push(text);
            watch.repeats
        };
        let long = "The gate opens at seven in the morning. ";
        let other = "It closes at nine in the evening every day. ";
        for (text, repeats) in [
            (long.repeat(3), true),
            (long.repeat(2), false),
            ([long, other].concat().repeat(3), true),
            ([long, other, long].concat(), false),
            ("word ".repeat(159), false),
            ("word ".repeat(160), true),
            ("one two three four five six seven eight ".repeat(20), true),
            (
                "one two three four five six seven eight nine ".repeat(20),
                false,
            ),
            ("!".repeat(200), true),
            ("哈".repeat(200), true),
            ("门在早上七点开。".repeat(3), true),
            ("Yes. ".repeat(9), false),
            (
                format!(
                    "```sh\n{}```\n",
                    "run the same step with no change\n".repeat(99)
                ),
                false,
            ),
            ("| a | b | c | d | e | f |\n".repeat(99), false),
            (
                (1..99).fold(String::new(), |list, n| {
                    list + &n.to_string() + ". Press the button and hold it for a while.\n"
                }),
                false,
            ),
        ] {
            assert_eq!(is(&text), repeats, "{text}");
        }
    }

    #[test]
    fn ends_repetition_is_noticed_however_it_is_cut() {
        let mut watch = RepetitionWatch::default();
        let text = "The gate opens at seven in the morning.\n".repeat(3);
        for c in text.trim_end().chars() {
            assert!(!watch.repeats);
            watch.push(c.encode_utf8(&mut [0; 4]));
        }
        assert!(watch.repeats);
    }
}
