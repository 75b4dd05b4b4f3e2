//! The code blocks of an answer that grows: what was read of them stays read.
//!
//! Of an answer, the blocks that have not ended are rendered anew whenever a piece arrives. Their code changes at the end alone, and
//! finding what code means is most of the work, so only lines that are new or longer are read.

use super::ink::{Ink, Row};
use super::syntax::{CodeLines, SyntaxLanguage};

/// The code blocks of one text, in its order.
#[derive(Debug, Clone, Default)]
pub struct CodeCache {
    blocks: Vec<CachedBlock>,
}

#[derive(Debug, Clone)]
struct CachedBlock {
    /// The word behind the fence.
    word: String,
    language: SyntaxLanguage,
    lines: Vec<(String, Row)>,
    /// What was read up to the last of these lines, and with it.
    before_last: CodeLines,
    after_last: CodeLines,
}

impl CodeCache {
    /// A block begins, the one with that place among them all.
    pub fn begin(&mut self, at: usize, word: &str, language: SyntaxLanguage) {
        if self.blocks.get(at).is_some_and(|block| block.word == word) {
            return;
        }
        self.blocks.truncate(at);
        let lines = language.lines();
        self.blocks.push(CachedBlock {
            word: word.to_owned(),
            language,
            lines: Vec::new(),
            before_last: lines.clone(),
            after_last: lines,
        });
    }

    /// A line of a block that has begun, counted from 0, in its inks.
    pub fn row(&mut self, at: usize, line: usize, text: &str) -> Row {
        match self.blocks.get_mut(at) {
            Some(block) => block.row(line, text),
            None => Row::new(Ink::Code, text),
        }
    }
}

impl CachedBlock {
    fn row(&mut self, line: usize, text: &str) -> Row {
        if let Some((_, row)) = self.lines.get(line).filter(|(known, _)| known == text) {
            return row.clone();
        }
        if line + 1 == self.lines.len() {
            self.lines.pop();
            self.after_last = self.before_last.clone();
        } else if line < self.lines.len() {
            self.lines.truncate(line);
            self.after_last = self.language.lines();
            for (known, _) in &self.lines {
                self.after_last.next_row(known, Ink::Code);
            }
        }
        self.before_last = self.after_last.clone();
        let row = self.after_last.next_row(text, Ink::Code);
        self.lines.push((text.to_owned(), row.clone()));
        row
    }
}
