//! Notices a reply that says the same again and again: small models do so until their limit.
//!
//! Each word is compared with those before it. Blocks of code and rows of tables are left out, because
//! their lines may be alike.

use std::collections::VecDeque;

use crate::text::is_cjk;

/// The longest part, in words and marks, whose repetition is noticed.
const LONGEST_CYCLE: usize = 256;
/// A part of so many words, about a sentence, comes three times at most.
const SENTENCE: usize = 7;
/// A shorter part goes on for so many words and marks at most: a refrain, a row of dashes.
const LONGEST_RUN: usize = 160;

/// Watches a reply.
#[derive(Debug, Default)]
pub struct RepetitionWatch {
    /// Whether it repeats itself.
    pub repeats: bool,
    code: CodeState,
    /// Whether the line is a row of a table or of code; `None` before its first sign.
    is_row: Option<bool>,
    word: String,
    /// The latest words and marks, the last one first.
    latest: VecDeque<String>,
    /// For each length of a cycle, from 1: how many words in a row were the same as the one so far before.
    runs: Vec<usize>,
}

impl RepetitionWatch {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &str) {
        for c in piece.chars() {
            self.code.push(c);
            if self.code.is_block() {
                continue;
            }
            self.is_row = match (self.is_row, c) {
                (_, '\n') | (None, ' ') => None,
                (None, c) => Some(matches!(c, '|' | '\t')),
                (known, _) => known,
            };
            if self.is_row != Some(true) {
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
            self.word.push(c);
        }
        if !joins {
            self.end_word();
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        self.runs.resize(LONGEST_CYCLE, 0);
        for (run, before) in self.runs.iter_mut().zip(&self.latest) {
            *run = if *before == word { *run + 1 } else { 0 };
        }
        self.latest.push_front(word);
        self.latest.truncate(LONGEST_CYCLE);
        let mut cycles = (1..).zip(self.runs.iter().copied());
        if let Some((length, run)) = cycles.find(|&(length, run)| run >= 2 * length) {
            let cycle = self.latest.iter().take(length);
            let words = cycle.filter(|word| word.starts_with(char::is_alphanumeric));
            self.repeats |= words.count() >= SENTENCE || length + run >= LONGEST_RUN;
        }
    }
}

// Where a text that comes in pieces is code: between backticks.

/// How many backticks open a block; fewer open code within a line.
const FENCE: usize = 3;

/// What is open after the characters so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeState {
    /// Backticks that opened the code; none outside of it.
    opened_by: usize,
    /// Backticks in a row at the end.
    ticks: usize,
}

impl CodeState {
    /// Takes the next character.
    pub fn push(&mut self, c: char) {
        if c == '`' {
            self.ticks += 1;
            return;
        }
        self.opened_by = self.after_ticks();
        self.ticks = 0;
        if c == '\n' && self.opened_by < FENCE {
            self.opened_by = 0;
        }
    }

    /// Whether what comes next is code.
    pub fn is_code(&self) -> bool {
        self.after_ticks() > 0
    }

    /// Whether what comes next is in a block of code.
    pub fn is_block(&self) -> bool {
        self.after_ticks() >= FENCE
    }

    fn after_ticks(&self) -> usize {
        match (self.opened_by, self.ticks) {
            (opened_by, 0) => opened_by,
            (0, ticks) => ticks,
            (opened_by, ticks) if ticks == opened_by => 0,
            (opened_by, ticks) if opened_by >= FENCE && ticks > opened_by => 0,
            (opened_by, _) => opened_by,
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
            ("one two three four five six ".repeat(26), false),
            ("one two three four five six ".repeat(27), true),
            ("one two three four five six seven ".repeat(3), true),
            // A row of a table that has no mark at its ends.
            (
                ["-".repeat(12), "-".repeat(12), "-".repeat(12)].join(" | "),
                false,
            ),
            // A long part, which only a few sentences between others make.
            (
                (1..100)
                    .fold(String::new(), |part, n| part + &n.to_string() + " and ")
                    .repeat(3),
                true,
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

#[cfg(test)]
mod code_tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code() {
        for (text, is_code) in [
            ("", false),
            ("a `b", true),
            ("a `b`", false),
            ("a `b\nc", false),
            ("``a ` b", true),
            ("```sh\na `b` c\n", true),
            ("```sh\na\n```", false),
            ("```sh\na\n```\nb", false),
        ] {
            let mut state = CodeState::default();
            text.chars().for_each(|c| state.push(c));
            assert_eq!(state.is_code(), is_code, "{text}");
        }
    }
}
